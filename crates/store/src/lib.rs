//! Storage on SQLite and PostgreSQL: the only crate that knows diesel.
//!
//! A [`Store`] opens units of work. [`Store::write`] runs one in a transaction and commits it only with its audit
//! events ([`audit::Audited`]); [`Store::read`] runs one that changes nothing. Both provide a [`Tx`], which belongs
//! to one tenant and implements every area's storage trait. [`Store::across`] runs lookups before the tenant is
//! known.
//!
//! Each query is written once ([`conn`]'s `on!`) and compiled for both databases.

#![expect(clippy::duplicate_mod, reason = "users::refold is compiled once for each database")]

mod across;
mod attestation;
mod audit;
mod authentication;
mod certificate;
mod conn;
mod copy;
mod credentials;
mod db;
mod dialect;
mod directory;
mod distribution;
mod error;
mod examine;
mod json;
mod limits;
mod log_streams;
mod migrate;
mod netpolicy;
mod oidc;
mod postgres;
mod prepared;
mod purge;
mod reencryption;
mod rows;
mod saml_sp;
mod schema;
mod scim_core;
mod sessions;
mod shards;
mod signals;
mod sqlite;
mod sqlite_conn;
mod statistics;
mod stepup;
mod store;
#[cfg(feature = "testing")]
#[expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run must not pass")]
pub mod testing;
mod text_lists;
mod tokens;
mod transfer;
mod tx;
mod webhooks;

pub use self::across::Across;
pub use self::audit::export::{Export, ExportOutcome};
pub use self::audit::seal_queue::AuditLogQueue;
pub use self::audit::unsealed::UnsealedEntries;
pub use self::authentication::credential::CredentialAtCommit;
pub use self::authentication::holder::Holder;
pub use self::authentication::last_use::{CredentialType, LastUse};
pub use self::authentication::recent_use::MAX_RECENT;
pub use self::authentication::reread::{Credential, CredentialKey};
pub use self::certificate::{LoadedCertificate, load_certificate};
pub use self::copy::{Copied, CopiedTable, CopyError, copy};
pub use self::credentials::accounts::{Account, AddressUser, ForeignHolder};
pub use self::credentials::enrolled_passkeys::EnrolledPasskey;
pub use self::directory::summaries::PersonSummary;
pub use self::distribution::{DistributeError, SHARDS};
pub use self::examine::{Examination, back_up_sqlite};
pub use self::limits::pool_metrics::PoolMetrics;
pub use self::limits::queue_status::Queue;
pub use self::limits::scans::{Outcome, ScanMetrics};
pub use self::limits::tenant_limits::TenantTurn;
pub use self::log_streams::{LogStreamBacklog, LogStreamNotice, LogStreamQueue};
pub use self::netpolicy::mark::NetworkMark;
pub use self::reencryption::ReencryptionProgress;
pub use self::rows::sealed::SealedSecret;
pub use self::saml_sp::{ExpiredSaml, SamlExpiry};
pub use self::scim_core::filter::Cost;
pub use self::signals::PushQueue;
pub use self::store::{DatabaseUrl, ParseDatabaseUrlError, Store};
pub use self::tokens::rows::pat_limits;
pub use self::transfer::{Exported, Imported, TransferError, TransferredTable, export_tenant, import_tenant};
pub use self::tx::{Failure, Tx};
pub use self::webhooks::{
    DispatchQueue, DueRetry, FailingWebhook, MAX_REPLAYED, NoticedFailures, PastEvent, PendingSubscription,
    WebhookBacklog, WebhookNotice, WebhookUpkeep, event_payload,
};
