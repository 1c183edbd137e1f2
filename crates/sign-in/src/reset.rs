//! Resets of passwords and factors, and the links that set a password.

use audit::{
    Audited, Event, Unaudited,
    events::{
        credentials::{FactorRemoved, PasswordResetStarted},
        sign_in::SessionsRevoked,
    },
};
use credentials::{Factor, FactorStore};
use directory::{Link, LinkKind, LinkStore, PeopleStore, Person};
use kernel::{Ctx, StoreResult, UserId};
use sessions::SessionStore;
use tokens::{RawToken, TokenKind};

use crate::{
    error::Error,
    pats,
    state::{Step, check_mode},
    store::Storage,
};

/// Notices that the user sees at the next sign-in.
const PASSWORD_RESET: &str = "PASSWORD_RESET";
const FACTORS_RESET: &str = "FACTORS_RESET";

/// Issues a link for a user and replaces any earlier one.
pub async fn issue_link<S: LinkStore + PeopleStore>(
    ctx: &Ctx,
    store: &mut S,
    person: &Person,
    kind: LinkKind,
) -> StoreResult<RawToken> {
    let raw = RawToken::mint(&*ctx.env, TokenKind::Link, &ctx.tenant);
    let held = store.held_roles(person).await?;
    store.replace_links(&Link::new(*raw.hash().as_bytes(), kind, person, &held, ctx.now)).await?;
    Ok(raw)
}

/// Returns the URL that a user opens. The token is in the fragment, which no server, proxy or log sees.
pub fn link_url(base_url: &str, link: &RawToken) -> String {
    format!("{base_url}/auth/login#link={}", link.expose())
}

/// The result of a password reset.
pub struct PasswordReset {
    /// User whose password was reset.
    pub person: Person,
    /// A reset, or an invitation for a user who never had a password.
    pub kind: LinkKind,
    /// The link that sets a new password.
    pub link: RawToken,
    /// The number of revoked personal access tokens.
    pub revoked_tokens: usize,
}

/// Resets a user's password. Ends the old password, all sessions and all personal access tokens at once, and issues a
/// link for a new password. `sent` records in the audit log whether the link goes out by mail.
pub async fn reset_password<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
    sent: bool,
) -> Result<Audited<PasswordReset>, Error> {
    let person = find_person(store, user).await?;
    if !person.active {
        return Err(Error::UserDisabled);
    }
    // An earlier reset that was not redeemed has already deleted the password.
    let begun_before = store.notices(user).await?.iter().any(|notice| notice == PASSWORD_RESET);
    let had_one = store.delete_password(user).await? || begun_before;
    let kind = if had_one { LinkKind::Reset } else { LinkKind::Invitation };
    let link = issue_link(ctx, store, &person, kind).await?;
    if had_one {
        store.add_notice(user, PASSWORD_RESET).await?;
    }
    let count = store.revoke_sessions(user, ctx.now, None).await?;
    let revoked = pats::revoke_all(ctx, store, user).await?;
    let mut events = vec![Event::new(user.as_str(), &PasswordResetStarted { sent })];
    if count > 0 {
        events.push(Event::new(user.as_str(), &SessionsRevoked { count, why: "RESET" }));
    }
    let revoked_tokens = revoked.len();
    events.extend(revoked);
    Ok(Audited::of_changes(PasswordReset { person, kind, link, revoked_tokens }, events))
}

/// Issues a link for a user who forgot the password. Password and sessions stay valid until the link is redeemed,
/// because anybody can ask for it. Personal access tokens stay valid after it, as after any change of a password.
///
/// Returns `None` for a user who is disabled, has no address, or must use single sign-on, and for one without a password:
/// an administrator has sent or will send that user a link, which this one would replace.
pub async fn forgotten_password<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
) -> Result<Audited<Option<(Person, RawToken)>>, Error> {
    let person = find_person(store, user).await?;
    let mode = store.sign_in_policy().await?.sign_in_mode;
    let may_use_a_password = person.active && check_mode(Step::Link, mode, person.break_glass).is_ok();
    if !may_use_a_password || person.email.is_none() || store.password(user).await?.is_none() {
        return Ok(Audited::without(None, Unaudited::NothingChanged));
    }
    let link = issue_link(ctx, store, &person, LinkKind::Reset).await?;
    let event = Event::new(user.as_str(), &PasswordResetStarted { sent: true });
    Ok(Audited::new(Some((person, link)), event))
}

/// Removes a factor and returns its event.
pub async fn remove_factor<S: FactorStore>(store: &mut S, factor: &Factor) -> StoreResult<Event> {
    store.delete_factor(&factor.user, &factor.id).await?;
    let data = FactorRemoved { user: factor.user.to_string(), kind: factor.kind().as_str() };
    Ok(Event::new(factor.id.as_str(), &data))
}

/// Removes all of a user's factors and recovery codes. Returns an event for each factor.
pub async fn remove_factors<S: FactorStore>(store: &mut S, user: &UserId) -> StoreResult<Vec<Event>> {
    let mut events = Vec::new();
    for factor in store.factors(user).await? {
        events.push(remove_factor(store, &factor).await?);
    }
    store.replace_codes(user, &[]).await?;
    store.clear_wrong_codes(user).await?;
    Ok(events)
}

/// The result of a reset of all factors.
pub struct FactorsReset {
    /// User whose factors were reset.
    pub person: Person,
    /// The number of removed factors.
    pub removed: usize,
    /// The number of revoked personal access tokens.
    pub revoked_tokens: usize,
}

/// Removes all of a user's factors and recovery codes, ends the sessions, and revokes the personal access tokens.
pub async fn reset_factors<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
) -> Result<Audited<FactorsReset>, Error> {
    let person = find_person(store, user).await?;
    let mut events = remove_factors(store, &person.id).await?;
    let removed = events.len();
    let count = SessionStore::revoke_sessions(store, user, ctx.now, None).await?;
    events.push(Event::new(user.as_str(), &SessionsRevoked { count, why: "RESET" }));
    let revoked = pats::revoke_all(ctx, store, user).await?;
    let revoked_tokens = revoked.len();
    events.extend(revoked);
    store.add_notice(user, FACTORS_RESET).await?;
    Ok(Audited::of_changes(FactorsReset { person, removed, revoked_tokens }, events))
}

async fn find_person<S: Storage>(store: &mut S, user: &UserId) -> Result<Person, Error> {
    store.person(user).await?.ok_or(Error::UserNotFound)
}
