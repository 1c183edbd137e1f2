//! Asymmetric signatures: `v1a` of Standard Webhooks (Ed25519, RFC 8032).

use std::sync::Arc;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use kernel::{Env, Secret};
use ring::{
    digest,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde::Serialize;

use crate::public_key::{PublicKey, VERSION, message};

/// Length of seeds and public keys in bytes.
const LENGTH: usize = 32;

/// The private key of a generation of a subscription's secret. It never leaves the service.
#[derive(Clone)]
pub struct SigningKey(Arc<Ed25519KeyPair>);

impl SigningKey {
    /// Creates the key from its seed; `None` if the library rejects the seed.
    pub(crate) fn new(seed: &Secret<[u8; LENGTH]>) -> Option<Self> {
        Some(Self(Arc::new(Ed25519KeyPair::from_seed_unchecked(seed.expose()).ok()?)))
    }

    /// Generates a key without a subscription, for listening on a local machine.
    pub fn random(env: &dyn Env) -> Option<Self> {
        let mut seed = [0; LENGTH];
        env.fill(&mut seed);
        Self::new(&Secret::new(seed))
    }

    /// Returns a value of `webhook-signature`: `v1a,` and the signature of `<id>.<timestamp>.<body>` in base64.
    pub fn sign(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        let signature = self.0.sign(&message(id, timestamp, body));
        format!("{VERSION}{}", BASE64.encode(signature.as_ref()))
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; LENGTH];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey::new(bytes)
    }
}

/// A public key as a JSON Web Key (RFC 7517, RFC 8037).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = WebhookJwk))]
pub struct Jwk {
    /// Key type: `OKP`.
    kty: &'static str,
    /// Curve: `Ed25519`.
    crv: &'static str,
    /// 32 bytes in base64url.
    x: String,
    /// SHA-256 thumbprint of the key (RFC 7638).
    kid: String,
    /// Use: `sig`.
    #[serde(rename = "use")]
    usage: &'static str,
    /// Algorithm: `EdDSA`.
    alg: &'static str,
}

impl PublicKey {
    /// Returns the key as a JSON Web Key (RFC 8037) whose `kid` is its thumbprint (RFC 7638).
    pub fn jwk(&self) -> Jwk {
        let x = BASE64URL_NOPAD.encode(self.bytes());
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        let kid = BASE64URL_NOPAD.encode(digest::digest(&digest::SHA256, members.as_bytes()).as_ref());
        Jwk { kty: "OKP", crv: "Ed25519", x, kid, usage: "sig", alg: "EdDSA" }
    }
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    /// The key of RFC 8037, appendix A.
    fn published() -> SigningKey {
        let seed = BASE64URL_NOPAD.decode(b"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        SigningKey::new(&Secret::new(seed.try_into().unwrap())).unwrap()
    }

    #[test]
    fn jwk_and_thumbprint_are_those_of_rfc_8037() {
        let jwk = published().public().jwk();
        assert_eq!(jwk.x, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(jwk.kid, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn public_keys_are_read_as_they_are_written() {
        let key = published().public();
        assert_eq!(key.to_string(), "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
        assert_eq!(key.to_string().parse(), Ok(key));
        for wrong in ["11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "whpk_!", "whpk_AAAA", "whpk_"] {
            assert!(wrong.parse::<PublicKey>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn signature_covers_id_timestamp_and_body() {
        let (key, public) = (published(), published().public());
        let signature = key.sign("evt_1", "1767225600", b"{}");
        let among = format!("v1,AAAA v1a,!! v1a,AAAA {signature}");
        assert!(public.has_signed("evt_1", "1767225600", &signature, b"{}"));
        assert!(public.has_signed("evt_1", "1767225600", &among, b"{}"));
        let as_v1 = signature.replace("v1a,", "v1,");
        for (id, timestamp, signature, body) in [
            ("evt_2", "1767225600", signature.as_str(), &b"{}"[..]),
            ("evt_1", "1767225601", &signature, b"{}"),
            ("evt_1", "1767225600", &signature, b"{} "),
            ("evt_1", "1767225600", &as_v1, b"{}"),
            ("evt_1", "1767225600", "v1a,", b"{}"),
            ("evt_1", "1767225600", "", b"{}"),
        ] {
            assert!(!public.has_signed(id, timestamp, signature, body), "{id} {timestamp} {signature}");
        }
        let other = SigningKey::new(&Secret::new([7; LENGTH])).unwrap();
        assert!(!other.public().has_signed("evt_1", "1767225600", &signature, b"{}"));
    }

    #[test]
    fn random_keys_sign_and_differ() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let [first, second] = [(); 2].map(|()| SigningKey::random(&env).unwrap());
        let signature = first.sign("evt_1", "1767225600", b"{}");
        assert!(first.public().has_signed("evt_1", "1767225600", &signature, b"{}"));
        assert!(!second.public().has_signed("evt_1", "1767225600", &signature, b"{}"));
    }
}
