//! A SAML 2.0 service provider (Web Browser SSO and Single Logout): metadata, signed requests, and strict validation of
//! responses and logout messages.
//!
//! The crate depends on neither HTTP nor a database. A host stores [`Provider`]s and [`Request`]s through
//! [`ProviderStore`] and [`RequestStore`], sends the form that [`begin`] creates, and passes the response to
//! [`examine`]. The outcome is the answered request's id or a [`Refusal`] that names the step and the reason. Claims
//! are read only from [`Verified`] bytes. [`claim`] then ensures that the response counts once.
//!
//! Only the signing certificates pinned when the provider was set up are trusted. Nothing else in a response is,
//! including its `KeyInfo`. No check can be turned off.
//!
//! `examples/embed_saml_sp.rs` is a complete service with axum and in-memory storage.

mod binding;
mod certificate;
mod change;
#[cfg(feature = "conformance")]
pub mod conformance;
mod connection_test;
mod decrypt;
#[cfg(feature = "dns")]
mod dns;
mod dns_record;
mod domain;
mod domain_use;
mod encode;
mod error;
mod findings;
mod id;
mod keys;
mod logout;
pub mod memory;
mod message;
mod metadata;
mod name_id;
mod ownership;
mod provider;
mod provider_change;
mod redirect;
mod refreshing;
mod refusal;
mod request;
mod response;
mod service;
mod signature;
mod store;
mod subject;
mod supplied;
mod test_report;
#[cfg(test)]
mod testing;
mod write;
mod xml;

/// The attribute for implementations of [`ProviderStore`].
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Email, Env, Id, ParseEmailError, ParseIdError, ParseTimestampError, Secret,
    StoreError, StoreResult, SystemEnv, TenantId, Timestamp, TraceContext, UserId,
};

pub use binding::{Binding, Incoming, LogoutService, Outgoing};
pub use certificate::{Certificate, Certificates};
pub use change::{New, check_domains_free, complete_rotation, create, remove, replace, start_rotation};
pub use connection_test::{ConnectionTest, ConnectionTestId, TestStatus, test_of_request, waiting_test};
#[cfg(feature = "dns")]
pub use dns::{DnsTxt, NoDnsAnswer};
pub use domain::{EmailDomain, Method, ParseEmailDomainError, VerifiedDomain};
pub use domain_use::{DomainUse, domain_uses};
pub use error::{CertificateError, DomainError, MetadataError, ProviderError};
pub use findings::{CertificateStatus, Finding, FindingOutcome, Findings, SetupCheck, TenantSetup, day};
pub use id::{ParseProviderIdError, Protocol, ProviderId};
pub use keys::{KeyError, KeyPair, OurKeys, SealKey, SealedKey};
pub use logout::{
    IdpSession, LogoutRequest, LogoutResponse, LogoutStatus, StartedLogout, examine_logout_request,
    examine_logout_response, respond_to_logout, start_logout,
};
pub use metadata::{IdpMetadata, MAX_METADATA};
pub use ownership::{
    DomainRecheck, RECHECK_MILLIS, RecheckOutcome, RecordFound, apply_recheck, give_up, own,
};
pub use provider::{
    AttributeMapping, IdentityProvider, MAX_CERTIFICATES, MAX_CONTEXTS, MAX_DOMAINS, MAX_NAME, MAX_PROVIDERS,
    Provider, Refresh, Source,
};
pub use provider_change::{
    CheckedChange, OtherSide, ProviderChange, ResolvedMetadata, check_name, field, is_printable,
    parse_domains,
};
pub use refreshing::{
    CertificateExpiry, RefreshOutcome, apply_refresh, next_refresh, next_retry, refreshed,
    schedule_early_refresh,
};
pub use refusal::{Reason, Refusal, Step};
pub use request::{BegunLogin, ClaimedRequest, REQUEST_MINUTES, Request, RequestId, RequestPurpose, begin};
pub use response::{
    AcceptedResponse, Against, Attribute, Claims, CountedResponse, Examined, MAX_RESPONSE, MAX_VALUES,
    NameId, RefusedResponse, claim, examine,
};
pub use service::ServiceProvider;
pub use signature::{Verified, warm_up};
pub use store::{ConnectionTestStore, DomainStore, ProviderStore, RequestStore, SubjectStore};
pub use subject::{
    PERSISTENT, PinnedSubject, Subject, SubjectConflict, SubjectMatch, recognize, recognize_subject,
};
pub use supplied::{MetadataSource, SuppliedMetadata};
pub use test_report::{FailedCheck, TestCheck, TestOutcome, TestReport, TestUser, TestedResponse};
