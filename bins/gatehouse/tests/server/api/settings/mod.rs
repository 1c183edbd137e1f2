//! Settings of a tenant.

mod attestation;
mod audit_log;
mod audit_proofs;
mod domains;
mod invitations;
mod log_streams;
mod network;
mod oidc_providers;
mod roles;
mod saml_lock_order;
mod saml_providers;
mod sign_in_policy;
mod tenant;
mod users;
mod webhooks;
