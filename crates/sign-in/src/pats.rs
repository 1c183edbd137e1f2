//! Personal access tokens with their audit entries.

use audit::{
    Audited, Event,
    events::pats::{PatCreated, PatRevoked},
};
use kernel::{Ctx, StoreResult, UserId};
use tokens::{Pat, PatError, PatId, PatStore, RawToken, pat::NewPat};

/// Returns the payload of the audit event of a new token.
pub fn created(pat: &Pat) -> PatCreated {
    PatCreated {
        user: pat.user.to_string(),
        scopes: pat.scopes.iter().map(ToString::to_string).collect(),
        expires: pat.expires_at.is_some(),
    }
}

fn revoked(user: &UserId, id: &PatId) -> Event {
    Event::new(id.as_str(), &PatRevoked { user: user.to_string() })
}

/// Creates a token of a user. Returns it with its text and the audit event.
pub async fn mint<S: PatStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
    new: NewPat,
) -> Result<(Pat, RawToken, Event), PatError> {
    let (pat, raw) = tokens::pat::mint(ctx, store, user, new).await?;
    let event = Event::new(pat.id.as_str(), &created(&pat));
    Ok((pat, raw, event))
}

/// Revokes one token of a user.
pub async fn revoke<S: PatStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
    id: &PatId,
) -> Result<Audited<()>, PatError> {
    tokens::pat::revoke(ctx, store, user, id).await?;
    Ok(Audited::new((), revoked(user, id)))
}

/// Revokes all tokens of a user. Returns an event for each.
pub async fn revoke_all<S: PatStore>(ctx: &Ctx, store: &mut S, user: &UserId) -> StoreResult<Vec<Event>> {
    let ids = tokens::pat::revoke_all(ctx, store, user).await?;
    Ok(ids.iter().map(|id| revoked(user, id)).collect())
}
