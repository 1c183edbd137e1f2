//! The names of a tenant's transmitter.

use kernel::TenantId;
use signals::TransmitterId;

/// Returns the issuer of a tenant's tokens.
pub(crate) fn issuer(base_url: &str, tenant: &TenantId) -> String {
    format!("{base_url}/api/ssf/{tenant}")
}

/// Returns the URL of the configuration of a tenant's transmitter (SSF 1.0, section 7.2.1).
pub(crate) fn configuration_url(base_url: &str, tenant: &TenantId) -> String {
    format!("{base_url}/.well-known/ssf-configuration/api/ssf/{tenant}")
}

/// Returns the URL that a transmitter posts events to.
pub(crate) fn receiving_url(base_url: &str, tenant: &TenantId, transmitter: &TransmitterId) -> String {
    format!("{base_url}/api/ssf/{tenant}/transmitters/{transmitter}/events")
}
