//! Signing secrets, derived on demand and never stored.

use crate::error::KeyError;
use data_encoding::{BASE64, HEXLOWER};
use kernel::{Env, MasterKeys, Secret, TenantId, Timestamp, constant_time_eq};
use ring::{digest, hkdf, hmac};
use serde::{Deserialize, Serialize};

use crate::{
    PublicKey,
    asymmetric::SigningKey,
    subscription::SubscriptionId,
    verify::{PREFIX, key},
};

/// Length of secrets and of their salts, in bytes.
const LENGTH: usize = 32;

/// The signing secret of a subscription: `whsec_` and 32 bytes in base64. Shown once, when it is created.
#[derive(Clone)]
pub struct SigningSecret {
    text: Secret<String>,
    /// The HMAC key of the whole text.
    service: hmac::Key,
    /// The HMAC key of the decoded bytes.
    standard: hmac::Key,
}

impl SigningSecret {
    fn new(bytes: &[u8; LENGTH]) -> Self {
        let text = format!("{PREFIX}{}", BASE64.encode(bytes));
        Self { service: key(text.as_bytes()), standard: key(bytes), text: Secret::new(text) }
    }

    /// Parses a secret; `None` if it has another form.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text.strip_prefix(PREFIX)?.as_bytes()).ok()?;
        Some(Self::new(&bytes.try_into().ok()?))
    }

    /// Generates a secret without a subscription, for listening on a local machine.
    pub fn random(env: &dyn Env) -> Self {
        let mut bytes = [0; LENGTH];
        env.fill(&mut bytes);
        Self::new(&bytes)
    }

    /// Returns the text `whsec_…`.
    pub fn text(&self) -> &str {
        self.text.expose()
    }

    /// Returns the value of `X-Service-Signature`: `v1=` and HMAC-SHA256 of `<timestamp>.<body>` in lower-case
    /// hexadecimal.
    pub fn sign(&self, timestamp: &str, body: &[u8]) -> String {
        format!("v1={}", HEXLOWER.encode(signed(&self.service, &[timestamp.as_bytes()], body).as_ref()))
    }

    /// Returns a value of `webhook-signature`: `v1,` and HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64.
    pub fn sign_standard(&self, id: &str, timestamp: &str, body: &[u8]) -> String {
        let tag = signed(&self.standard, &[id.as_bytes(), timestamp.as_bytes()], body);
        format!("v1,{}", BASE64.encode(tag.as_ref()))
    }

    fn hash(&self) -> [u8; LENGTH] {
        sha256(self.text().as_bytes())
    }
}

fn signed(key: &hmac::Key, parts: &[&[u8]], body: &[u8]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(part);
        context.update(b".");
    }
    context.update(body);
    context.sign()
}

fn sha256(bytes: &[u8]) -> [u8; LENGTH] {
    let mut hash = [0; LENGTH];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// The stored data of a secret: enough to derive it with a master key and to detect a wrong result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// The number of the generation, counted from 1 in each subscription.
    pub number: u64,
    /// The id of the master key.
    pub key: String,
    /// 32 random bytes in base64.
    pub salt: String,
    /// SHA-256 of the secret in base64.
    pub hash: String,
}

/// The current generations of a subscription's secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Secrets {
    /// The newest generation.
    pub current: Generation,
    /// The previous generation, while receivers switch to the new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousSecret>,
}

/// A generation that is being replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreviousSecret {
    /// The generation, which signs too until then.
    pub generation: Generation,
    /// When it stops signing.
    pub until: Timestamp,
}

impl Secrets {
    /// Returns the previous generation if it still signs.
    pub fn overlapping(&self, now: Timestamp) -> Option<&PreviousSecret> {
        self.previous.as_ref().filter(|previous| previous.until > now)
    }
}

/// The tenant and the subscription that a secret belongs to.
pub type Owner<'o> = (&'o TenantId, &'o SubscriptionId);

/// The master keys that secrets are derived from, with their ids, newest first.
pub struct SecretKeys(MasterKeys);

impl SecretKeys {
    /// Creates the keys from the master keys.
    pub fn new(masters: &MasterKeys) -> Self {
        Self(masters.clone())
    }

    /// Generates a new secret with the newest master key.
    pub fn generate(
        &self,
        env: &dyn Env,
        of: Owner<'_>,
        number: u64,
    ) -> Result<(Generation, SigningSecret), KeyError> {
        let missing = || KeyError::Missing("newest".into());
        let (id, master) = self.0.iter().next().ok_or_else(missing)?;
        let mut salt = [0; LENGTH];
        env.fill(&mut salt);
        let bytes = derive(master, &salt, SECRET_INFO, of, number).ok_or_else(missing)?;
        let secret = SigningSecret::new(bytes.expose());
        let generation = Generation {
            number,
            key: id.to_owned(),
            salt: BASE64.encode(&salt),
            hash: BASE64.encode(&secret.hash()),
        };
        Ok((generation, secret))
    }

    /// Derives the secret of this generation. Fails if it differs from the one that was shown.
    pub fn open(&self, of: Owner<'_>, generation: &Generation) -> Result<SigningSecret, KeyError> {
        let wrong = || KeyError::Wrong(generation.key.clone());
        let secret = SigningSecret::new(self.derived(of, generation, SECRET_INFO)?.expose());
        let hash = BASE64.decode(generation.hash.as_bytes()).map_err(|_| wrong())?;
        if constant_time_eq(&secret.hash(), &hash) { Ok(secret) } else { Err(wrong()) }
    }

    /// Derives the value of this generation for `info`, with the generation's master key and salt.
    fn derived(
        &self,
        of: Owner<'_>,
        generation: &Generation,
        info: &str,
    ) -> Result<Secret<[u8; LENGTH]>, KeyError> {
        let known = self.0.iter().find(|(id, _)| *id == generation.key);
        let (_, master) = known.ok_or_else(|| KeyError::Missing(generation.key.clone()))?;
        let wrong = || KeyError::Wrong(generation.key.clone());
        let salt = BASE64.decode(generation.salt.as_bytes()).map_err(|_| wrong())?;
        derive(master, &salt, info, of, generation.number).ok_or_else(wrong)
    }

    /// Returns the secrets and keys that sign now.
    pub fn signers(&self, of: Owner<'_>, secrets: &Secrets, now: Timestamp) -> Result<Signers, KeyError> {
        let current = self.signer(of, &secrets.current)?;
        match secrets.overlapping(now) {
            None => Ok(Signers { current, previous: None }),
            Some(PreviousSecret { generation, until }) => {
                Ok(Signers { current, previous: Some((self.signer(of, generation)?, *until)) })
            }
        }
    }

    /// Derives secret and private key of this generation.
    fn signer(&self, of: Owner<'_>, generation: &Generation) -> Result<Signer, KeyError> {
        // First, because only its hash shows a wrong master key.
        let secret = self.open(of, generation)?;
        let key = SigningKey::new(&self.derived(of, generation, KEY_INFO)?);
        Ok(Signer { secret, key: key.ok_or_else(|| KeyError::Wrong(generation.key.clone()))? })
    }
}

/// What a derived value is for: a shared secret.
const SECRET_INFO: &str = "gatehouse webhook secret";
/// What a derived value is for: the seed of a private key.
const KEY_INFO: &str = "gatehouse webhook signing key";

/// Derives 32 bytes by HKDF-SHA256 (RFC 5869) from master key and salt, for `info|tenant|subscription|generation`.
fn derive(
    master: &Secret<Vec<u8>>,
    salt: &[u8],
    info: &str,
    (tenant, subscription): Owner<'_>,
    number: u64,
) -> Option<Secret<[u8; LENGTH]>> {
    let info = format!("{info}|{tenant}|{subscription}|{number}");
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(master.expose());
    let mut bytes = zeroize::Zeroizing::new([0; LENGTH]);
    extracted.expand(&[info.as_bytes()], hkdf::HKDF_SHA256).ok()?.fill(bytes.as_mut()).ok()?;
    Some(Secret::new(*bytes))
}

/// The shared secret and the private key of one generation.
#[derive(Clone)]
pub struct Signer {
    /// Signs for receivers that know it.
    pub secret: SigningSecret,
    /// Signs for receivers that know the public key.
    pub key: SigningKey,
}

/// The generations that sign a delivery.
#[derive(Clone)]
pub struct Signers {
    /// The newest generation.
    pub current: Signer,
    /// The previous generation, and when it stops signing.
    pub previous: Option<(Signer, Timestamp)>,
}

impl Signers {
    /// Returns the headers that sign a body at this time.
    ///
    /// `X-Service-Signature` always has one value. During a rotation, that is the signature with the previous secret,
    /// which receivers already know; the new one's is in `X-Service-Signature-Next`. `webhook-signature` contains
    /// both, first as `v1`, then as `v1a`.
    pub fn headers(&self, event_id: &str, now: Timestamp, body: &[u8]) -> Vec<(&'static str, String)> {
        let timestamp = now.unix_millis().div_euclid(1000).to_string();
        let previous = self.previous.as_ref().filter(|(_, until)| *until > now).map(|(signer, _)| signer);
        let current = self.current.secret.sign(&timestamp, body);
        let mut headers = match previous {
            None => vec![("x-service-signature", current)],
            Some(previous) => vec![
                ("x-service-signature", previous.secret.sign(&timestamp, body)),
                ("x-service-signature-next", current),
            ],
        };
        let signers: Vec<_> = previous.into_iter().chain([&self.current]).collect();
        let shared = signers.iter().map(|signer| signer.secret.sign_standard(event_id, &timestamp, body));
        let asymmetric = signers.iter().map(|signer| signer.key.sign(event_id, &timestamp, body));
        headers.push(("webhook-signature", shared.chain(asymmetric).collect::<Vec<_>>().join(" ")));
        headers.push(("webhook-id", event_id.to_owned()));
        headers.push(("webhook-timestamp", timestamp.clone()));
        headers.push(("x-service-timestamp", timestamp));
        headers
    }

    /// Returns the public keys of the private keys that sign, newest first.
    pub fn public_keys(&self) -> Vec<PublicKey> {
        let previous = self.previous.as_ref().map(|(signer, _)| signer);
        std::iter::once(&self.current).chain(previous).map(|signer| signer.key.public()).collect()
    }
}

#[cfg(test)]
impl SecretKeys {
    /// Returns keys with one master key, always the same.
    pub(crate) fn sample() -> Self {
        Self(MasterKeys::new(vec![("test".into(), Secret::new(vec![1; 32]))]).unwrap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Invalid, ReceiverSecrets, verify, verify_asymmetric, verify_standard};
    use kernel::ManualEnv;

    fn masters(keys: &[(&str, u8)]) -> MasterKeys {
        let keys = keys.iter().map(|(id, byte)| ((*id).to_owned(), Secret::new(vec![*byte; 32])));
        MasterKeys::new(keys.collect()).unwrap()
    }

    fn header<'h>(headers: &'h [(&'static str, String)], name: &str) -> Option<&'h str> {
        headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn secrets_are_read_as_they_are_shown() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let secret = SigningSecret::random(&env);
        assert_ne!(secret.text(), SigningSecret::random(&env).text());
        let again = SigningSecret::read(secret.text()).unwrap();
        assert_eq!(again.text(), secret.text());
        assert_eq!(again.sign("1767225600", b"{}"), secret.sign("1767225600", b"{}"));
        for wrong in ["", "whsec_", "whsec_AAAA", "whsec_!", &secret.text()[PREFIX.len()..]] {
            assert!(SigningSecret::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_derived_again_only_with_its_own_key() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let (tenant, id) = (TenantId::new(&env), SubscriptionId::new(&env));
        let before = SecretKeys::new(&masters(&[("a", 1)]));
        let (kept, secret) = before.generate(&env, (&tenant, &id), 1).unwrap();
        assert!(secret.text().starts_with("whsec_") && secret.text().len() == 50);
        assert!(
            !format!("{kept:?}").contains(&secret.text()[6..]),
            "the secret does not appear in debug output"
        );
        let rotated = SecretKeys::new(&masters(&[("b", 2), ("a", 1)]));
        assert_eq!(rotated.open((&tenant, &id), &kept).unwrap().text(), secret.text());
        let open = |keys: &[(&str, u8)], tenant: &TenantId, id: &SubscriptionId, kept: &Generation| {
            SecretKeys::new(&masters(keys)).open((tenant, id), kept).err()
        };
        assert_eq!(open(&[("b", 2)], &tenant, &id, &kept), Some(KeyError::Missing("a".into())));
        assert_eq!(open(&[("a", 3)], &tenant, &id, &kept), Some(KeyError::Wrong("a".into())));
        let wrong = Some(KeyError::Wrong("a".into()));
        assert_eq!(open(&[("a", 1)], &TenantId::new(&env), &id, &kept), wrong);
        assert_eq!(open(&[("a", 1)], &tenant, &SubscriptionId::new(&env), &kept), wrong);
        assert_eq!(open(&[("a", 1)], &tenant, &id, &Generation { number: 2, ..kept.clone() }), wrong);
        assert_eq!(open(&[("a", 1)], &tenant, &id, &Generation { salt: "AAAA".into(), ..kept }), wrong);
    }

    #[test]
    fn each_generation_of_each_webhook_has_its_own_key() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let (tenant, id, other) = (TenantId::new(&env), SubscriptionId::new(&env), SubscriptionId::new(&env));
        let keys = SecretKeys::new(&masters(&[("a", 1)]));
        let public = |id: &SubscriptionId, generation: &Generation| {
            keys.signer((&tenant, id), generation).map(|signer| signer.key.public())
        };
        let (first, secret) = keys.generate(&env, (&tenant, &id), 1).unwrap();
        let (second, _) = keys.generate(&env, (&tenant, &id), 2).unwrap();
        let (foreign, _) = keys.generate(&env, (&tenant, &other), 1).unwrap();
        assert_eq!(public(&id, &first), public(&id, &first), "the key is derived again");
        assert_ne!(public(&id, &first), public(&id, &second));
        assert_ne!(public(&id, &first), public(&other, &foreign));
        let from_secret = BASE64.decode(&secret.text().as_bytes()[PREFIX.len()..]).unwrap();
        let from_secret = SigningKey::new(&Secret::new(from_secret.try_into().unwrap())).unwrap();
        assert_ne!(public(&id, &first).unwrap(), from_secret.public(), "a receiver cannot derive it");
    }

    #[test]
    fn both_secrets_sign_during_a_rotation_in_separate_headers() {
        let start: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let env = ManualEnv::at(start);
        let (tenant, id) = (TenantId::new(&env), SubscriptionId::new(&env));
        let keys = SecretKeys::new(&masters(&[("a", 1)]));
        let (old, old_secret) = keys.generate(&env, (&tenant, &id), 1).unwrap();
        let (new, new_secret) = keys.generate(&env, (&tenant, &id), 2).unwrap();
        let until = start.plus_millis(3_600_000);
        let previous = Some(PreviousSecret { generation: old, until });
        let secrets = Secrets { current: new, previous };
        let signers = keys.signers((&tenant, &id), &secrets, start).unwrap();
        let (old, new) = (old_secret.text(), new_secret.text());
        for (at, known, next) in [(start, old, Some(new)), (until, new, None)] {
            let headers = signers.headers("evt_1", at, b"{}");
            let (stamp, now) = (header(&headers, "x-service-timestamp").unwrap(), at.unix_millis() / 1000);
            let signature = header(&headers, "x-service-signature").unwrap();
            let only = |secret: &str| ReceiverSecrets::new([secret]).unwrap();
            assert_eq!(verify(&only(known), stamp, signature, b"{}", now), Ok(()));
            assert!(!signature.contains([',', ' ']));
            let after = header(&headers, "x-service-signature-next");
            assert_eq!(
                after.map(|tag| verify(&only(next.unwrap()), stamp, tag, b"{}", now)),
                next.map(|_| Ok(()))
            );
            let standard = header(&headers, "webhook-signature").unwrap();
            for secret in [Some(known), next].into_iter().flatten() {
                assert_eq!(verify_standard(&only(secret), "evt_1", stamp, standard, b"{}", now), Ok(()));
            }
            let public = keys.signers((&tenant, &id), &secrets, at).unwrap().public_keys();
            assert_eq!(public.len(), 1 + usize::from(next.is_some()), "a key of each generation that signs");
            for key in public {
                let verified =
                    |id, body: &[u8], now| verify_asymmetric(&[key], id, stamp, standard, body, now);
                assert_eq!(verified("evt_1", b"{}", now), Ok(()));
                assert_eq!(verified("evt_1", b"{}", now + 301), Err(Invalid::Stale));
                assert_eq!(verified("evt_1", b"{ }", now), Err(Invalid::Signature));
                assert_eq!(verified("evt_2", b"{}", now), Err(Invalid::Signature));
            }
        }
        assert!(keys.signers((&tenant, &id), &secrets, until).unwrap().previous.is_none());
    }
}
