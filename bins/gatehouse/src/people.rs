//! What administrators and the operator do for people: links, and resets.

use audit::{
    Audited, Event,
    events::{
        credentials::{FactorRemoved, PasswordResetStarted},
        pats::PatRevoked,
        sign_in::SessionsRevoked,
        users::UserUpdated,
    },
};
use credentials::{Factor, FactorStore, PasswordContext, SignInStore};
use directory::{Link, LinkKind, LinkStore, Person, ProfileChanges};
use kernel::{Ctx, Email, Secret, StoreError, UserId};
use sessions::SessionStore;
use store::Tx;
use tokens::{RawToken, TokenKind};

use crate::api::Site;
use gate::errors::Problem;

/// Checks a new password of a person, against the names that whoever guesses it knows.
pub(crate) fn check_password(
    password: &Secret<String>,
    person: &Person,
    tenant: &str,
    factor_enforced: bool,
) -> Result<(), credentials::Weak> {
    let email = person.email.as_ref().map(Email::as_str);
    let known = [email, person.display_name.as_deref(), Some(person.user_name.as_str()), Some(tenant)];
    let names: Vec<&str> = known.into_iter().flatten().collect();
    credentials::check_new_password(password, &PasswordContext { names: &names, factor_enforced })
}

/// What a person is told at the next sign-in.
const PASSWORD_RESET: &str = "PASSWORD_RESET";
const FACTORS_RESET: &str = "FACTORS_RESET";

/// Makes a link for a person, in the place of any there was.
pub(crate) async fn make_link(
    ctx: &Ctx,
    tx: &mut Tx,
    person: &Person,
    kind: LinkKind,
) -> Result<RawToken, StoreError> {
    let raw = RawToken::mint(&*ctx.env, TokenKind::Link, &ctx.tenant);
    tx.replace_links(&Link::new(*raw.hash().as_bytes(), kind, person, ctx.now)).await?;
    Ok(raw)
}

/// The address that a person opens. The token stands behind `#`: no server, proxy or log sees it.
pub(crate) fn address_of(base_url: &str, link: &RawToken) -> String {
    format!("{base_url}/auth/login#link={}", link.expose())
}

/// Sends a link by mail; where that is not configured, it is to be told.
pub(crate) async fn deliver(
    site: &Site,
    person: &Person,
    kind: LinkKind,
    link: RawToken,
) -> Result<Option<String>, Problem> {
    let address = address_of(&site.pipeline.base_url, &link);
    match (&site.mail, &person.email) {
        (Some(mail), Some(email)) => {
            let sent = mail.send_link(email, kind, &address).await;
            sent.map_err(|error| {
                Problem::unavailable().because(&format!("a link could not be sent: {error}"))
            })?;
            Ok(None)
        }
        _ => Ok(Some(address)),
    }
}

/// Revokes all personal access tokens of a person: the event of each.
pub(crate) async fn revoke_tokens(ctx: &Ctx, tx: &mut Tx, id: &UserId) -> Result<Vec<Event>, StoreError> {
    let revoked = tokens::pat::revoke_all(ctx, tx, id).await?;
    let event = |token: &tokens::PatId| Event::new(token.as_str(), &PatRevoked { user: id.to_string() });
    Ok(revoked.iter().map(event).collect())
}

/// A password that was reset.
pub(crate) struct PasswordReset {
    pub(crate) person: Person,
    pub(crate) kind: LinkKind,
    pub(crate) link: RawToken,
    /// How many personal access tokens were revoked.
    pub(crate) revoked_tokens: usize,
}

/// Resets a person's password: the old one, the sessions and the personal access tokens end at once, and a link sets a new one.
pub(crate) async fn reset_password(
    ctx: &Ctx,
    tx: &mut Tx,
    id: &UserId,
    sent: bool,
) -> Result<Audited<PasswordReset>, Problem> {
    let person = directory::find_person(tx, id).await?;
    if !person.active {
        return Err(Problem::not_found());
    }
    // The password of a reset that was not redeemed is gone already.
    let begun_before = tx.notices(id).await?.iter().any(|notice| notice == PASSWORD_RESET);
    let had_one = tx.delete_password(id).await? || begun_before;
    let kind = if had_one { LinkKind::Reset } else { LinkKind::Invitation };
    let link = make_link(ctx, tx, &person, kind).await?;
    if had_one {
        tx.leave_notice(id, PASSWORD_RESET).await?;
    }
    let count = tx.revoke_sessions(id, ctx.now, None).await?;
    let revoked = revoke_tokens(ctx, tx, id).await?;
    let mut events = vec![Event::new(id.as_str(), &PasswordResetStarted { sent })];
    if count > 0 {
        events.push(Event::new(id.as_str(), &SessionsRevoked { count, why: "RESET" }));
    }
    let revoked_tokens = revoked.len();
    events.extend(revoked);
    Ok(Audited::of_changes(PasswordReset { person, kind, link, revoked_tokens }, events))
}

/// Takes a factor away: the event.
pub(crate) async fn remove_factor(tx: &mut Tx, factor: &Factor) -> Result<Event, StoreError> {
    tx.delete_factor(&factor.user, &factor.id).await?;
    let data = FactorRemoved { user: factor.user.to_string(), kind: factor.kind().as_str() };
    Ok(Event::new(factor.id.as_str(), &data))
}

/// Takes all of a person's factors away, and the recovery codes: the event of each factor.
pub(crate) async fn remove_factors(tx: &mut Tx, id: &UserId) -> Result<Vec<Event>, StoreError> {
    let mut events = Vec::new();
    for factor in tx.factors(id).await? {
        events.push(remove_factor(tx, &factor).await?);
    }
    tx.replace_codes(id, &[]).await?;
    tx.clear_wrong_codes(id).await?;
    Ok(events)
}

/// Changes a person's profile.
pub(crate) async fn change_profile(
    ctx: &Ctx,
    tx: &mut Tx,
    id: &UserId,
    changes: ProfileChanges,
) -> Result<Audited<Person>, directory::Error> {
    let (person, changed) = directory::change_profile(ctx, tx, id, changes).await?;
    let event = (!changed.is_empty()).then(|| Event::new(id.as_str(), &UserUpdated { changed }));
    Ok(Audited::of_changes(person, event.into_iter().collect()))
}

/// Factors that were reset.
pub(crate) struct FactorsReset {
    pub(crate) person: Person,
    /// How many factors were removed.
    pub(crate) removed: usize,
    /// How many personal access tokens were revoked.
    pub(crate) revoked_tokens: usize,
}

/// Removes all of a person's factors and codes, ends the sessions, and revokes the personal access tokens.
pub(crate) async fn reset_factors(
    ctx: &Ctx,
    tx: &mut Tx,
    id: &UserId,
) -> Result<Audited<FactorsReset>, Problem> {
    let person = directory::find_person(tx, id).await?;
    let mut events = remove_factors(tx, &person.id).await?;
    let removed = events.len();
    let count = tx.revoke_sessions(id, ctx.now, None).await?;
    events.push(Event::new(id.as_str(), &SessionsRevoked { count, why: "RESET" }));
    let revoked = revoke_tokens(ctx, tx, id).await?;
    let revoked_tokens = revoked.len();
    events.extend(revoked);
    tx.leave_notice(id, FACTORS_RESET).await?;
    Ok(Audited::of_changes(FactorsReset { person, removed, revoked_tokens }, events))
}
