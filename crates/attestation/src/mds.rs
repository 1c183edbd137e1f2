//! The FIDO Alliance's metadata of authenticators (FIDO Metadata Service 3.x): which certificates prove which make,
//! and which makes are known to be broken.
//!
//! An operator fetches the document and puts it beside the server; here it is verified without a network. It is a JWS
//! (RFC 7515) with the chain of its signer in the header. What is read of it is little, and one entry that cannot be
//! read takes away nothing but itself: new kinds of status and new members appear with every revision of the format.

use std::{collections::BTreeMap, time::Duration};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use kernel::Timestamp;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};
use serde::{Deserialize, de::IgnoredAny};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring as chains};

use crate::Aaguid;

/// Certificates in a header at most.
const MAX_CHAIN: usize = 8;

/// The root that the FIDO Alliance names for its metadata, in PEM: GlobalSign R3, until March 2029.
pub const FIDO_ROOT: &[u8] = include_bytes!("../fido-root.pem");
/// The name of its service, which has to stand in the certificate of the signer.
pub const FIDO_NAME: &str = "mds.fidoalliance.org";
/// Why a make is broken whose entry could not be read: what stands in it may be just that.
const UNREADABLE: &str = "UNREADABLE";

/// What is said of makes whose word proves nothing any more: their keys are known to others, who holds them need not
/// be the person, or they are no longer certified.
const BROKEN: [&str; 5] = [
    "ATTESTATION_KEY_COMPROMISE",
    "USER_VERIFICATION_BYPASS",
    "USER_KEY_REMOTE_COMPROMISE",
    "USER_KEY_PHYSICAL_COMPROMISE",
    "REVOKED",
];

/// What of the document is of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Which edition it is: counts up.
    pub number: u64,
    /// The day by which there is a newer one, `YYYY-MM-DD`.
    pub next_update: String,
    /// What is said of each make.
    pub makes: BTreeMap<Aaguid, AuthenticatorModel>,
    /// Entries that could not be read.
    pub unread: usize,
}

/// What is said of a make.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthenticatorModel {
    /// What it is called.
    pub description: Option<String>,
    /// The certificates, in DER, one of which has signed or is that of its attestation.
    pub roots: Vec<Vec<u8>>,
    /// Why its word proves nothing any more.
    pub broken: Option<String>,
}

/// Who has to have signed the document.
#[derive(Debug, Clone)]
pub struct Signer {
    root: CertificateDer<'static>,
    name: Option<String>,
}

/// Why a document is not believed.
#[derive(Debug, thiserror::Error)]
pub enum MdsError {
    /// Not three parts in base64url, or the header says no more than that.
    #[error("it is not a signed document: {0}")]
    Malformed(&'static str),
    /// Signed in a way that is not known here.
    #[error("it is signed with {0:?}, where RS256 and ES256 are known")]
    Algorithm(String),
    /// The signer's certificate does not lead to the root, is not of now, or is for something else.
    #[error("its signer is not trusted: {0}")]
    Signer(#[source] webpki::Error),
    /// The signature is not of this document.
    #[error("its signature is not of this document")]
    Signature,
    /// What is signed is no metadata.
    #[error("it is signed and not understood: {0}")]
    Payload(#[source] serde_json::Error),
    /// The file of the root holds no certificate.
    #[error("no certificate that could be a root: {0}")]
    Root(String),
}

impl Signer {
    /// The FIDO Alliance: the name of its service, certified by the public authority that it names as its root. That
    /// authority certifies others as well, so the name counts.
    pub fn fido() -> Result<Self, MdsError> {
        Self::new(FIDO_ROOT, Some(FIDO_NAME))
    }

    /// Whoever a root, in PEM, has certified: under this name, or under any.
    pub fn new(root: &[u8], name: Option<&str>) -> Result<Self, MdsError> {
        let root = CertificateDer::from_pem_slice(root).map_err(|error| MdsError::Root(error.to_string()))?;
        anchor_from_trusted_cert(&root).map_err(|error| MdsError::Root(error.to_string()))?;
        Ok(Self { root, name: name.map(str::to_owned) })
    }

    /// Whether this chain, the signer's own certificate first, leads to the root now.
    fn certifies(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> Result<(), MdsError> {
        let [own, others @ ..] = chain else {
            return Err(MdsError::Malformed("no certificate of its signer"));
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
        let name =
            ServerName::try_from(name.as_str()).map_err(|_| MdsError::Malformed("no name of its signer"))?;
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

/// An entry of which can be read what it is about.
#[derive(Deserialize)]
struct UnusableEntry {
    aaguid: Aaguid,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    /// Absent where the authenticator is of an older protocol.
    aaguid: Option<Aaguid>,
    metadata_statement: Option<Statement>,
    #[serde(default)]
    status_reports: Vec<Report>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    description: Option<String>,
    #[serde(default)]
    attestation_root_certificates: Vec<String>,
}

#[derive(Deserialize)]
struct Report {
    status: String,
}

/// Reads a document that a signer has signed, at a moment.
pub fn read(document: &[u8], signer: &Signer, now: Timestamp) -> Result<Metadata, MdsError> {
    let document = document.trim_ascii();
    let dot = |from: &[u8]| from.iter().rposition(|byte| *byte == b'.');
    let end = dot(document).ok_or(MdsError::Malformed("it has no parts"))?;
    let (signed, signature) = split(document, end);
    let middle = dot(signed).ok_or(MdsError::Malformed("it has two parts"))?;
    let (header, payload) = split(signed, middle);
    let part = |text: &[u8]| {
        BASE64URL_NOPAD.decode(text).map_err(|_| MdsError::Malformed("a part is not base64url"))
    };
    let header: Header = serde_json::from_slice(&part(header)?)
        .map_err(|_| MdsError::Malformed("its header says no algorithm"))?;
    if header.x5c.len() > MAX_CHAIN {
        return Err(MdsError::Malformed("the chain of its signer is too long"));
    }
    let certificate = |text: &String| BASE64.decode(text.as_bytes()).map(CertificateDer::from);
    let chain: Result<Vec<_>, _> = header.x5c.iter().map(certificate).collect();
    let chain = chain.map_err(|_| MdsError::Malformed("a certificate of its signer is not base64"))?;
    signer.certifies(&chain, now)?;
    let algorithm: &dyn VerificationAlgorithm = match header.alg.as_str() {
        "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        "ES256" => &signature::ECDSA_P256_SHA256_FIXED,
        _ => return Err(MdsError::Algorithm(header.alg)),
    };
    let own = chain.first().ok_or(MdsError::Malformed("no certificate of its signer"))?;
    let (_, own) =
        x509_parser::parse_x509_certificate(own).map_err(|_| MdsError::Malformed("no certificate"))?;
    UnparsedPublicKey::new(algorithm, &own.public_key().subject_public_key.data)
        .verify(signed, &part(signature)?)
        .map_err(|_| MdsError::Signature)?;
    understand(&part(payload)?)
}

/// What stands before and behind a dot.
fn split(text: &[u8], dot: usize) -> (&[u8], &[u8]) {
    let (before, behind) = text.split_at(dot);
    (before, behind.get(1..).unwrap_or_default())
}

/// Reads what was signed.
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
        let roots = statement.attestation_root_certificates;
        make.roots.extend(roots.iter().filter_map(|text| certificate(text)));
    }
    Ok(metadata)
}

/// A certificate in base64, which some makers break into lines.
fn certificate(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let der = BASE64.decode(&text).ok()?;
    x509_parser::parse_x509_certificate(&der).is_ok().then_some(der)
}

impl Metadata {
    /// Whether there has to be a newer one.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        is_over(&self.next_update, now)
    }
}

/// Whether a day, `YYYY-MM-DD`, is over.
pub fn is_over(day: &str, now: Timestamp) -> bool {
    now.to_string().get(..10).is_some_and(|today| today > day)
}
