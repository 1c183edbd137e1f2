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
    internals::AuthenticatorData,
    proto::{AttestationCaListBuilder, ParsedAttestationData, Registration},
};

/// The make of an authenticator (AAGUID), as it says itself; prints as a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aaguid(pub [u8; 16]);

impl std::fmt::Display for Aaguid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = HEXLOWER.encode(&self.0);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
        f.write_str(&parts.join("-"))
    }
}

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
pub trait Makers {
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

/// The first certificate of an attestation, in DER: that of the authenticator.
pub(crate) fn own_certificate(attestation_object: &[u8]) -> Option<Vec<u8>> {
    let Cbor::Map(members) = serde_cbor_2::from_slice(attestation_object).ok()? else { return None };
    let Cbor::Map(statement) = members.get(&Cbor::Text("attStmt".into()))? else { return None };
    let Cbor::Array(chain) = statement.get(&Cbor::Text("x5c".into()))? else { return None };
    let Cbor::Bytes(own) = chain.first()? else { return None };
    Some(own.clone())
}

/// How far the make of an authenticator is known whose attestation is not false, by the roots of that make.
pub(crate) fn trust(
    data: &ParsedAttestationData,
    own: Option<Vec<u8>>,
    roots: &[Vec<u8>],
    now: Timestamp,
) -> Trust {
    match data {
        ParsedAttestationData::Basic(_)
        | ParsedAttestationData::AttCa(_)
        | ParsedAttestationData::AnonCa(_) => {}
        ParsedAttestationData::Self_ => return Trust::Itself,
        ParsedAttestationData::ECDAA | ParsedAttestationData::Uncertain | ParsedAttestationData::None => {
            return Trust::Claimed;
        }
    }
    // A maker may name the certificates of its authenticators themselves.
    if own.is_some_and(|own| roots.contains(&own)) {
        return Trust::Trusted;
    }
    let since = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or_default());
    let now = SystemTime::UNIX_EPOCH + since;
    // One after the other: of several with the same name the library would look at one.
    let leads_to = |root: &Vec<u8>| {
        let mut list = AttestationCaListBuilder::new();
        // One that the library does not understand proves nothing; it says so in the log.
        let _ = list.insert_device_der(root, Uuid::nil(), String::new(), BTreeMap::new());
        matches!(verify_attestation_ca_chain(data, &list.build(), now), Ok(Some(_)))
    };
    if roots.iter().any(leads_to) { Trust::Trusted } else { Trust::Signed }
}
