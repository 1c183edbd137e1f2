//! Keys of identity providers, attackers and our own service, created once per process with OpenSSL.

use std::{fs, path::Path, sync::LazyLock};

use kernel::Timestamp;
use openssl::{
    asn1::Asn1Time,
    bn::{BigNum, MsbOption},
    ec::{EcGroup, EcKey},
    hash::MessageDigest,
    nid::Nid,
    pkey::{PKey, Private},
    rsa::Rsa,
    x509::{X509, X509Name},
};
use saml_sp::{Certificate, KeyPair};

use crate::world::NOW;

/// A private key and the certificate that may be pinned.
pub(crate) struct Key {
    pub(crate) private: PKey<Private>,
    pub(crate) certificate: Certificate,
}

/// The key that most responses are signed with.
pub(crate) static IDP: LazyLock<Key> = LazyLock::new(|| rsa(2048, "idp"));
/// The key that the identity provider rotates to.
pub(crate) static NEXT: LazyLock<Key> = LazyLock::new(|| rsa(2048, "idp next"));
pub(crate) static RSA_3072: LazyLock<Key> = LazyLock::new(|| rsa(3072, "idp 3072"));
pub(crate) static RSA_4096: LazyLock<Key> = LazyLock::new(|| rsa(4096, "idp 4096"));
pub(crate) static P256: LazyLock<Key> = LazyLock::new(|| ec(Nid::X9_62_PRIME256V1, "idp p256"));
pub(crate) static P384: LazyLock<Key> = LazyLock::new(|| ec(Nid::SECP384R1, "idp p384"));
pub(crate) static P521: LazyLock<Key> = LazyLock::new(|| ec(Nid::SECP521R1, "idp p521"));
/// Pinned, but expired for a month.
pub(crate) static EXPIRED: LazyLock<Key> =
    LazyLock::new(|| key(rsa_key(2048, "idp of old"), "idp of old", -400, -28));
/// Pinned by another provider.
pub(crate) static OTHER: LazyLock<Key> = LazyLock::new(|| rsa(2048, "idp of somebody else"));
/// Not pinned, although the certificate names the identity provider.
pub(crate) static ATTACKER: LazyLock<Key> = LazyLock::new(|| key(rsa_key(2048, "attacker"), "idp", -30, 300));

/// Our decryption keys: the active and the next one.
pub(crate) static OURS: LazyLock<[KeyPair; 2]> =
    LazyLock::new(|| ["active", "next"].map(|name| KeyPair::generate(name, *NOW).unwrap()));

fn rsa(bits: u32, name: &str) -> Key {
    key(rsa_key(bits, name), name, -30, 300)
}

/// Returns the key with this name. Generating all keys takes seconds, so they are cached in files for later runs.
fn rsa_key(bits: u32, name: &str) -> PKey<Private> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("saml-keys");
    let path = folder.join(format!("{name}-{bits}.pem"));
    if let Ok(pem) = fs::read(&path) {
        return PKey::private_key_from_pem(&pem).unwrap();
    }
    let key = PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap();
    fs::create_dir_all(&folder).unwrap();
    let new = folder.join(format!("{name}-{bits}.{}", std::process::id()));
    fs::write(&new, key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    fs::rename(&new, &path).unwrap();
    key
}

fn ec(curve: Nid, name: &str) -> Key {
    let group = EcGroup::from_curve_name(curve).unwrap();
    key(PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap(), name, -30, 300)
}

/// Returns a key with a certificate that is valid from `from` to `to`, in days from now.
pub(crate) fn key(private: PKey<Private>, name: &str, from: i64, to: i64) -> Key {
    let day = |days: i64| moment(NOW.plus_millis(days * 86_400_000));
    let mut subject = X509Name::builder().unwrap();
    subject.append_entry_by_nid(Nid::COMMONNAME, name).unwrap();
    let subject = subject.build();
    let mut serial = BigNum::new().unwrap();
    serial.rand(100, MsbOption::MAYBE_ZERO, false).unwrap();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(&subject).unwrap();
    builder.set_pubkey(&private).unwrap();
    builder.set_not_before(&day(from)).unwrap();
    builder.set_not_after(&day(to)).unwrap();
    builder.sign(&private, MessageDigest::sha256()).unwrap();
    let der = builder.build().to_der().unwrap();
    Key { private, certificate: Certificate::from_der(&der).unwrap() }
}

fn moment(time: Timestamp) -> Asn1Time {
    Asn1Time::from_unix(time.unix_millis() / 1000).unwrap()
}
