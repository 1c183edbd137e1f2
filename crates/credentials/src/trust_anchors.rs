//! The make of an authenticator, and how far it is known.

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

/// The make of an authenticator (AAGUID), as it says itself; prints as a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aaguid(pub [u8; 16]);

impl Aaguid {
    /// Of authenticators that do not say what they are.
    pub const NONE: Self = Self([0; 16]);
}

impl std::fmt::Display for Aaguid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = HEXLOWER.encode(&self.0);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
        f.write_str(&parts.join("-"))
    }
}

/// Certificates of an attestation at most: each is looked at while somebody waits.
pub(crate) const MAX_CHAIN: usize = 8;

/// How far it is known that an authenticator is of the make that it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// It says so, or its client does.
    #[default]
    Claimed,
    /// It has signed that itself, with the key of the passkey.
    #[serde(rename = "self")]
    Itself,
    /// Somebody has signed for it who is not trusted for this make.
    Signed,
    /// Somebody has signed for it who is.
    Trusted,
}

impl Trust {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Itself => "self",
            Self::Signed => "signed",
            Self::Trusted => "trusted",
        }
    }
}

/// Who is trusted to sign for authenticators.
pub trait TrustAnchors {
    /// The certificates, in DER, one of which has to have signed the attestation of this make, or to be it.
    fn roots(&self, aaguid: Aaguid) -> Vec<Vec<u8>>;
}

/// The make in an attestation object: the library keeps it only where the maker has signed.
pub(crate) fn aaguid(attestation_object: &[u8]) -> Option<Aaguid> {
    let Cbor::Map(members) = serde_cbor_2::from_slice(attestation_object).ok()? else { return None };
    let Cbor::Bytes(bytes) = members.get(&Cbor::Text("authData".into()))? else { return None };
    let data = AuthenticatorData::<Registration>::try_from(bytes.as_slice()).ok()?;
    data.acd.map(|data| Aaguid(data.aaguid))
}

/// An attestation object that says of its authenticator nothing but its data.
pub(crate) fn without_attestation(attestation_object: &[u8]) -> Option<Vec<u8>> {
    let Cbor::Map(mut members) = serde_cbor_2::from_slice(attestation_object).ok()? else { return None };
    members.insert(Cbor::Text("fmt".into()), Cbor::Text("none".into()));
    members.insert(Cbor::Text("attStmt".into()), Cbor::Map([].into()));
    serde_cbor_2::to_vec(&Cbor::Map(members)).ok()
}

/// The certificates of an attestation, in DER: that of the authenticator first.
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

/// Whether it is not the attestation that is false, but the library that does not know its form to the last.
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

/// How far the make of an authenticator is known whose attestation is not false, by the roots of that make.
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
        // A maker may name the certificates of its authenticators themselves.
        Some(0) => return Trust::Trusted,
        // What stands at and behind a root needs nobody's word any more.
        Some(place) => certificates.truncate(place),
        None => {}
    }
    let Some(last) = certificates.last() else { return Trust::Signed };
    let issuer = last.tbs_certificate().issuer().clone();
    let since = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or_default());
    let now = SystemTime::UNIX_EPOCH + since;
    // One after the other: of several with the same name the library would look at one.
    let leads_to = |root: &Vec<u8>| {
        let mut list = AttestationCaListBuilder::new();
        // One that the library does not understand proves nothing; it says so in the log.
        let _ = list.insert_device_der(root, Uuid::nil(), String::new(), BTreeMap::new());
        let list = list.build();
        list.cas().values().any(|root| *root.ca().tbs_certificate().subject() == issuer)
            && matches!(verify_attestation_ca_chain(&data, &list, now), Ok(Some(_)))
    };
    if roots.iter().any(leads_to) { Trust::Trusted } else { Trust::Signed }
}
