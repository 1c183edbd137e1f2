//! Our identity towards an identity provider.

use crate::id::ProviderId;

/// Our entity id, assertion consumer service and single logout service. Each provider has its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceProvider {
    /// Our entity id, which is also the audience of assertions.
    pub entity_id: String,
    /// The URL of the assertion consumer service: recipient and destination.
    pub acs_url: String,
    /// The URL of the single logout service.
    pub slo_url: String,
}

impl ServiceProvider {
    /// Returns the service with the URLs `{base_url}/api/saml/{id}/metadata`, `…/acs` and `…/slo`.
    pub fn of(base_url: &str, provider: &ProviderId) -> Self {
        let base = format!("{}/api/saml/{provider}", base_url.trim_end_matches('/'));
        Self {
            entity_id: format!("{base}/metadata"),
            acs_url: format!("{base}/acs"),
            slo_url: format!("{base}/slo"),
        }
    }
}
