//! The tables, as created by the migrations of both dialects.

mod audit;
mod authentication;
mod credentials;
mod directory;
mod oidc;
mod policies;
mod saml_sp;
mod shared_signals;
mod streams;
mod webhooks;

pub(crate) use self::{
    audit::*, authentication::*, credentials::*, directory::*, oidc::*, policies::*, saml_sp::*,
    shared_signals::*, streams::*, webhooks::*,
};

diesel::allow_tables_to_appear_in_same_query!(
    tenants,
    tenant_slugs,
    users,
    user_emails,
    groups,
    group_members,
    user_roles,
    roles,
    role_rules,
    claimed_groups,
    connection_accounts,
    scim_tokens,
    scim_refusals,
    dry_run_changes,
    removal_limits,
    removals,
    held_removals,
    audit_entries,
    audit_unsealed,
    audit_sealed,
    audit_subtrees,
    audit_logs,
    audit_checkpoints,
    audit_drops,
    audit_statements,
    sign_in_names,
    password_salts,
    wrong_codes,
    notices,
    passwords,
    sessions,
    factors,
    recovery_codes,
    tickets,
    step_up_challenges,
    step_up_tokens,
    links,
    personal_access_tokens,
    known_origins,
    spent_challenges,
    attempts,
    network_rules,
    webhook_subscriptions,
    webhook_routes,
    webhook_queues,
    pending_deliveries,
    webhook_deliveries,
    webhook_hours,
    dispatchers,
    log_streams,
    log_stream_states,
    signal_receivers,
    signal_streams,
    signal_stream_states,
    signal_routes,
    signal_events,
    signal_removed_subjects,
    signal_keys,
    signal_transmitters,
    received_signals,
    saml_providers,
    saml_provider_domains,
    verified_domains,
    saml_subjects,
    saml_requests,
    saml_assertions,
    saml_trials,
    oidc_providers,
    oidc_requests
);
