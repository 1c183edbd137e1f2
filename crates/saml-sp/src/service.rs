//! Who we are to an identity provider.

use crate::id::ProviderId;

/// Our side of one provider: its entity id and where answers are taken. Each provider has its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceProvider {
    /// Who we say we are; the audience of assertions.
    pub entity_id: String,
    /// The assertion consumer service: recipient and destination.
    pub acs_url: String,
}

impl ServiceProvider {
    /// `{base_url}/api/saml/{id}/metadata` and `…/acs`.
    pub fn of(base_url: &str, provider: &ProviderId) -> Self {
        let base = format!("{}/api/saml/{provider}", base_url.trim_end_matches('/'));
        Self { entity_id: format!("{base}/metadata"), acs_url: format!("{base}/acs") }
    }
}
