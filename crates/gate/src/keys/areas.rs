//! The keys of each area, as its crate takes them.

use std::sync::Arc;

use audit::{EntryKeys, log::CheckpointKeys};
use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use kernel::{Env, Reencrypted, Secret, SigningKeys, SystemEnv, TenantId, Timestamp};
use log_streams::{LogStreamId, SealSecret, SecretError};
use saml_sp::{EmailDomain, KeyError, ProviderId, SealKey};
use serde_json::{Map, Value};
use sessions::{Claims, CookieName, NotASession};
use sign_in::{TotpKeys, totp_place};
use store::SealedSecret;

use super::{Current, Keys, seal_text};

/// The current keys for step-up tokens.
pub struct StepUpKeys(Arc<Current>);

impl std::ops::Deref for StepUpKeys {
    type Target = SigningKeys;

    fn deref(&self) -> &SigningKeys {
        &self.0.step_ups
    }
}

/// The current keys that seal private keys of identity provider connections.
pub struct ProviderKeys(Keys);

fn seal_context(provider: &str) -> Vec<u8> {
    ["saml key", provider].join("\0").into_bytes()
}

impl SealKey for ProviderKeys {
    fn seal(&self, provider: &ProviderId, private: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        let sealed = self.0.current().saml.seal(
            &SystemEnv::default(),
            &seal_context(provider.as_str()),
            private.expose(),
        );
        Ok(BASE64URL_NOPAD.encode(&sealed.ok_or(KeyError("encrypted: there is no master key"))?))
    }

    fn open(&self, provider: &ProviderId, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok();
        let opened = bytes.and_then(|bytes| {
            self.0.open_secret(&seal_context(provider.as_str()), &bytes, |current| &current.saml)
        });
        opened.ok_or(KeyError("decrypted: the master key that encrypted it is missing"))
    }
}

/// The current keys that seal secrets of log streams.
pub struct LogStreamKeys(Keys);

impl SealSecret for LogStreamKeys {
    fn seal(&self, stream: &LogStreamId, secret: &Secret<String>) -> Result<String, SecretError> {
        let place = stream.as_str().as_bytes();
        let sealed =
            self.0.current().log_streams.seal(&SystemEnv::default(), place, secret.expose().as_bytes());
        let sealed = sealed.ok_or(SecretError("encrypted: there is no master key"))?;
        Ok(BASE64URL_NOPAD.encode(&sealed))
    }

    fn open(&self, stream: &LogStreamId, sealed: &str) -> Result<Secret<String>, SecretError> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok();
        let opened = bytes.and_then(|bytes| {
            self.0.open_secret(stream.as_str().as_bytes(), &bytes, |current| &current.log_streams)
        });
        let opened = opened.and_then(|secret| String::from_utf8(secret.expose().clone()).ok());
        opened.map(Secret::new).ok_or(SecretError("decrypted: the master key that encrypted it is missing"))
    }
}

/// The current keys that seal private keys and headers of shared signals.
pub struct SignalKeys(Keys);

impl signals::SealSecret for SignalKeys {
    fn seal(&self, place: &str, secret: &Secret<Vec<u8>>) -> Result<String, signals::KeyError> {
        let sealed = self.0.current().signals.seal(&SystemEnv::default(), place.as_bytes(), secret.expose());
        let sealed = sealed.ok_or(signals::KeyError("encrypted: there is no master key"))?;
        Ok(BASE64URL_NOPAD.encode(&sealed))
    }

    fn open(&self, place: &str, sealed: &str) -> Result<Secret<Vec<u8>>, signals::KeyError> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok();
        let opened =
            bytes.and_then(|bytes| self.0.open_secret(place.as_bytes(), &bytes, |current| &current.signals));
        opened.ok_or(signals::KeyError("decrypted: the master key that encrypted it is missing"))
    }
}

impl Keys {
    /// Returns the ID of the master key that signs and encrypts; `None` without any key.
    pub fn current_id(&self) -> Option<String> {
        self.current().ids.first().cloned()
    }

    /// Returns whether there is a master key with this ID.
    pub fn knows(&self, key: &str) -> bool {
        self.current().ids.iter().any(|known| known == key)
    }

    /// Encrypts a stored secret of a tenant with the current key. `id` is that of its row.
    pub fn reencrypt(&self, tenant: &TenantId, secret: SealedSecret, id: &str, sealed: &[u8]) -> Reencrypted {
        let (current, env) = (self.current(), SystemEnv::default());
        let (keys, place) = match secret {
            SealedSecret::AuthenticatorApp => (&current.totp, totp_place(tenant, id)),
            SealedSecret::Connection => (&current.saml, seal_context(id)),
            SealedSecret::LogStream => (&current.log_streams, id.as_bytes().to_vec()),
            SealedSecret::Signal => (&current.signals, id.as_bytes().to_vec()),
        };
        keys.reencrypt(&env, &place, sealed)
    }

    /// Returns the keys that seal private keys and headers of shared signals.
    pub fn signals(&self) -> SignalKeys {
        SignalKeys(self.clone())
    }

    /// Returns the keys that seal secrets of log streams.
    pub fn log_streams(&self) -> LogStreamKeys {
        LogStreamKeys(self.clone())
    }

    /// Returns the keys that seal private keys of identity provider connections.
    pub fn saml(&self) -> ProviderKeys {
        ProviderKeys(self.clone())
    }

    /// Returns the DNS token that verifies a domain for a tenant.
    pub fn domain_token(&self, tenant: &TenantId, domain: &EmailDomain) -> Option<String> {
        let current = self.current();
        let signed = current.domains.sign(&proof_of(tenant, domain))?;
        Some(BASE32_NOPAD.encode(&signed.tag).to_ascii_lowercase())
    }

    /// Verifies a DNS token with any known key.
    pub fn is_domain_token(&self, tenant: &TenantId, domain: &EmailDomain, token: &str) -> bool {
        let Ok(tag) = BASE32_NOPAD.decode(token.to_ascii_uppercase().as_bytes()) else { return false };
        let (current, message) = (self.current(), proof_of(tenant, domain));
        current.ids.iter().any(|key| current.domains.verify(key, &message, &tag))
    }

    /// Returns a link that sets this server up; `None` without a master key.
    pub fn setup_link(&self, base_url: &str, now: Timestamp) -> Option<String> {
        self.current().setups.link(base_url, now)
    }

    /// Returns whether the token of a setup link was issued by this installation and has not expired.
    pub fn accepts_setup(&self, token: &str, now: Timestamp) -> bool {
        self.current().setups.accepts(token, now)
    }

    /// Returns the keys for the MACs of audit entries. They are updated on rotation.
    pub fn entry_keys(&self) -> EntryKeys {
        self.entries.clone()
    }

    /// Returns the keys for checkpoints and MACs from one snapshot. A later rotation does not change them, so a retired
    /// key never signs an entry that only a newer key authenticates.
    pub fn sealing_keys(&self) -> (Arc<CheckpointKeys>, EntryKeys) {
        let current = self.current();
        (Arc::clone(&current.checkpoints), current.entries.clone())
    }

    /// Returns the keys that sign and verify checkpoints of audit logs.
    pub fn checkpoints(&self) -> Arc<CheckpointKeys> {
        Arc::clone(&self.current().checkpoints)
    }

    /// Returns the keys that webhook secrets are derived from.
    pub fn webhooks(&self) -> Arc<webhooks::SecretKeys> {
        Arc::clone(&self.current().webhooks)
    }

    /// Returns the keys for step-up tokens.
    pub fn newest_step_ups(&self) -> StepUpKeys {
        StepUpKeys(self.current())
    }

    /// Returns the keys for step-up tokens, reloaded if `token` names an unknown key.
    pub(crate) fn step_ups(&self, token: &str) -> StepUpKeys {
        if !token.split('.').nth(1).is_some_and(|key| self.current().step_ups.knows(key)) {
            // Another instance may have loaded a new key slightly earlier.
            self.refresh();
        }
        self.newest_step_ups()
    }

    /// Signs a challenge that the client keeps: `key.text.signature`.
    pub fn seal_challenge(&self, challenge: &[u8]) -> Option<String> {
        seal_text(&self.current().challenges, challenge)
    }

    /// Verifies a challenge with any known key and returns it.
    pub fn open_challenge(&self, sealed: &str) -> Option<Vec<u8>> {
        self.open_text(sealed, |current| &current.challenges)
    }

    /// Signs a challenge or cookie of a device bound session: `key.text.signature`.
    pub(crate) fn seal_device(&self, text: &[u8]) -> Option<String> {
        seal_text(&self.current().devices, text)
    }

    /// Verifies a challenge or cookie of a device bound session with any known key and returns it.
    pub(crate) fn open_device(&self, sealed: &str) -> Option<Vec<u8>> {
        self.open_text(sealed, |current| &current.devices)
    }

    /// Signs the name of a browser's session for a cookie: `key.text.signature`.
    pub(crate) fn seal_previous(&self, text: &[u8]) -> Option<String> {
        seal_text(&self.current().previous_sessions, text)
    }

    /// Verifies the name of a browser's session with any known key and returns it.
    pub(crate) fn open_previous(&self, sealed: &str) -> Option<Vec<u8>> {
        self.open_text(sealed, |current| &current.previous_sessions)
    }

    /// Creates a session cookie, sealed with the newest secret.
    pub(crate) fn mint_cookie(
        &self,
        env: &dyn Env,
        name: CookieName,
        claims: Map<String, Value>,
        max_age: i64,
    ) -> Option<String> {
        self.current().cookies.mint(env, name, claims, max_age)
    }

    /// Reads the claims of the session cookie among these cookies.
    pub(crate) fn read_cookie(
        &self,
        env: &dyn Env,
        preferred: CookieName,
        cookies: &[(&str, &str)],
    ) -> Result<Option<Claims>, NotASession> {
        let read = self.current().cookies.read(env, preferred, cookies);
        if read.is_err() {
            // Another instance may have loaded a new secret slightly earlier.
            self.refresh();
            return self.current().cookies.read(env, preferred, cookies);
        }
        read
    }
}

impl TotpKeys for Keys {
    fn seal_totp(&self, env: &dyn Env, place: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
        self.current().totp.seal(env, place, secret)
    }

    fn open_totp(&self, place: &[u8], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
        self.open_secret(place, sealed, |current| &current.totp)
    }
}

fn proof_of(tenant: &TenantId, domain: &EmailDomain) -> Vec<u8> {
    [tenant.as_str(), domain.as_str()].join("\0").into_bytes()
}

#[cfg(test)]
mod tests {
    use kernel::{Id, MasterKeys, Tenant};

    use super::{super::tests::masters, *};

    #[test]
    fn private_key_opens_only_for_its_provider_and_survives_a_rotation() {
        let env = SystemEnv::default();
        let tenant = Id::<Tenant>::new(&env);
        let [ours, other] = [ProviderId::new(&env, &tenant), ProviderId::new(&env, &tenant)];
        let sealed =
            Keys::fixed(&masters(&[("a", 1)]), &[]).saml().seal(&ours, &Secret::new(vec![5; 40])).unwrap();
        let rotated = Keys::fixed(&masters(&[("b", 2), ("a", 1)]), &[]).saml();
        assert_eq!(rotated.open(&ours, &sealed).unwrap().expose(), &vec![5; 40]);
        assert!(rotated.open(&other, &sealed).is_err() && rotated.open(&ours, "").is_err());
        assert!(Keys::fixed(&masters(&[("b", 2)]), &[]).saml().open(&ours, &sealed).is_err());
        assert!(Keys::fixed(&MasterKeys::none(), &[]).saml().seal(&ours, &Secret::new(vec![5])).is_err());
    }

    #[test]
    fn secret_of_a_log_stream_belongs_to_it() {
        let (env, secret) = (SystemEnv::default(), Secret::new("token".to_owned()));
        let (ours, other) = (LogStreamId::new(&env), LogStreamId::new(&env));
        let sealed = Keys::fixed(&masters(&[("a", 1)]), &[]).log_streams().seal(&ours, &secret).unwrap();
        let rotated = Keys::fixed(&masters(&[("b", 2), ("a", 1)]), &[]).log_streams();
        assert_eq!(rotated.open(&ours, &sealed).unwrap().expose(), "token");
        assert!(rotated.open(&other, &sealed).is_err());
        assert!(Keys::fixed(&masters(&[("b", 2)]), &[]).log_streams().open(&ours, &sealed).is_err());
    }

    #[test]
    fn domain_token_belongs_to_one_tenant_and_any_key_verifies_it() {
        let env = SystemEnv::default();
        let [ours, theirs] = [Id::<Tenant>::new(&env), Id::<Tenant>::new(&env)];
        let domain: EmailDomain = "corp.example".parse().unwrap();
        let token = Keys::fixed(&masters(&[("a", 1)]), &[]).domain_token(&ours, &domain).unwrap();
        assert_eq!((token.len(), &token), (52, &token.to_ascii_lowercase()));
        let rotated = Keys::fixed(&masters(&[("b", 2), ("a", 1)]), &[]);
        assert!(rotated.is_domain_token(&ours, &domain, &token));
        assert!(rotated.is_domain_token(&ours, &domain, &token.to_ascii_uppercase()));
        assert!(!rotated.is_domain_token(&theirs, &domain, &token));
        assert!(!rotated.is_domain_token(&ours, &"other.example".parse().unwrap(), &token));
        let retired = Keys::fixed(&masters(&[("b", 2)]), &[]);
        for odd in [token.as_str(), "", "x", &token[1..], &format!("{token}a"), "é"] {
            assert!(!retired.is_domain_token(&ours, &domain, odd), "{odd}");
        }
    }
}
