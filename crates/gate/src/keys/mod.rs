//! The keys of this installation, reloaded when their files change.

mod areas;

use std::{
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, Instant},
};

use audit::{EntryKeys, log::CheckpointKeys};
use data_encoding::BASE64URL_NOPAD;
use kernel::{MasterKeys, SealingKeys, Secret, SigningKeys, TenantId};
use ring::digest::{Context, SHA256};
use sessions::{CookieKeys, CookieSecret};
use sign_in::SetupKeys;

pub use areas::{LogStreamKeys, ProviderKeys, SignalKeys, StepUpKeys};

/// The keys for signing, sealing and verifying. Clones share them.
#[derive(Clone)]
pub struct Keys {
    current: Arc<RwLock<Arc<Current>>>,
    /// The keys for the MACs of audit entries, shared with the store.
    entries: EntryKeys,
    /// `None` if the keys cannot change in this process.
    watched: Option<Arc<Mutex<WatchedKeys>>>,
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

/// Interval between checks for the key of a stored secret. Clients can ask for one that does not exist.
const AT_MOST_EVERY: Duration = Duration::from_millis(100);

impl Keys {
    /// Creates keys that never change.
    pub fn fixed(masters: &MasterKeys, auth: &[CookieSecret]) -> Self {
        let current = Current::derive(masters, auth);
        let entries = EntryKeys::none();
        entries.adopt(&current.entries);
        Self { current: Arc::new(RwLock::new(Arc::new(current))), entries, watched: None }
    }

    /// Creates keys that are updated from a source.
    pub fn watched(keys: &NewKeys, source: Box<dyn KeySource>) -> Self {
        let watched = WatchedKeys { source, checked_at: None, problem: None };
        Self { watched: Some(Arc::new(Mutex::new(watched))), ..Self::fixed(&keys.masters, &keys.auth) }
    }

    /// Checks the source for changes, at most once per [`EVERY`]. Unusable keys are logged and retried, and the
    /// current keys stay in use.
    pub(crate) fn refresh(&self) {
        self.refresh_after(EVERY);
    }

    /// As [`Self::refresh`], at most once per `pause`.
    fn refresh_after(&self, pause: Duration) {
        let Some(watched) = &self.watched else { return };
        // Concurrent callers wait for the result.
        let mut watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.checked_at.is_some_and(|at| at.elapsed() < pause) {
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

    /// Verifies `key.text.signature` with any known key and returns the text.
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
}

impl Keys {
    /// Decrypts with any known key.
    fn open_secret(
        &self,
        place: &[u8],
        sealed: &[u8],
        keys: impl Fn(&Current) -> &SealingKeys,
    ) -> Option<Secret<Vec<u8>>> {
        if !keys(&self.current()).knows_key_of(sealed) {
            // Another instance, or a command, may have used a new key slightly earlier.
            self.refresh_after(AT_MOST_EVERY);
        }
        keys(&self.current()).open(place, sealed)
    }
}

/// Returns `key.text.signature`, signed with the newest key.
fn seal_text(keys: &SigningKeys, text: &[u8]) -> Option<String> {
    let signed = keys.sign(text)?;
    let [text, tag] = [text, &signed.tag].map(|part| BASE64URL_NOPAD.encode(part));
    Some(format!("{}.{text}.{tag}", signed.key))
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

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{Id, SystemEnv, Tenant};
    use sign_in::TotpKeys;

    pub(super) fn masters(keys: &[(&str, u8)]) -> MasterKeys {
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

    fn new(keys: &[(&str, u8)]) -> NewKeys {
        NewKeys { masters: masters(keys), auth: Vec::new() }
    }

    struct OneChange(Option<NewKeys>);

    impl KeySource for OneChange {
        fn changed(&mut self) -> Option<Result<NewKeys, String>> {
            self.0.take().map(Ok)
        }
    }

    #[test]
    fn secret_of_a_key_that_is_not_loaded_yet_is_decrypted() {
        let sealed = Keys::fixed(&masters(&[("b", 2)]), &[]);
        let sealed = sealed.seal_totp(&SystemEnv::default(), b"here", b"secret").unwrap();
        let source = Box::new(OneChange(Some(new(&[("b", 2), ("a", 1)]))));
        let keys = Keys::watched(&new(&[("a", 1)]), source);
        assert_eq!(keys.open_totp(b"here", &sealed).unwrap().expose(), b"secret");
    }

    #[test]
    fn rotation_does_not_change_the_keys_of_a_batch() {
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
}
