//! Password hashes: argon2id (RFC 9106), computed once for all accounts of a sign-in address.
//!
//! An address may have accounts in several tenants, and a sign-in that names no tenant is compared with all of them.
//! The accounts of an address therefore share a [`Salt`]: argon2id is computed once, and each tenant stores an HMAC
//! of its id under the result. Equal passwords in two tenants have different stored values. The time of a comparison
//! reveals neither whether an address has an account nor how many, as long as all hashes of the address have the shared
//! salt and the same cost. Two kinds of hashes add one run of argon2id each:
//!
//! - hashes in the older form, which have a salt of their own: at most `MAX_OWN_SALTS` of them are compared;
//! - hashes with another cost: one run per cost.

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{
        PasswordVerifier,
        phc::{self, PasswordHash},
    },
};
use kernel::{Env, Secret, TenantId};
use ring::{digest, hmac};
use unicode_normalization::UnicodeNormalization;

/// Maximum number of bytes of a password.
pub(crate) const MAX_BYTES: usize = 1024;
/// Length of argon2id's output in bytes.
const KEY: usize = 32;
/// The algorithm name of the stored form.
const FORM: &str = "argon2id-tenant";
/// Maximum number of hashes in the older form, each with its own salt, that one comparison computes.
const MAX_OWN_SALTS: usize = 4;

/// The cost parameters of argon2id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Number of passes.
    pub passes: u32,
    /// Degree of parallelism (`p`).
    pub lanes: u32,
}

impl Cost {
    /// 19 MiB, two passes, one lane: OWASP's first recommendation.
    pub const USUAL: Self = Self { memory_kib: 19 * 1024, passes: 2, lanes: 1 };
    /// For tests that do not measure cost.
    pub const CHEAP: Self = Self { memory_kib: 64, passes: 1, lanes: 1 };

    fn params(self) -> Result<Params, PasswordError> {
        Params::new(self.memory_kib, self.passes, self.lanes, None).map_err(|_| PasswordError)
    }
}

/// The salt that the accounts of one sign-in address share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salt([u8; 16]);

impl Salt {
    /// Creates a random salt.
    pub fn random(env: &dyn Env) -> Self {
        let mut salt = [0; 16];
        env.fill(&mut salt);
        Self(salt)
    }

    /// Reads a stored salt; `None` unless it has 16 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the 16 bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the key under which the salt of a sign-in address ([`kernel::Email::key`]) is stored: its SHA-256, so
    /// that the table does not contain the address.
    pub fn address(email_key: &str) -> [u8; 32] {
        let mut hash = [0; 32];
        let text = ["password salt", email_key].join("\0");
        hash.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        hash
    }
}

/// A stored password, and the tenant of its account.
#[derive(Debug, Clone)]
pub struct StoredPassword {
    /// Tenant of the account.
    pub tenant: TenantId,
    /// The output of [`Passwords::hash`].
    pub hash: String,
}

/// Hashes and verifies passwords with given cost parameters.
#[derive(Debug, Clone, Copy)]
pub struct Passwords {
    cost: Cost,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The password is wrong, or none is stored.
    Wrong,
    /// The password is correct.
    Right {
        /// Whether the hash has another cost, another salt or the older form, and should be replaced.
        stale: bool,
    },
}

/// The library refused the cost parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("argon2id refused the cost parameters")]
pub struct PasswordError;

/// A parsed password hash.
enum Form {
    /// The shared form, computed once for all accounts with these parameters and this salt.
    Shared { params: Params, salt: Salt, mac: Vec<u8> },
    /// The older form with its own salt, from before salts were shared.
    Own(PasswordHash),
}

impl Form {
    fn read(text: &str) -> Option<Self> {
        let read = PasswordHash::new(text).ok()?;
        if read.algorithm.as_str() != FORM {
            return Some(Self::Own(read));
        }
        Some(Self::Shared {
            params: Params::try_from(&read).ok()?,
            salt: Salt::from_bytes(read.salt?.as_ref())?,
            mac: read.hash?.as_bytes().to_vec(),
        })
    }
}

impl Passwords {
    /// Uses `cost` for new hashes.
    pub fn new(cost: Cost) -> Self {
        Self { cost }
    }

    /// Returns the stored form of a password in a tenant. This is slow by design; run it on a thread for blocking
    /// work.
    ///
    /// # Errors
    /// If argon2id refuses the cost parameters.
    pub fn hash(
        self,
        password: &Secret<String>,
        salt: &Salt,
        tenant: &TenantId,
    ) -> Result<String, PasswordError> {
        let params = self.cost.params()?;
        let key = derive(&params, salt, password.expose())?;
        let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.expose()), tenant.as_str().as_bytes());
        let error = |_| PasswordError;
        let stored = PasswordHash {
            algorithm: phc::Ident::new(FORM).map_err(error)?,
            version: Some(Version::V0x13.into()),
            params: (&params).try_into().map_err(|_| PasswordError)?,
            salt: Some(phc::Salt::new(salt.as_bytes()).map_err(error)?),
            hash: Some(phc::Output::new(mac.as_ref()).map_err(error)?),
        };
        Ok(stored.to_string())
    }

    /// Compares a password with the stored ones of a sign-in address with this salt. Returns a verdict for each.
    ///
    /// In the shared form, the time does not depend on how many there are, or whether there is any. An account whose
    /// password was set under another address has another salt. It is compared only if it is the only one, that is,
    /// if the sign-in names its tenant.
    pub fn verify(
        self,
        password: &Secret<String>,
        salt: Option<&Salt>,
        stored: &[StoredPassword],
    ) -> Vec<Verdict> {
        let too_long = password.expose().len() > MAX_BYTES;
        let password = if too_long { "" } else { password.expose() };
        let mut keys = Keys { password, known: Vec::new() };
        let mut own_salts = 0;
        let is_only = stored.len() == 1;
        let mut verdicts = Vec::with_capacity(stored.len());
        for StoredPassword { tenant, hash } in stored {
            let right = match Form::read(hash) {
                Some(Form::Shared { params, salt: own, mac }) if is_only || salt == Some(&own) => {
                    let stale = self.is_stale(&params) || salt.is_some_and(|salt| *salt != own);
                    keys.verify(&params, &own, tenant, &mac).then_some(stale)
                }
                Some(Form::Own(hash)) if own_salts < MAX_OWN_SALTS => {
                    own_salts += 1;
                    let normal = normalized_password(password);
                    let bytes = normal.expose().as_bytes();
                    Argon2::default().verify_password(bytes, &hash).is_ok().then_some(true)
                }
                _ => None,
            };
            verdicts.push(match right {
                Some(stale) if !too_long => Verdict::Right { stale },
                _ => Verdict::Wrong,
            });
        }
        if keys.known.is_empty()
            && own_salts == 0
            && let Ok(params) = self.cost.params()
        {
            // Without anything to compare, take the same time.
            let _discarded = derive(&params, &Salt([0; 16]), password);
        }
        verdicts
    }

    fn is_stale(self, params: &Params) -> bool {
        let of = |params: &Params| (params.m_cost(), params.t_cost(), params.p_cost());
        self.cost.params().map(|today| of(&today)) != Ok(of(params))
    }
}

/// Results of argon2id for one password, by parameters and salt.
struct Keys<'p> {
    password: &'p str,
    known: Vec<(Params, Salt, Key)>,
}

/// The output of argon2id; `None` if it refuses the parameters.
type Key = Option<Secret<Vec<u8>>>;

impl Keys<'_> {
    fn verify(&mut self, params: &Params, salt: &Salt, tenant: &TenantId, mac: &[u8]) -> bool {
        if !self.known.iter().any(|(known, of, _)| known == params && of == salt) {
            let key = derive(params, salt, self.password).ok();
            self.known.push((params.clone(), *salt, key));
        }
        let known = self.known.iter().find(|(known, of, _)| known == params && of == salt);
        let Some((_, _, Some(key))) = known else { return false };
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.expose());
        hmac::verify(&key, tenant.as_str().as_bytes(), mac).is_ok()
    }
}

fn derive(params: &Params, salt: &Salt, password: &str) -> Result<Secret<Vec<u8>>, PasswordError> {
    let normal = normalized_password(password);
    let mut key = vec![0; KEY];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    argon2
        .hash_password_into(normal.expose().as_bytes(), salt.as_bytes(), &mut key)
        .map_err(|_| PasswordError)?;
    Ok(Secret::new(key))
}

/// Normalizes a password to NFKC, because keyboards encode the same characters differently.
pub fn normalized_password(password: &str) -> Secret<String> {
    Secret::new(password.nfkc().collect())
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    fn env() -> ManualEnv {
        ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap())
    }

    fn said(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    fn cheap() -> Passwords {
        Passwords::new(Cost::CHEAP)
    }

    fn stored(env: &ManualEnv, password: &str, salt: &Salt) -> StoredPassword {
        let tenant = TenantId::new(env);
        let hash = cheap().hash(&said(password), salt, &tenant).unwrap();
        StoredPassword { tenant, hash }
    }

    #[test]
    fn hash_verifies_only_its_password_and_tenant() {
        let env = env();
        let salt = Salt::random(&env);
        let kept = stored(&env, "correct horse battery", &salt);
        assert!(kept.hash.starts_with("$argon2id-tenant$v=19$m=64,t=1,p=1$"), "{}", kept.hash);
        let other = stored(&env, "correct horse battery", &salt);
        assert_ne!(kept.hash, other.hash, "each tenant stores a different value");
        let verify = |text: &str, kept: &StoredPassword| {
            cheap().verify(&said(text), Some(&salt), std::slice::from_ref(kept))
        };
        assert_eq!(verify("correct horse battery", &kept), [Verdict::Right { stale: false }]);
        for wrong in ["correct horse batterx", "", "correct horse battery "] {
            assert_eq!(verify(wrong, &kept), [Verdict::Wrong]);
        }
        let moved = StoredPassword { tenant: other.tenant, hash: kept.hash.clone() };
        assert_eq!(
            verify("correct horse battery", &moved),
            [Verdict::Wrong],
            "the hash is bound to its tenant"
        );
        let broken = StoredPassword { tenant: kept.tenant.clone(), hash: "not a hash".into() };
        assert_eq!(verify("x", &broken), [Verdict::Wrong]);
        assert_eq!(verify(&"x".repeat(MAX_BYTES + 1), &kept), [Verdict::Wrong]);
        let dearer = Passwords::new(Cost { passes: 2, ..Cost::CHEAP });
        let verdict = dearer.verify(&said("correct horse battery"), Some(&salt), &[kept]);
        assert_eq!(verdict, [Verdict::Right { stale: true }]);
    }

    #[test]
    fn passwords_over_the_maximum_are_never_right() {
        let env = env();
        let salt = Salt::random(&env);
        let (longest, longer) = ("x".repeat(MAX_BYTES), "x".repeat(MAX_BYTES + 1));
        let is_right = |text: &str, kept: &str| {
            let kept = stored(&env, kept, &salt);
            cheap().verify(&said(text), Some(&salt), &[kept]) == [Verdict::Right { stale: false }]
        };
        assert!(is_right(&longest, &longest));
        assert!(!is_right(&longer, &longer) && !is_right(&longer, ""));
    }

    #[test]
    fn accounts_with_different_costs_are_all_compared() {
        let env = env();
        let salt = Salt::random(&env);
        let password = said("one password of mine");
        let tenant = TenantId::new(&env);
        let dearer = Passwords::new(Cost { passes: 2, ..Cost::CHEAP });
        let hash = dearer.hash(&password, &salt, &tenant).unwrap();
        let all = [stored(&env, password.expose(), &salt), StoredPassword { tenant, hash }];
        let verdicts = cheap().verify(&password, Some(&salt), &all);
        assert_eq!(verdicts, [Verdict::Right { stale: false }, Verdict::Right { stale: true }]);
    }

    #[test]
    fn each_address_has_its_own_key() {
        assert_ne!(Salt::address("ada@example.com"), Salt::address("bea@example.com"));
    }

    #[test]
    fn accounts_of_an_address_share_one_computation() {
        let env = env();
        let (salt, elsewhere) = (Salt::random(&env), Salt::random(&env));
        let mut all = vec![stored(&env, "one password of mine", &salt); 3];
        all.push(stored(&env, "another one of mine", &salt));
        all.push(stored(&env, "another one of mine", &elsewhere));
        let mut keys = Keys { password: "another one of mine", known: Vec::new() };
        for kept in &all {
            let Some(Form::Shared { params, salt: own, mac }) = Form::read(&kept.hash) else {
                unreachable!()
            };
            if own == salt {
                keys.verify(&params, &own, &kept.tenant, &mac);
            }
        }
        assert_eq!(keys.known.len(), 1, "argon2id ran once for all accounts");
        let verdicts = cheap().verify(&said("another one of mine"), Some(&salt), &all);
        let wrong = Verdict::Wrong;
        assert_eq!(verdicts, [wrong, wrong, wrong, Verdict::Right { stale: false }, wrong]);
        let named = cheap().verify(&said("another one of mine"), Some(&salt), &all[4..]);
        assert_eq!(
            named,
            [Verdict::Right { stale: true }],
            "compared because its tenant is named, and replaced because of its salt"
        );
    }

    #[test]
    fn older_hashes_verify_and_are_stale() {
        use argon2::password_hash::PasswordHasher;
        let params = Cost::CHEAP.params().unwrap();
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let old = argon2.hash_password_with_salt(b"correct horse battery", &[7; 16]).unwrap().to_string();
        let old = StoredPassword { tenant: TenantId::new(&env()), hash: old };
        let verdicts = cheap().verify(&said("correct horse battery"), None, std::slice::from_ref(&old));
        assert_eq!(verdicts, [Verdict::Right { stale: true }]);
        let many = vec![old; MAX_OWN_SALTS + 1];
        let verdicts = cheap().verify(&said("correct horse battery"), None, &many);
        assert_eq!(
            verdicts.iter().filter(|verdict| **verdict == Verdict::Wrong).count(),
            1,
            "only MAX_OWN_SALTS are compared"
        );
    }

    #[test]
    fn default_cost_is_the_owasp_recommendation() {
        let env = env();
        let kept = Passwords::new(Cost::USUAL).hash(&said("x"), &Salt::random(&env), &TenantId::new(&env));
        assert!(kept.as_ref().unwrap().starts_with("$argon2id-tenant$v=19$m=19456,t=2,p=1$"), "{kept:?}");
    }

    #[test]
    fn decomposed_and_composed_characters_are_equal() {
        let env = env();
        let salt = Salt::random(&env);
        let kept = stored(&env, "Zu\u{308}rich ist scho\u{308}n", &salt);
        let verdict = cheap().verify(&said("Zürich ist schön"), Some(&salt), &[kept]);
        assert_eq!(verdict, [Verdict::Right { stale: false }]);
    }
}
