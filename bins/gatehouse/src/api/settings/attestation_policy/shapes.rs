//! API shapes of the attestation policy and of authenticator models.

use attestation::{Aaguid, Authenticator, Group};
use serde::Serialize;
use utoipa::ToSchema;

/// An authenticator model of the catalog.
#[derive(Serialize, ToSchema)]
pub(crate) struct KnownAuthenticator {
    /// A UUID.
    #[schema(value_type = String, format = "uuid")]
    aaguid: Aaguid,
    name: &'static str,
    vendor: &'static str,
    /// `FIPS_HARDWARE`, `HARDWARE`, `PLATFORM` or `SYNCED`.
    group: Group,
}

impl From<&Authenticator> for KnownAuthenticator {
    fn from(known: &Authenticator) -> Self {
        let Authenticator { aaguid, name, vendor, group } = *known;
        Self { aaguid, name, vendor, group }
    }
}
