//! A policy about authenticators, and authenticators, as clients see them.

use attestation::{Aaguid, Authenticator, Group};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::openapi::values;

/// Which authenticators may be enrolled.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = AttestationPolicy)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes attestation::Policy")]
pub(crate) struct PolicyShape {
    /// `OFF` or `ALLOWLIST`.
    #[schema(value_type = values::AttestationMode)]
    mode: String,
    /// Groups of the catalog: `FIPS_HARDWARE`, `HARDWARE`, `PLATFORM`, `SYNCED`.
    #[schema(value_type = Vec<values::AuthenticatorGroup>)]
    allowed_groups: Vec<String>,
    /// Makes beside them; 1,000 at most.
    #[schema(value_type = Vec<values::AuthenticatorMake>, max_items = 1000)]
    allowed_aaguids: Vec<String>,
    /// Whether those may be that can be copied to other devices.
    allow_synced_passkeys: bool,
    /// Whether those may be that are built into a device.
    allow_platform_authenticators: bool,
    /// Whether what they are has to be proved by their maker.
    require_verified_attestation: bool,
}

/// A make of authenticators that is known.
#[derive(Serialize, ToSchema)]
pub(crate) struct KnownAuthenticator {
    /// A UUID.
    #[schema(value_type = String, format = "uuid")]
    aaguid: Aaguid,
    name: &'static str,
    vendor: &'static str,
    /// `FIPS_HARDWARE`, `HARDWARE`, `PLATFORM` or `SYNCED`.
    #[schema(value_type = values::AuthenticatorGroup)]
    group: Group,
}

impl From<&Authenticator> for KnownAuthenticator {
    fn from(known: &Authenticator) -> Self {
        let Authenticator { aaguid, name, vendor, group } = *known;
        Self { aaguid, name, vendor, group }
    }
}
