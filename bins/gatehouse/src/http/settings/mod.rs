//! `/api/settings`: what administrators of a tenant decide.

mod attestation_impact;
mod attestation_policy;
mod attestation_shapes;
mod audit_activity;
mod audit_area;
mod audit_export;
mod audit_log;
mod audit_proofs;
mod domains;
mod network_impact;
mod network_policy;
mod network_rules;
mod saml_body;
mod saml_findings;
mod saml_providers;
mod saml_refresh;
mod saml_rotation;
mod saml_shown;
mod saml_subjects;
mod saml_tests;
mod scim_tokens;
mod sign_in_policy;
mod user_acts;
mod user_sessions;
mod user_tokens;
mod users;
mod webhook_deliveries;
mod webhook_secrets;
mod webhook_test;
mod webhooks;

pub(super) use self::audit_area::AuditLogs;
pub(crate) use self::{
    attestation_impact::{AttestationImpact, impact_of},
    network_policy::change as change_network_policy,
    saml_findings::Around,
    saml_shown::ShownProvider,
    sign_in_policy::{change as change_policy, check as check_policy},
};

use utoipa_actix_web::service_config::ServiceConfig;

pub(super) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .service(sign_in_policy::get_sign_in_policy)
        .service(sign_in_policy::put_sign_in_policy)
        .service(network_policy::get_network_policy)
        .service(network_policy::put_network_policy)
        .service(network_policy::test_network_policy)
        .service(network_impact::network_policy_impact)
        .service(network_rules::add_network_rule)
        .service(network_rules::rename_network_rule)
        .service(network_rules::remove_network_rule)
        .service(attestation_policy::get_attestation_policy)
        .service(attestation_policy::put_attestation_policy)
        .service(attestation_policy::test_attestation_policy)
        .service(attestation_impact::attestation_policy_impact)
        .service(audit_log::get_audit_log)
        .service(audit_export::export_audit_log)
        .service(audit_activity::get_audit_activity)
        .service(audit_proofs::get_audit_checkpoint)
        .service(audit_proofs::get_audit_consistency)
        .service(audit_proofs::get_audit_proof)
        .service(users::list_settings_users)
        .service(users::invite_user)
        .service(users::get_settings_user)
        .service(users::patch_settings_user)
        .service(users::delete_settings_user)
        .service(user_sessions::list_user_sessions)
        .service(user_sessions::revoke_user_sessions)
        .service(user_sessions::revoke_user_session)
        .service(user_tokens::list_user_tokens)
        .service(user_tokens::revoke_user_token)
        .service(user_acts::reset_user_password)
        .service(user_acts::reset_user_factors)
        .service(saml_subjects::list_saml_subjects)
        .service(saml_subjects::delete_saml_subject)
        .service(scim_tokens::list_scim_tokens)
        .service(scim_tokens::create_scim_token)
        .service(scim_tokens::revoke_scim_token)
        .service(saml_providers::list_saml_providers)
        .service(saml_providers::create_saml_provider)
        .service(saml_providers::get_saml_provider)
        .service(saml_providers::put_saml_provider)
        .service(saml_providers::delete_saml_provider)
        .service(saml_tests::test_saml_provider)
        .service(saml_tests::get_saml_test)
        .service(saml_refresh::refresh_saml_provider)
        .service(saml_rotation::rotate_saml_certificate)
        .service(saml_rotation::complete_saml_rotation)
        .service(domains::list_domains)
        .service(domains::verify_domain)
        .service(domains::delete_domain)
        .service(webhooks::list_webhooks)
        .service(webhooks::create_webhook)
        .service(webhooks::get_webhook)
        .service(webhooks::change_webhook)
        .service(webhooks::delete_webhook)
        .service(webhook_test::test_webhook)
        .service(webhook_secrets::rotate_webhook_secret)
        .service(webhook_secrets::complete_webhook_rotation)
        .service(webhook_deliveries::list_webhook_deliveries)
        .service(webhook_deliveries::get_webhook_payload)
        .service(webhook_deliveries::retry_webhook_delivery)
        .service(webhook_deliveries::replay_webhook)
        .service(webhook_deliveries::get_webhook_activity);
}
