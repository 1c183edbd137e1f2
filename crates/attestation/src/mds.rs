//! The FIDO Alliance's authenticator metadata (FIDO Metadata Service 3.x): which certificates prove which model, and
//! which models are known to be broken.
//!
//! An operator downloads the document, and this module verifies it without network access. It is a JWS (RFC 7515)
//! with the signer's certificate chain in the header. The parser reads few members and skips entries that it cannot
//! read, because every revision of the format adds statuses and members.

use std::{collections::BTreeMap, time::Duration};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use kernel::Timestamp;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring as chains};

use crate::Aaguid;

/// Maximum number of certificates in the header.
const MAX_CHAIN: usize = 8;

/// The root certificate that the FIDO Alliance names for its metadata, in PEM: GlobalSign R3, valid until March 2029.
pub const FIDO_ROOT: &[u8] = include_bytes!("../fido-root.pem");
/// The host name that the signer's certificate has to contain.
pub const FIDO_NAME: &str = "mds.fidoalliance.org";
/// The status of a model with an unreadable entry. It counts as broken, because the entry may say exactly that.
const UNREADABLE: &str = "UNREADABLE";

/// How the picture of a model begins: a data URL (RFC 2397).
const PICTURE: &str = "data:image/png;base64,";
/// The first bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Maximum bytes of a picture. Those of the FIDO Alliance have a few thousand.
const MAX_PICTURE: usize = 64 * 1024;

/// Statuses after which an attestation proves nothing: the keys are compromised, user verification can be bypassed,
/// or the certification was revoked.
const BROKEN: [&str; 5] = [
    "ATTESTATION_KEY_COMPROMISE",
    "USER_VERIFICATION_BYPASS",
    "USER_KEY_REMOTE_COMPROMISE",
    "USER_KEY_PHYSICAL_COMPROMISE",
    "REVOKED",
];

/// The relevant contents of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The serial number of the document, which increases with each edition.
    pub number: u64,
    /// The day by which a newer edition appears, `YYYY-MM-DD`.
    pub next_update: String,
    /// The metadata of each model.
    pub makes: BTreeMap<Aaguid, AuthenticatorModel>,
    /// Number of entries that could not be read.
    pub unread: usize,
}

/// The metadata of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthenticatorModel {
    /// The name of the model.
    pub description: Option<String>,
    /// A small picture of the model, as PNG.
    pub picture: Option<Vec<u8>>,
    /// The trusted certificates in DER. One of them has to have signed the attestation certificate, or to be it.
    pub roots: Vec<Vec<u8>>,
    /// The status because of which an attestation proves nothing.
    pub broken: Option<String>,
}

/// The expected signer of the document.
#[derive(Debug, Clone)]
pub struct Signer {
    root: CertificateDer<'static>,
    name: Option<String>,
}

/// The reason for refusing a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MdsError {
    /// The document does not consist of three base64url parts, or its header is incomplete.
    #[error("not a signed document (JWS): {0}")]
    Malformed(&'static str),
    /// The signature algorithm is not supported.
    #[error("signed with {0:?}; only RS256 and ES256 are supported")]
    Algorithm(String),
    /// The signer's certificate does not chain to the root, is not valid now, or has the wrong name or usage.
    #[error("the signer is not trusted: {0}")]
    Signer(#[source] webpki::Error),
    /// The signature does not match the document.
    #[error("the signature does not match the document")]
    Signature,
    /// The payload is not metadata.
    #[error("the signed document is not valid metadata: {0}")]
    Payload(#[source] serde_json::Error),
    /// The root file contains no valid certificate.
    #[error("not a valid root certificate: {0}")]
    Root(String),
}

impl Signer {
    /// Returns the FIDO Alliance as the signer: its host name, certified by the public authority that it names as its
    /// root. That authority certifies others too, so the name is checked.
    pub fn fido() -> Result<Self, MdsError> {
        Self::new(FIDO_ROOT, Some(FIDO_NAME))
    }

    /// Creates a signer that a root in PEM has certified, under this name or, if `None`, under any.
    pub fn new(root: &[u8], name: Option<&str>) -> Result<Self, MdsError> {
        let root = CertificateDer::from_pem_slice(root).map_err(|error| MdsError::Root(error.to_string()))?;
        anchor_from_trusted_cert(&root).map_err(|error| MdsError::Root(error.to_string()))?;
        Ok(Self { root, name: name.map(str::to_owned) })
    }

    /// Verifies that a chain, with the signer's certificate first, leads to the root at this time.
    fn certifies(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> Result<(), MdsError> {
        let [own, others @ ..] = chain else {
            return Err(MdsError::Malformed("the header contains no certificate of the signer"));
        };
        let end = EndEntityCert::try_from(own).map_err(MdsError::Signer)?;
        let anchor = anchor_from_trusted_cert(&self.root).map_err(MdsError::Signer)?;
        let since = Duration::from_millis(u64::try_from(now.unix_millis()).unwrap_or_default());
        let algorithms = [
            chains::ECDSA_P256_SHA256,
            chains::ECDSA_P256_SHA384,
            chains::ECDSA_P384_SHA256,
            chains::ECDSA_P384_SHA384,
            chains::RSA_PKCS1_2048_8192_SHA256,
            chains::RSA_PKCS1_2048_8192_SHA384,
            chains::RSA_PKCS1_2048_8192_SHA512,
        ];
        end.verify_for_usage(
            &algorithms,
            &[anchor],
            others,
            UnixTime::since_unix_epoch(since),
            KeyUsage::server_auth(),
            None,
            None,
        )
        .map_err(MdsError::Signer)?;
        let Some(name) = &self.name else { return Ok(()) };
        let name = ServerName::try_from(name.as_str())
            .map_err(|_| MdsError::Malformed("the expected name of the signer is not a host name"))?;
        end.verify_is_valid_for_subject_name(&name).map_err(MdsError::Signer)
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    x5c: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    no: u64,
    next_update: String,
    entries: Vec<Lenient>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lenient {
    Entry(Entry),
    Odd(UnusableEntry),
    Other(IgnoredAny),
}

/// An entry of which only the AAGUID is readable.
#[derive(Deserialize)]
struct UnusableEntry {
    aaguid: Aaguid,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    /// Absent for authenticators with an older protocol.
    aaguid: Option<Aaguid>,
    metadata_statement: Option<Statement>,
    #[serde(default)]
    status_reports: Vec<Report>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    description: Option<String>,
    /// Of any type, so that an unusual picture does not make the entry unreadable.
    icon: Option<Value>,
    #[serde(default)]
    attestation_root_certificates: Vec<String>,
}

#[derive(Deserialize)]
struct Report {
    status: String,
}

/// Verifies a document as of `now` and parses it.
pub fn read(document: &[u8], signer: &Signer, now: Timestamp) -> Result<Metadata, MdsError> {
    let document = document.trim_ascii();
    let dot = |from: &[u8]| from.iter().rposition(|byte| *byte == b'.');
    let end = dot(document).ok_or(MdsError::Malformed("it does not have three parts"))?;
    let (signed, signature) = split(document, end);
    let middle = dot(signed).ok_or(MdsError::Malformed("it has only two parts"))?;
    let (header, payload) = split(signed, middle);
    let part = |text: &[u8]| {
        BASE64URL_NOPAD.decode(text).map_err(|_| MdsError::Malformed("a part is not base64url"))
    };
    let header: Header = serde_json::from_slice(&part(header)?)
        .map_err(|_| MdsError::Malformed("the header is not JSON or lacks alg"))?;
    if header.x5c.len() > MAX_CHAIN {
        return Err(MdsError::Malformed("the signer's certificate chain is too long"));
    }
    let certificate = |text: &String| BASE64.decode(text.as_bytes()).map(CertificateDer::from);
    let chain: Result<Vec<_>, _> = header.x5c.iter().map(certificate).collect();
    let chain = chain.map_err(|_| MdsError::Malformed("a certificate in the header is not base64"))?;
    signer.certifies(&chain, now)?;
    let algorithm: &dyn VerificationAlgorithm = match header.alg.as_str() {
        "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        "ES256" => &signature::ECDSA_P256_SHA256_FIXED,
        _ => return Err(MdsError::Algorithm(header.alg)),
    };
    let own = chain.first().ok_or(MdsError::Malformed("the header contains no certificate of the signer"))?;
    let (_, own) = x509_parser::parse_x509_certificate(own)
        .map_err(|_| MdsError::Malformed("the signer's certificate cannot be parsed"))?;
    UnparsedPublicKey::new(algorithm, &own.public_key().subject_public_key.data)
        .verify(signed, &part(signature)?)
        .map_err(|_| MdsError::Signature)?;
    understand(&part(payload)?)
}

/// Splits a text at a dot, which is in neither part.
fn split(text: &[u8], dot: usize) -> (&[u8], &[u8]) {
    let (before, behind) = text.split_at(dot);
    (before, behind.get(1..).unwrap_or_default())
}

/// Parses the signed payload.
pub(crate) fn understand(payload: &[u8]) -> Result<Metadata, MdsError> {
    let Payload { no, next_update, entries } = serde_json::from_slice(payload).map_err(MdsError::Payload)?;
    let mut metadata = Metadata { number: no, next_update, makes: BTreeMap::new(), unread: 0 };
    for entry in entries {
        let entry = match entry {
            Lenient::Entry(entry) => entry,
            Lenient::Odd(UnusableEntry { aaguid }) => {
                metadata.unread += 1;
                metadata.makes.entry(aaguid).or_default().broken.get_or_insert(UNREADABLE.to_owned());
                continue;
            }
            Lenient::Other(_) => {
                metadata.unread += 1;
                continue;
            }
        };
        let Some(aaguid) = entry.aaguid else { continue };
        let make = metadata.makes.entry(aaguid).or_default();
        let broken = entry.status_reports.into_iter().map(|report| report.status);
        make.broken =
            make.broken.take().or_else(|| broken.into_iter().find(|said| BROKEN.contains(&said.as_str())));
        let Some(statement) = entry.metadata_statement else { continue };
        make.description = make.description.take().or(statement.description);
        make.picture = make.picture.take().or_else(|| picture(statement.icon?.as_str()?));
        let roots = statement.attestation_root_certificates;
        make.roots.extend(roots.iter().filter_map(|text| certificate(text)));
    }
    Ok(metadata)
}

/// Decodes the picture in a data URL, if it is a PNG.
fn picture(url: &str) -> Option<Vec<u8>> {
    let data = BASE64.decode(url.strip_prefix(PICTURE)?.as_bytes()).ok()?;
    (data.starts_with(PNG) && data.len() <= MAX_PICTURE).then_some(data)
}

/// Decodes a certificate in base64, ignoring line breaks.
fn certificate(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let der = BASE64.decode(&text).ok()?;
    x509_parser::parse_x509_certificate(&der).is_ok().then_some(der)
}

impl Metadata {
    /// Whether a newer edition should have appeared.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        is_over(&self.next_update, now)
    }
}

/// Whether the day `YYYY-MM-DD` is in the past.
pub fn is_over(day: &str, now: Timestamp) -> bool {
    now.to_string().get(..10).is_some_and(|today| today > day)
}
