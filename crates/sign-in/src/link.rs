//! Redeems invitation and reset links for a password.

use audit::{
    Audited, Event,
    events::{credentials::PasswordChanged, sign_in::SessionsRevoked},
};
use credentials::{PasswordContext, SignInPolicy, WeakPassword};
use directory::{Link, LinkStore, PeopleStore, Person};
use kernel::{Ctx, Email, Secret, TenantId, Timestamp, UserId};
use sessions::Method;
use tokens::{RawToken, TokenKind};

use crate::{
    account::lock_account,
    device::Device,
    error::Error,
    factor::Verifiers,
    first_factor, network,
    outcome::Outcome,
    state::{State, Step, check_mode},
    store::Storage,
    ticket::Progress,
};

/// Parses a link into its tenant and the hash under which it is stored.
pub fn parse_link(text: &str) -> Result<(TenantId, [u8; 32]), Error> {
    let raw = RawToken::parse(text).ok().and_then(|raw| raw.of_kind(TokenKind::Link));
    let raw = raw.ok_or(Error::LinkInvalid)?;
    Ok((raw.tenant().clone(), *raw.hash().as_bytes()))
}

/// A link that may be redeemed, and its user.
pub struct RedeemableLink {
    /// The stored link.
    pub link: Link,
    /// The user of the link.
    pub person: Person,
    /// The sign-in policy that applies to the user.
    pub policy: SignInPolicy,
}

/// Finds a link, so that invalid ones are refused before the new password is hashed.
pub async fn find_link<S: Storage>(
    store: &mut S,
    hash: &[u8; 32],
    now: Timestamp,
) -> Result<RedeemableLink, Error> {
    let link = LinkStore::link(store, hash).await?.filter(|link| now < link.expires_at());
    let link = link.ok_or(Error::LinkInvalid)?;
    let person = PeopleStore::person(store, &link.user).await?.ok_or(Error::LinkInvalid)?;
    if !link.is_for(&person, &store.held_roles(&person).await?) {
        return Err(Error::LinkInvalid);
    }
    let policy = store.sign_in_policy().await?;
    check_mode(Step::Link, policy.sign_in_mode, person.break_glass)?;
    Ok(RedeemableLink { link, person, policy })
}

/// Checks a user's new password against the policy and against names that an attacker would guess.
pub fn check_password(
    password: &Secret<String>,
    person: &Person,
    tenant: &str,
    factor_enforced: bool,
) -> Result<(), WeakPassword> {
    let email = person.email.as_ref().map(Email::as_str);
    let known = [email, person.display_name.as_deref(), Some(person.user_name.as_str()), Some(tenant)];
    let names: Vec<&str> = known.into_iter().flatten().collect();
    credentials::check_new_password(password, &PasswordContext { names: &names, factor_enforced })
}

/// A link and the hash of the new password.
pub struct LinkProof {
    /// The user of the link.
    pub user: UserId,
    /// The hash under which the link is stored.
    pub link: [u8; 32],
    /// The hash of the new password.
    pub password_hash: String,
}

/// Redeems a link once: sets the password, ends the user's sessions and continues as after a password.
pub async fn with_link<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    proof: LinkProof,
    device: &Device,
) -> Result<Audited<Outcome>, Error> {
    let LinkProof { user, link, password_hash } = proof;
    let account = lock_account(store, &user).await?;
    network::admit(ctx, store, &account.person).await?;
    // The user's address or roles may have changed while the password was hashed.
    let held = store.held_roles(&account.person).await?;
    let redeemed = directory::redeem_link(ctx, store, &account.person, &held, &link).await?;
    redeemed.ok_or(Error::LinkInvalid)?;
    store.set_password(&user, &password_hash, ctx.now).await?;
    let ended = store.revoke_sessions(&user, ctx.now, None).await?;
    let progress = Progress { by_link: true, ..Progress::begun_with(vec![Method::Password]) };
    let step = (State::Anonymous, Step::Link);
    let led = first_factor::after(ctx, store, verifiers, account, progress, step, device).await?;
    let mut events = vec![Event::new(user.as_str(), &PasswordChanged { by: "LINK" })];
    if ended > 0 {
        events.push(Event::new(user.as_str(), &SessionsRevoked { count: ended, why: "PASSWORD_CHANGED" }));
    }
    Ok(led.with(events))
}
