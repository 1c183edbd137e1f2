//! The first start: a link that creates the first tenant and its administrator.
//!
//! The link is not stored. It has an expiry and a MAC, and it works while no tenant has an administrator.

use async_trait::async_trait;
use audit::{Audited, Event, events::tenants::TenantCreated};
use data_encoding::BASE64URL_NOPAD;
use directory::{NewPerson, Role, RoleStore, Tenant, TenantStore};
use kernel::{Ctx, Email, MasterKeys, SigningKeys, StoreResult, Timestamp};
use sessions::Method;

use crate::{
    account::lock_account,
    administration::create_user,
    device::Device,
    error::Error,
    factor::Verifiers,
    first_factor,
    outcome::Outcome,
    state::{State, Step},
    store::Storage,
    ticket::Progress,
};

/// Hours that a setup link works.
pub const LINK_HOURS: i64 = 24;

/// The keys of setup links, derived from the master keys.
pub struct SetupKeys(SigningKeys);

impl SetupKeys {
    /// Derives the keys.
    pub fn derive(masters: &MasterKeys) -> Self {
        Self(SigningKeys::derive(masters, "setup link"))
    }

    /// Returns a setup link for a server with this base URL; `None` without a master key. The token is in the fragment,
    /// which no server, proxy or log sees.
    pub fn link(&self, base_url: &str, now: Timestamp) -> Option<String> {
        let until = now.plus_millis(LINK_HOURS * 60 * 60_000).unix_millis().to_string();
        let signed = self.0.sign(until.as_bytes())?;
        let tag = BASE64URL_NOPAD.encode(&signed.tag);
        Some(format!("{base_url}/setup#token={}.{until}.{tag}", signed.key))
    }

    /// Returns whether a token was issued by this installation and has not expired.
    pub fn accepts(&self, token: &str, now: Timestamp) -> bool {
        let Some((key, rest)) = token.split_once('.') else { return false };
        let Some((until, tag)) = rest.split_once('.') else { return false };
        let Ok(tag) = BASE64URL_NOPAD.decode(tag.as_bytes()) else { return false };
        let is_current = until.parse().is_ok_and(|until: i64| now.unix_millis() < until);
        self.0.verify(key, until.as_bytes(), &tag) && is_current
    }
}

/// Tells whether a server is set up.
#[async_trait]
pub trait SetupStore: TenantStore {
    /// Whether an administrator exists in any tenant, even a disabled one. Concurrent calls run one after the other.
    async fn any_administrator(&mut self) -> StoreResult<bool>;
}

/// The first tenant and its administrator.
pub struct SetUp {
    /// The tenant to create. The unit of work has to be in it.
    pub tenant: Tenant,
    /// The administrator's email address.
    pub email: Email,
    /// The hash of the administrator's password.
    pub password_hash: String,
}

/// The reason for refusing a setup.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The link is invalid or has expired, or an administrator exists.
    #[error(
        "This setup link has expired or was already used. For a new one, run on the server: gatehouse setup"
    )]
    LinkInvalid,
    /// The tenant or the user cannot be created.
    #[error(transparent)]
    Directory(#[from] directory::Error),
    /// The session cannot start.
    #[error(transparent)]
    SignIn(#[from] Error),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] kernel::StoreError),
}

/// Creates the first tenant with an administrator and signs the administrator in. Fails with
/// [`SetUpError::LinkInvalid`] if an administrator exists. The caller has checked the token of the link.
pub async fn set_up<S: Storage + SetupStore + RoleStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    new: SetUp,
    device: &Device,
) -> Result<Audited<Outcome>, SetUpError> {
    let SetUp { tenant, email, password_hash } = new;
    if store.any_administrator().await? {
        return Err(SetUpError::LinkInvalid);
    }
    directory::create_tenant(store, &tenant).await?;
    let data = TenantCreated { slug: tenant.slug.clone(), tier: tenant.tier.as_str() };
    let mut events = vec![Event::new(tenant.id.as_str(), &data)];
    let administrator = NewPerson { email, role: Role::Admin, display_name: None };
    let (person, created_user) =
        create_user(ctx, store, administrator, Some((&password_hash, "LINK"))).await?.into_parts();
    let account = lock_account(store, &person.id).await?;
    let progress = Progress::begun_with(vec![Method::Password]);
    let step = (State::Anonymous, Step::Password);
    let led = first_factor::after(ctx, store, verifiers, account, progress, step, device).await?;
    let (outcome, signed_in) = led.into_parts();
    events.extend([created_user, signed_in].concat());
    Ok(Audited::of_changes(outcome, events))
}

#[cfg(test)]
mod tests {
    use kernel::{Env, ManualEnv, Secret};

    use super::*;

    fn keys(byte: u8) -> SetupKeys {
        SetupKeys::derive(&MasterKeys::new(vec![("k1".to_owned(), Secret::new(vec![byte; 32]))]).unwrap())
    }

    #[test]
    fn link_works_for_a_day_on_this_installation() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let link = keys(1).link("https://gate.example", env.now()).unwrap();
        let token = link.strip_prefix("https://gate.example/setup#token=").unwrap();
        assert!(keys(1).accepts(token, env.now()));
        assert!(!keys(2).accepts(token, env.now()), "another installation's");
        let hours = |hours: i64| env.now().plus_millis(hours * 60 * 60_000);
        assert!(keys(1).accepts(token, hours(LINK_HOURS).plus_millis(-1)));
        assert!(!keys(1).accepts(token, hours(LINK_HOURS)), "expired");
        let (rest, tag) = token.rsplit_once('.').unwrap();
        let (key, until) = rest.rsplit_once('.').unwrap();
        let later = until.parse::<i64>().unwrap() + 1;
        for changed in
            [format!("{key}.{later}.{tag}"), format!("{key}.{until}."), rest.to_owned(), String::new()]
        {
            assert!(!keys(1).accepts(&changed, env.now()), "{changed}");
        }
    }
}
