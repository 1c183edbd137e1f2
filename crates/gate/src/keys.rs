//! The keys of this installation, reloaded when their files change.

use std::{
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use audit::{EntryKeys, log::CheckpointKeys};
use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use kernel::{Env, MasterKeys, SealingKeys, Secret, SigningKeys, SystemEnv, TenantId, Timestamp};
use log_streams::{LogStreamId, SealSecret, SecretError};
use ring::digest::{Context, SHA256};
use saml_sp::{EmailDomain, KeyError, ProviderId, SealKey};
use serde_json::{Map, Value};
use sessions::{Claims, CookieKeys, CookieName, CookieSecret, NotASession};
use sign_in::{SetupKeys, TotpKeys};

/// The keys for signing, sealing and verifying.
pub struct Keys {
    current: RwLock<Arc<Current>>,
    /// The keys for the MACs of audit entries, shared with the store.
    entries: EntryKeys,
    /// `None` if the keys cannot change in this process.
    watched: Option<Mutex<WatchedKeys>>,
}

struct Current {
    ids: Vec<String>,
    /// Digest of the keys themselves, because a key may be replaced under the same id.
    digest: Vec<u8>,
    cursors: SigningKeys,
    challenges: SigningKeys,
    devices: SigningKeys,
    previous_sessions: SigningKeys,
    step_ups: SigningKeys,
    totp: SealingKeys,
    saml: SealingKeys,
    log_streams: SealingKeys,
    signals: SealingKeys,
    domains: SigningKeys,
    setups: SetupKeys,
    cookies: CookieKeys,
    checkpoints: Arc<CheckpointKeys>,
    entries: EntryKeys,
    webhooks: Arc<webhooks::SecretKeys>,
}

struct WatchedKeys {
    source: Box<dyn KeySource>,
    checked_at: Option<Instant>,
    problem: Option<String>,
}

/// A source of keys that may change while the server runs.
pub trait KeySource: Send {
    /// Returns the keys if they have changed since the last call. Unreadable keys count as changed at the next call.
    fn changed(&mut self) -> Option<Result<NewKeys, String>>;
}

/// Loaded keys.
pub struct NewKeys {
    /// Master keys, newest first.
    pub masters: MasterKeys,
    /// Secrets of session cookies, newest first.
    pub auth: Vec<CookieSecret>,
}

/// Minimum interval between checks of the source, slightly less than the interval of the refresh worker.
const EVERY: Duration = Duration::from_millis(900);

impl Keys {
    /// Creates keys that never change.
    pub fn fixed(masters: &MasterKeys, auth: &[CookieSecret]) -> Self {
        let current = Current::derive(masters, auth);
        let entries = EntryKeys::none();
        entries.adopt(&current.entries);
        Self { current: RwLock::new(Arc::new(current)), entries, watched: None }
    }

    /// Creates keys that are updated from a source.
    pub fn watched(keys: &NewKeys, source: Box<dyn KeySource>) -> Self {
        let watched = WatchedKeys { source, checked_at: None, problem: None };
        Self { watched: Some(Mutex::new(watched)), ..Self::fixed(&keys.masters, &keys.auth) }
    }

    /// Checks the source for changes, at most once per [`EVERY`]. Unusable keys are logged and retried, and the
    /// current keys stay in use.
    pub(crate) fn refresh(&self) {
        let Some(watched) = &self.watched else { return };
        // Concurrent callers wait for the result.
        let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.checked_at.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        watched.checked_at = Some(Instant::now());
        match watched.source.changed() {
            None => {}
            Some(Ok(keys)) => {
                watched.problem = None;
                self.adopt(Current::derive(&keys.masters, &keys.auth));
            }
            Some(Err(problem)) if watched.problem.as_ref() == Some(&problem) => {}
            Some(Err(problem)) => {
                tracing::error!(problem, "cannot load the changed keys; the previous keys stay in use");
                watched.problem = Some(problem);
            }
        }
    }

    fn adopt(&self, current: Current) {
        if current.digest == self.current().digest {
            return;
        }
        tracing::info!(newest = current.ids.first(), keys = current.ids.len(), "keys reloaded");
        self.entries.adopt(&current.entries);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(current);
    }

    fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Signs a cursor so that only this tenant can use it: `key.cursor.signature`.
    pub fn seal_cursor(&self, tenant: &TenantId, cursor: &str) -> Option<String> {
        let current = self.current();
        let signed = current.cursors.sign(&cursor_of(tenant, cursor))?;
        Some(format!("{}.{cursor}.{}", signed.key, BASE64URL_NOPAD.encode(&signed.tag)))
    }

    /// Verifies a cursor of this tenant with any known key.
    pub fn open_cursor<'c>(&self, tenant: &TenantId, sealed: &'c str) -> Option<&'c str> {
        let (key, rest) = sealed.split_once('.')?;
        let (cursor, tag) = rest.rsplit_once('.')?;
        let tag = BASE64URL_NOPAD.decode(tag.as_bytes()).ok()?;
        if !self.current().cursors.knows(key) {
            // Another instance may have loaded a new key slightly earlier.
            self.refresh();
        }
        self.current().cursors.verify(key, &cursor_of(tenant, cursor), &tag).then_some(cursor)
    }
}

/// The current keys for step-up tokens.
pub struct StepUpKeys(Arc<Current>);

impl std::ops::Deref for StepUpKeys {
    type Target = SigningKeys;

    fn deref(&self) -> &SigningKeys {
        &self.0.step_ups
    }
}

/// The current keys that seal private keys of identity provider connections.
pub struct ProviderKeys(Arc<Current>);

fn seal_context(provider: &ProviderId) -> Vec<u8> {
    ["saml key", provider.as_str()].join("\0").into_bytes()
}

impl SealKey for ProviderKeys {
    fn seal(&self, provider: &ProviderId, private: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        let sealed = self.0.saml.seal(&SystemEnv::default(), &seal_context(provider), private.expose());
        Ok(BASE64URL_NOPAD.encode(&sealed.ok_or(KeyError("encrypted: there is no master key"))?))
    }

    fn open(&self, provider: &ProviderId, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok();
        let opened = bytes.and_then(|bytes| self.0.saml.open(&seal_context(provider), &bytes));
        opened.ok_or(KeyError("decrypted: the master key that encrypted it is missing"))
    }
}

/// The current keys that seal secrets of log streams.
pub struct LogStreamKeys(Arc<Current>);

impl SealSecret for LogStreamKeys {
    fn seal(&self, stream: &LogStreamId, secret: &Secret<String>) -> Result<String, SecretError> {
        let place = stream.as_str().as_bytes();
        let sealed = self.0.log_streams.seal(&SystemEnv::default(), place, secret.expose().as_bytes());
        let sealed = sealed.ok_or(SecretError("encrypted: there is no master key"))?;
        Ok(BASE64URL_NOPAD.encode(&sealed))
    }

    fn open(&self, stream: &LogStreamId, sealed: &str) -> Result<Secret<String>, SecretError> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok();
        let opened = bytes.and_then(|bytes| self.0.log_streams.open(stream.as_str().as_bytes(), &bytes));
        let opened = opened.and_then(|secret| String::from_utf8(secret.expose().clone()).ok());
        opened.map(Secret::new).ok_or(SecretError("decrypted: the master key that encrypted it is missing"))
    }
}

/// The current keys that seal private keys and headers of shared signals.
pub struct SignalKeys(Arc<Current>);

impl signals::SealSecret for SignalKeys {
    fn seal(&self, place: &str, secret: &Secret<Vec<u8>>) -> Result<String, signals::KeyError> {
        let sealed = self.0.signals.seal(&SystemEnv::default(), place.as_bytes(), secret.expose());
        let sealed = sealed.ok_or(signals::KeyError("encrypted: there is no master key"))?;
        Ok(BASE64URL_NOPAD.encode(&sealed))
    }

    fn open(&self, place: &str, sealed: &str) -> Result<Secret<Vec<u8>>, signals::KeyError> {
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok();
        let opened = bytes.and_then(|bytes| self.0.signals.open(place.as_bytes(), &bytes));
        opened.ok_or(signals::KeyError("decrypted: the master key that encrypted it is missing"))
    }
}

impl Keys {
    /// Returns the keys that seal private keys and headers of shared signals.
    pub fn signals(&self) -> SignalKeys {
        SignalKeys(self.current())
    }

    /// Returns the keys that seal secrets of log streams.
    pub fn log_streams(&self) -> LogStreamKeys {
        LogStreamKeys(self.current())
    }

    /// Returns the keys that seal private keys of identity provider connections.
    pub fn saml(&self) -> ProviderKeys {
        ProviderKeys(self.current())
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

    fn open_text(&self, sealed: &str, keys: impl Fn(&Current) -> &SigningKeys) -> Option<Vec<u8>> {
        let mut parts = sealed.split('.');
        let (key, text, tag) = (parts.next()?, parts.next()?, parts.next()?);
        let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).ok();
        let (text, tag) = (bytes(text)?, bytes(tag)?);
        if parts.next().is_some() {
            return None;
        }
        if !keys(&self.current()).knows(key) {
            // Another instance may have loaded a new key slightly earlier.
            self.refresh();
        }
        keys(&self.current()).verify(key, &text, &tag).then_some(text)
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

/// Returns `key.text.signature`, signed with the newest key.
fn seal_text(keys: &SigningKeys, text: &[u8]) -> Option<String> {
    let signed = keys.sign(text)?;
    let [text, tag] = [text, &signed.tag].map(|part| BASE64URL_NOPAD.encode(part));
    Some(format!("{}.{text}.{tag}", signed.key))
}

fn proof_of(tenant: &TenantId, domain: &EmailDomain) -> Vec<u8> {
    [tenant.as_str(), domain.as_str()].join("\0").into_bytes()
}

fn cursor_of(tenant: &TenantId, cursor: &str) -> Vec<u8> {
    [tenant.as_str(), cursor].join("\0").into_bytes()
}

impl Current {
    fn derive(masters: &MasterKeys, auth: &[CookieSecret]) -> Self {
        let ids = masters.iter().map(|(id, _)| id.to_owned()).collect();
        let mut digest = Context::new(&SHA256);
        for (id, key) in masters.iter() {
            digest.update(id.as_bytes());
            digest.update(key.expose());
        }
        for secret in auth {
            digest.update(secret.expose().as_bytes());
            digest.update(b",");
        }
        Self {
            ids,
            digest: digest.finish().as_ref().to_vec(),
            cursors: SigningKeys::derive(masters, "cursor"),
            step_ups: SigningKeys::derive(masters, "step-up"),
            challenges: SigningKeys::derive(masters, "challenge"),
            devices: SigningKeys::derive(masters, "device"),
            previous_sessions: SigningKeys::derive(masters, "previous session"),
            totp: SealingKeys::derive(masters, "totp"),
            saml: SealingKeys::derive(masters, "saml"),
            log_streams: SealingKeys::derive(masters, "log stream"),
            signals: SealingKeys::derive(masters, "shared signals"),
            domains: SigningKeys::derive(masters, "domain"),
            setups: SetupKeys::derive(masters),
            cookies: CookieKeys::new(auth),
            checkpoints: Arc::new(CheckpointKeys::derive(masters)),
            entries: EntryKeys::derive(masters),
            webhooks: Arc::new(webhooks::SecretKeys::new(masters)),
        }
    }
}

impl TotpKeys for Keys {
    fn seal_totp(&self, env: &dyn Env, place: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
        self.current().totp.seal(env, place, secret)
    }

    fn open_totp(&self, place: &[u8], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
        self.current().totp.open(place, sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{Id, SystemEnv, Tenant};

    fn masters(keys: &[(&str, u8)]) -> MasterKeys {
        let keys = keys.iter().map(|(id, byte)| ((*id).to_owned(), Secret::new(vec![*byte; 32])));
        MasterKeys::new(keys.collect()).unwrap()
    }

    #[test]
    fn cursor_belongs_to_one_tenant_and_survives_a_rotation() {
        let env = SystemEnv::default();
        let [ours, theirs] = [Id::<Tenant>::new(&env), Id::<Tenant>::new(&env)];
        let sealed = Keys::fixed(&masters(&[("a", 1)]), &[]).seal_cursor(&ours, "x").unwrap();
        let rotated = Keys::fixed(&masters(&[("b", 2), ("a", 1)]), &[]);
        assert_eq!(rotated.open_cursor(&ours, &sealed), Some("x"));
        assert_eq!(rotated.open_cursor(&theirs, &sealed), None);
        assert!(rotated.seal_cursor(&ours, "x").unwrap().starts_with("b.x."));
        let retired = Keys::fixed(&masters(&[("b", 2)]), &[]);
        for odd in [sealed.as_str(), "", "x", "b.x", "b.x.", "b..", "b.x.AAAA", &sealed.replace("a.x", "a.y")]
        {
            assert_eq!(retired.open_cursor(&ours, odd), None, "{odd}");
        }
    }

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

    struct OneChange(Option<NewKeys>);

    impl KeySource for OneChange {
        fn changed(&mut self) -> Option<Result<NewKeys, String>> {
            self.0.take().map(Ok)
        }
    }

    #[test]
    fn rotation_does_not_change_the_keys_of_a_batch() {
        let new = |keys: &[(&str, u8)]| NewKeys { masters: masters(keys), auth: Vec::new() };
        let source = Box::new(OneChange(Some(new(&[("b", 2)]))));
        let keys = Keys::watched(&new(&[("a", 1)]), source);
        let (checkpoints, entries) = keys.sealing_keys();
        keys.refresh();
        let mac = keys.entry_keys().sign("ten_1", "aud_1", &[7; 32]).unwrap();
        let is_known = entries.verify("ten_1", "aud_1", &[7; 32], Some(&mac)).is_ok();
        assert!(!is_known, "the batch must not seal it");
        let (later, entries) = keys.sealing_keys();
        assert!(entries.verify("ten_1", "aud_1", &[7; 32], Some(&mac)).is_ok());
        assert_ne!(checkpoints.of("ten_1"), later.of("ten_1"));
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
