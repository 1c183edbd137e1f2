//! Keys as operators store them: as text, newest first, separated by commas.

use data_encoding::{BASE64, HEXLOWER};
use kernel::{Env, Id, Kind};
use ring::digest::{SHA256, digest};

/// Size of a new secret of session cookies in bytes.
const AUTH_BYTES: usize = 48;
/// Size of a new master key in bytes.
const MASTER_BYTES: usize = 32;

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Secrets of session cookies.
    AuthSecret,
    /// Master keys, `id:key`.
    MasterKey,
}

/// A change of a list of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyChange {
    /// Adds a key that signs from now on.
    Rotate,
    /// Adds a key that only verifies.
    Prepare,
    /// Signs with the key that [`KeyChange::Prepare`] added.
    Promote,
    /// Removes the oldest key.
    Retire,
}

/// There is no second key to promote, or that could remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("has only one key")]
pub struct OnlyKey;

/// Marks key IDs.
enum Key {}
impl Kind for Key {
    const PREFIX: &'static str = "key";
}

impl KeyKind {
    /// Generates a secret in base64. A master key has no ID, which counts as `1`.
    pub fn generate(self, env: &dyn Env) -> String {
        let length = match self {
            Self::AuthSecret => AUTH_BYTES,
            Self::MasterKey => MASTER_BYTES,
        };
        let mut bytes = vec![0; length];
        env.fill(&mut bytes);
        BASE64.encode(&bytes)
    }

    /// Generates a key for a list of several.
    fn next(self, env: &dyn Env) -> String {
        match self {
            Self::AuthSecret => self.generate(env),
            Self::MasterKey => format!("{}:{}", Id::<Key>::new(env).key(), self.generate(env)),
        }
    }

    /// Returns a name for the key that does not reveal it.
    fn label(self, key: &str) -> String {
        match self {
            Self::AuthSecret => {
                HEXLOWER.encode(digest(&SHA256, key.as_bytes()).as_ref().get(..4).unwrap_or_default())
            }
            Self::MasterKey => key.split_once(':').map_or("1", |(id, _)| id).to_owned(),
        }
    }
}

/// Keys of one kind, newest first. The first signs, all verify.
pub struct KeyRing {
    kind: KeyKind,
    keys: Vec<String>,
}

impl KeyRing {
    /// Splits the stored text.
    pub fn new(kind: KeyKind, text: &str) -> Self {
        // A key without an ID has the ID 1, which is written once there are several keys.
        let named = |key: &str| match key.trim() {
            key if kind == KeyKind::MasterKey && !key.contains(':') => format!("1:{key}"),
            key => key.to_owned(),
        };
        Self { kind, keys: text.split(',').map(named).collect() }
    }

    /// Returns the text to store, which contains the secrets.
    pub fn text(&self) -> String {
        self.keys.join(",")
    }

    /// Returns a name for each key that does not reveal it.
    pub fn labels(&self) -> Vec<String> {
        self.keys.iter().map(|key| self.kind.label(key)).collect()
    }

    /// Applies a change.
    pub fn change(&mut self, change: KeyChange, env: &dyn Env) -> Result<(), OnlyKey> {
        match change {
            KeyChange::Rotate => self.keys.insert(0, self.kind.next(env)),
            KeyChange::Prepare => self.keys.push(self.kind.next(env)),
            KeyChange::Promote | KeyChange::Retire if self.keys.len() < 2 => return Err(OnlyKey),
            KeyChange::Promote => self.keys.rotate_right(1),
            KeyChange::Retire => {
                self.keys.pop();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{MasterKeys, SystemEnv};

    #[test]
    fn key_is_prepared_promoted_and_the_old_one_retired() {
        let env = SystemEnv::default();
        let mut ring = KeyRing::new(KeyKind::MasterKey, &KeyKind::MasterKey.generate(&env));
        assert_eq!(ring.labels(), ["1"]);
        for change in [KeyChange::Promote, KeyChange::Retire] {
            assert_eq!(ring.change(change, &env), Err(OnlyKey));
        }
        ring.change(KeyChange::Prepare, &env).unwrap();
        let new = ring.labels().pop().unwrap();
        assert_eq!(ring.labels(), ["1", &new]);
        ring.change(KeyChange::Promote, &env).unwrap();
        assert_eq!(ring.labels(), [&new, "1"]);
        assert!(ring.text().parse::<MasterKeys>().is_ok());
        ring.change(KeyChange::Retire, &env).unwrap();
        assert_eq!(ring.labels(), [new]);
        ring.change(KeyChange::Rotate, &env).unwrap();
        assert_eq!(ring.labels().len(), 2);
    }

    #[test]
    fn labels_of_secrets_do_not_reveal_them() {
        let ring = KeyRing::new(KeyKind::AuthSecret, "one, other");
        assert_eq!(ring.text(), "one,other");
        assert_eq!(ring.labels(), ["7692c3ad", "d9298a10"].map(str::to_owned));
    }
}
