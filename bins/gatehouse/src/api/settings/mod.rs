//! `/api/settings`: settings that administrators of a tenant change.

mod attestation_policy;
pub(crate) mod audit_log;
pub(crate) mod domains;
mod dry_runs;
pub(crate) mod log_streams;
mod network_policy;
pub(crate) mod oidc_providers;
mod removal_limit;
mod removals;
mod role_rules;
mod roles;
pub(crate) mod saml_providers;
mod scim_tokens;
mod sign_in_policy;
pub(crate) mod signals;
mod sso_accounts;
mod tenant;
mod users;
pub(crate) mod webhooks;

pub(crate) use self::audit_log::{area::AuditLogs, event_source, tiles::TILE};
pub(crate) use self::{
    attestation_policy::impact::impact_of,
    dry_runs::{DryRun, DryRunChange, dry_run_of},
    oidc_providers::views::OidcProviderView,
    removals::{HeldRemovalView, with_names as removals_with_names},
    roles::built_in as built_in_role,
    saml_providers::views::ProviderView,
    sso_accounts::Accounts as SsoAccounts,
    users::filter as user_filter,
};
use crate::api::Registry;

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(tenant::get_tenant)
        .service(tenant::rename_tenant)
        .service(sign_in_policy::get_sign_in_policy)
        .service(sign_in_policy::put_sign_in_policy)
        .service(sign_in_policy::impact::sign_in_policy_impact)
        .service(network_policy::get_network_policy)
        .service(network_policy::put_network_policy)
        .service(network_policy::test_network_policy)
        .service(network_policy::impact::network_policy_impact)
        .service(network_policy::rules::add_network_rule)
        .service(network_policy::rules::add_network_rules)
        .service(network_policy::rules::rename_network_rule)
        .service(network_policy::rules::remove_network_rule)
        .service(attestation_policy::get_attestation_policy)
        .service(attestation_policy::put_attestation_policy)
        .service(attestation_policy::test_attestation_policy)
        .service(attestation_policy::impact::attestation_policy_impact)
        .service(audit_log::get_audit_log)
        .service(audit_log::export::export_audit_log)
        .service(audit_log::activity::get_audit_activity)
        .service(audit_log::proofs::get_audit_checkpoint)
        .service(audit_log::proofs::get_audit_consistency)
        .service(audit_log::tiles::get_audit_tile)
        .service(audit_log::proofs::get_audit_proof)
        .service(users::list_settings_users)
        .service(users::invite_user)
        .service(users::invitations::invite_users)
        .service(users::sign_in_test::test_user_sign_in)
        .service(users::get_settings_user)
        .service(users::patch_settings_user)
        .service(users::delete_settings_user)
        .service(users::sessions::list_user_sessions)
        .service(users::sessions::revoke_user_sessions)
        .service(users::sessions::revoke_user_session)
        .service(users::tokens::list_user_tokens)
        .service(users::tokens::revoke_user_token)
        .service(users::resets::reset_user_password)
        .service(users::resets::reset_user_factors)
        .service(users::saml_subjects::list_saml_subjects)
        .service(users::saml_subjects::delete_saml_subject)
        .service(roles::list_roles)
        .service(roles::create_role)
        .service(roles::put_role)
        .service(roles::delete_role)
        .service(role_rules::list_role_rules)
        .service(role_rules::create_role_rule)
        .service(role_rules::preview_role_rule)
        .service(role_rules::put_role_rule)
        .service(role_rules::delete_role_rule)
        .service(scim_tokens::list_scim_tokens)
        .service(scim_tokens::create_scim_token)
        .service(scim_tokens::revoke_scim_token)
        .service(dry_runs::get_dry_run)
        .service(removals::list_removals)
        .service(removals::apply_removals)
        .service(removals::discard_removals)
        .service(removal_limit::get_removal_limit)
        .service(removal_limit::put_removal_limit)
        .service(saml_providers::list_saml_providers)
        .service(saml_providers::create_saml_provider)
        .service(saml_providers::get_saml_provider)
        .service(saml_providers::put_saml_provider)
        .service(saml_providers::delete_saml_provider)
        .service(saml_providers::connection_tests::test_saml_provider)
        .service(saml_providers::connection_tests::get_saml_test)
        .service(saml_providers::refresh::refresh_saml_provider)
        .service(saml_providers::rotate_certificate::rotate_saml_certificate)
        .service(saml_providers::rotate_certificate::complete_saml_rotation)
        .service(oidc_providers::list_oidc_providers)
        .service(oidc_providers::create_oidc_provider)
        .service(oidc_providers::get_oidc_provider)
        .service(oidc_providers::put_oidc_provider)
        .service(oidc_providers::delete_oidc_provider)
        .service(oidc_providers::connection_tests::test_oidc_provider)
        .service(oidc_providers::connection_tests::get_oidc_test)
        .service(oidc_providers::refresh::refresh_oidc_provider)
        .service(oidc_providers::rotate_key::rotate_oidc_key)
        .service(oidc_providers::rotate_key::complete_oidc_key_rotation)
        .service(sso_accounts::get_sso_accounts)
        .service(sso_accounts::put_sso_accounts)
        .service(domains::list_domains)
        .service(domains::verify_domain)
        .service(domains::delete_domain);
    routes_to_receivers(registry);
}

/// Adds the routes of webhooks, log streams and shared signals.
fn routes_to_receivers(registry: &mut Registry<'_>) {
    registry
        .service(webhooks::list_webhooks)
        .service(webhooks::create_webhook)
        .service(webhooks::get_webhook)
        .service(webhooks::change_webhook)
        .service(webhooks::delete_webhook)
        .service(webhooks::connection_test::test_webhook)
        .service(webhooks::rotate_secret::rotate_webhook_secret)
        .service(webhooks::rotate_secret::complete_webhook_rotation)
        .service(webhooks::deliveries::list_webhook_deliveries)
        .service(webhooks::deliveries::get_webhook_payload)
        .service(webhooks::deliveries::retry_webhook_delivery)
        .service(webhooks::deliveries::replay_webhook)
        .service(webhooks::deliveries::get_webhook_activity)
        .service(log_streams::list_log_streams)
        .service(log_streams::create_log_stream)
        .service(log_streams::get_log_stream)
        .service(log_streams::change_log_stream)
        .service(log_streams::delete_log_stream)
        .service(log_streams::connection_test::test_log_stream)
        .service(log_streams::resend::resend_log_stream)
        .service(signals::list_signal_receivers)
        .service(signals::create_signal_receiver)
        .service(signals::get_signal_receiver)
        .service(signals::change_signal_receiver)
        .service(signals::delete_signal_receiver)
        .service(signals::token::replace_signal_token)
        .service(signals::key::rotate_signal_key)
        .service(signals::transmitters::list_signal_transmitters)
        .service(signals::transmitters::create_signal_transmitter)
        .service(signals::transmitters::get_signal_transmitter)
        .service(signals::transmitters::change_signal_transmitter)
        .service(signals::transmitters::replace_transmitter_token)
        .service(signals::transmitters::delete_signal_transmitter);
}
