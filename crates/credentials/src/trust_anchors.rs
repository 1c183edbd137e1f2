//! The model of an authenticator, and how far it is verified.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use data_encoding::HEXLOWER;
use kernel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_cbor_2::Value as Cbor;
use uuid::Uuid;
use webauthn_rs_core::{
    attestation::verify_attestation_ca_chain,
    error::WebauthnError,
    internals::AuthenticatorData,
    proto::{AttestationCaListBuilder, ParsedAttestationData, Registration},
};

/// The authenticator model (AAGUID) as the authenticator reports it. Prints as a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aaguid(pub [u8; 16]);

impl Aaguid {
    /// The zero AAGUID of authenticators that do not report a model.
    pub const NONE: Self = Self([0; 16]);
}

impl std::fmt::Display for Aaguid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = HEXLOWER.encode(&self.0);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
        f.write_str(&parts.join("-"))
    }
}

/// Maximum number of certificates in an attestation, because verifying each takes time during the request.
pub(crate) const MAX_CHAIN: usize = 8;

/// How far the reported authenticator model is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// The authenticator or its client claims it.
    #[default]
    Claimed,
    /// The authenticator signed it with the key of the passkey (self attestation).
    #[serde(rename = "self")]
    Itself,
    /// A certificate that is not trusted for this model signed it.
    Signed,
    /// A certificate that is trusted for this model signed it.
    Trusted,
}

impl Trust {
    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Itself => "self",
            Self::Signed => "signed",
            Self::Trusted => "trusted",
        }
    }
}

/// Provides the trusted attestation certificates.
pub trait TrustAnchors {
    /// Returns the trusted certificates of this model in DER. One of them has to have signed the attestation
    /// certificate, or to be it.
    fn roots(&self, aaguid: Aaguid) -> Vec<Vec<u8>>;
}

/// Reads the AAGUID of an attestation object. The library keeps it only for attestations that a manufacturer signed.
pub(crate) fn aaguid(attestation_object: &[u8]) -> Option<Aaguid> {
    let Cbor::Map(members) = serde_cbor_2::from_slice(attestation_object).ok()? else { return None };
    let Cbor::Bytes(bytes) = members.get(&Cbor::Text("authData".into()))? else { return None };
    let data = AuthenticatorData::<Registration>::try_from(bytes.as_slice()).ok()?;
    data.acd.map(|data| Aaguid(data.aaguid))
}

/// The place of the flags in authenticator data (WebAuthn Level 3, section 6.1).
const FLAGS: usize = 32;
/// The flag that says that the user was present.
const USER_PRESENT: u8 = 1;

/// Replaces the attestation statement with the format `none`.
pub(crate) fn without_attestation(attestation_object: &[u8]) -> Option<Vec<u8>> {
    let Cbor::Map(mut members) = serde_cbor_2::from_slice(attestation_object).ok()? else { return None };
    members.insert(Cbor::Text("fmt".into()), Cbor::Text("none".into()));
    members.insert(Cbor::Text("attStmt".into()), Cbor::Map([].into()));
    serde_cbor_2::to_vec(&Cbor::Map(members)).ok()
}

/// Replaces the attestation statement with the format `none`, and sets the flag for user presence. Without an attestation,
/// nothing signs the flags.
pub(crate) fn with_presence(attestation_object: &[u8]) -> Option<Vec<u8>> {
    let plain = without_attestation(attestation_object)?;
    let Cbor::Map(mut members) = serde_cbor_2::from_slice(&plain).ok()? else { return None };
    let Cbor::Bytes(data) = members.get_mut(&Cbor::Text("authData".into()))? else { return None };
    *data.get_mut(FLAGS)? |= USER_PRESENT;
    serde_cbor_2::to_vec(&Cbor::Map(members)).ok()
}

/// Returns the certificates of an attestation in DER, the authenticator's first.
pub(crate) fn chain(attestation_object: &[u8]) -> Vec<Vec<u8>> {
    let member = |map: &Cbor, name: &str| match map {
        Cbor::Map(members) => members.get(&Cbor::Text(name.into())).cloned(),
        _ => None,
    };
    let read = serde_cbor_2::from_slice(attestation_object).ok();
    let found = read.and_then(|object: Cbor| member(&member(&object, "attStmt")?, "x5c"));
    let Some(Cbor::Array(chain)) = found else { return Vec::new() };
    let bytes = chain.into_iter().map(|certificate| match certificate {
        Cbor::Bytes(bytes) => bytes,
        _ => Vec::new(),
    });
    bytes.collect()
}

/// Whether the error means that the library does not support this form of attestation, not that it is invalid.
pub(crate) fn is_not_understood(error: &WebauthnError) -> bool {
    matches!(
        error,
        WebauthnError::AttestationNotSupported
            | WebauthnError::AttestationCertificateRequirementsNotMet
            | WebauthnError::AttestationTpmPubAreaHashUnknown
            | WebauthnError::COSEKeyInvalidAlgorithm
            | WebauthnError::COSEKeyInvalidType
    )
}

/// Returns how far a valid attestation verifies the authenticator model, given the trusted certificates of that
/// model.
pub(crate) fn trust(
    data: &ParsedAttestationData,
    chain: &[Vec<u8>],
    roots: &[Vec<u8>],
    now: Timestamp,
) -> Trust {
    let mut data = data.clone();
    let certificates = match &mut data {
        ParsedAttestationData::Basic(certificates)
        | ParsedAttestationData::AttCa(certificates)
        | ParsedAttestationData::AnonCa(certificates) => certificates,
        ParsedAttestationData::Self_ => return Trust::Itself,
        ParsedAttestationData::ECDAA | ParsedAttestationData::Uncertain | ParsedAttestationData::None => {
            return Trust::Claimed;
        }
    };
    match chain.iter().position(|certificate| roots.contains(certificate)) {
        // A root may be the certificate of the authenticator itself.
        Some(0) => return Trust::Trusted,
        // Drop the root and everything after it from the chain.
        Some(place) => certificates.truncate(place),
        None => {}
    }
    let Some(last) = certificates.last() else { return Trust::Signed };
    let issuer = last.tbs_certificate().issuer().clone();
    let since = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or_default());
    let now = SystemTime::UNIX_EPOCH + since;
    // Try the roots one by one: of several with the same name, the library would try only one.
    let leads_to = |root: &Vec<u8>| {
        let mut list = AttestationCaListBuilder::new();
        // A root that the library cannot parse trusts nothing. The library logs it.
        let _ = list.insert_device_der(root, Uuid::nil(), String::new(), BTreeMap::new());
        let list = list.build();
        list.cas().values().any(|root| *root.ca().tbs_certificate().subject() == issuer)
            && matches!(verify_attestation_ca_chain(&data, &list, now), Ok(Some(_)))
    };
    if roots.iter().any(leads_to) { Trust::Trusted } else { Trust::Signed }
}
