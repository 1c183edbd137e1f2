//! Gatehouse's own events, with one file per area.

pub mod audit_log;
pub mod credentials;
mod define;
pub mod groups;
pub mod log_streams;
pub mod oidc;
pub mod pats;
pub mod policies;
pub mod removals;
pub mod roles;
pub mod saml;
pub mod scim_tokens;
pub mod sign_in;
pub mod signals;
pub mod step_up;
pub mod tenants;
pub mod users;
pub mod webhooks;

use std::sync::LazyLock;

use crate::Catalog;

/// Returns all event types of this service. Schemas and examples are built once.
pub fn catalog() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> = LazyLock::new(all);
    &CATALOG
}

fn all() -> Catalog {
    let catalog = Catalog::new()
        .with::<tenants::TenantCreated>()
        .with::<tenants::TenantRenamed>()
        .with::<users::UserInvited>()
        .with::<users::UserCreated>()
        .with::<users::UserUpdated>()
        .with::<users::UserDeactivated>()
        .with::<users::UserReactivated>()
        .with::<users::UserDeleted>()
        .with::<users::UserRoleChanged>()
        .with::<roles::RoleCreated>()
        .with::<roles::RoleUpdated>()
        .with::<roles::RoleDeleted>()
        .with::<roles::RoleRuleCreated>()
        .with::<roles::RoleRuleReplaced>()
        .with::<roles::RoleRuleDeleted>()
        .with::<roles::RoleGiven>()
        .with::<roles::ConnectionAccountsChanged>()
        .with::<groups::GroupCreated>()
        .with::<groups::GroupUpdated>()
        .with::<groups::GroupDeleted>()
        .with::<sign_in::SignInSucceeded>()
        .with::<sign_in::SignInFailed>()
        .with::<sign_in::SignInNewDevice>()
        .with::<sign_in::SessionStarted>()
        .with::<sign_in::SessionRenewed>()
        .with::<sign_in::SessionBound>()
        .with::<sign_in::SessionCookieRefused>()
        .with::<sign_in::SessionRevoked>()
        .with::<sign_in::SessionsRevoked>()
        .with::<sign_in::StepUpRequired>()
        .with::<credentials::PasswordChanged>()
        .with::<credentials::PasswordResetStarted>()
        .with::<credentials::FactorEnrolled>()
        .with::<credentials::FactorRenamed>()
        .with::<credentials::FactorRemoved>()
        .with::<credentials::RecoveryCodesGenerated>()
        .with::<credentials::RecoveryCodeUsed>()
        .with::<step_up::StepUpIssued>()
        .with::<step_up::StepUpFailed>()
        .with::<step_up::StepUpConsumed>()
        .with::<step_up::StepUpRefused>()
        .with::<pats::PatCreated>()
        .with::<pats::PatRevoked>()
        .with::<policies::SignInPolicyChanged>()
        .with::<policies::NetworkPolicyChanged>()
        .with::<policies::NetworkPolicyBlocked>()
        .with::<policies::NetworkRuleAdded>()
        .with::<policies::NetworkRuleChanged>()
        .with::<policies::NetworkRuleRemoved>()
        .with::<policies::AttestationPolicyChanged>()
        .with::<policies::AttestationPolicyBlocked>()
        .with::<scim_tokens::ScimTokenCreated>()
        .with::<scim_tokens::ScimTokenRevoked>()
        .with::<removals::RemovalsPaused>()
        .with::<removals::RemovalsApplied>()
        .with::<removals::RemovalsDiscarded>()
        .with::<removals::RemovalLimitChanged>()
        .with::<saml::SamlProviderCreated>()
        .with::<saml::SamlProviderUpdated>()
        .with::<saml::SamlProviderDeleted>()
        .with::<saml::SamlProviderKeyRotated>()
        .with::<saml::SamlProviderTested>()
        .with::<saml::SamlProviderCertificateExpiring>()
        .with::<saml::SamlSignInRefused>()
        .with::<saml::SamlLogoutRefused>()
        .with::<saml::SamlSubjectPinned>()
        .with::<saml::SamlSubjectUnpinned>()
        .with::<oidc::OidcProviderCreated>()
        .with::<oidc::OidcProviderUpdated>()
        .with::<oidc::OidcProviderDeleted>()
        .with::<oidc::OidcProviderKeyRotated>()
        .with::<oidc::OidcProviderTested>()
        .with::<oidc::OidcSignInRefused>()
        .with::<oidc::OidcLogoutRefused>()
        .with::<oidc::OidcSubjectPinned>()
        .with::<oidc::OidcSubjectUnpinned>()
        .with::<saml::DomainVerified>()
        .with::<saml::DomainProofLost>()
        .with::<saml::DomainUnverified>()
        .with::<saml::DomainRemoved>()
        .with::<audit_log::AuditLogExported>()
        .with::<audit_log::AuditLogExportFinished>()
        .with::<audit_log::AuditRetentionChanged>()
        .with::<audit_log::AuditEntriesDropped>()
        .with::<audit_log::AuditAddressesErased>()
        .with::<audit_log::AuditCheckpointPublished>();
    with_receivers(catalog)
}

/// Adds the events about receivers of events.
fn with_receivers(catalog: Catalog) -> Catalog {
    catalog
        .with::<webhooks::WebhookCreated>()
        .with::<webhooks::WebhookUpdated>()
        .with::<webhooks::WebhookDeleted>()
        .with::<webhooks::WebhookFailing>()
        .with::<webhooks::WebhookDisabled>()
        .with::<webhooks::WebhookSecretRotated>()
        .with::<webhooks::WebhookRotationCompleted>()
        .with::<webhooks::WebhookReplayed>()
        .with::<webhooks::WebhookDeliveryRetried>()
        .with::<log_streams::LogStreamCreated>()
        .with::<log_streams::LogStreamUpdated>()
        .with::<log_streams::LogStreamDeleted>()
        .with::<log_streams::LogStreamResent>()
        .with::<log_streams::LogStreamFailing>()
        .with::<signals::SignalReceiverCreated>()
        .with::<signals::SignalReceiverUpdated>()
        .with::<signals::SignalReceiverDeleted>()
        .with::<signals::SignalReceiverTokenReplaced>()
        .with::<signals::SignalStreamCreated>()
        .with::<signals::SignalStreamUpdated>()
        .with::<signals::SignalStreamDeleted>()
        .with::<signals::SignalSubjectChanged>()
        .with::<signals::SignalStreamVerified>()
        .with::<signals::SignalKeyCreated>()
        .with::<signals::SignalTransmitterCreated>()
        .with::<signals::SignalTransmitterUpdated>()
        .with::<signals::SignalTransmitterDeleted>()
        .with::<signals::SignalTransmitterTokenReplaced>()
        .with::<signals::SignalReceived>()
        .with::<signals::SignalRefused>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_well_formed() {
        let catalog = super::catalog();
        let codes: BTreeSet<_> = catalog.specs().iter().map(|spec| spec.code).collect();
        assert_eq!(codes.len(), catalog.specs().len());
        for spec in catalog.specs() {
            assert!(spec.code.starts_with("ACCOUNT_"), "{}", spec.code);
            assert!(spec.code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{}", spec.code);
            assert!(spec.description.ends_with('.'), "{}", spec.code);
            assert_eq!(spec.example["type"], spec.code);
            for name in spec.schema["properties"]["data"]["required"].as_array().into_iter().flatten() {
                let member = &spec.example["data"][name.as_str().unwrap()];
                assert!(!member.is_null(), "the example of {} lacks {name}", spec.code);
            }
        }
    }
}
