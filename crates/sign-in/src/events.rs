//! Audit events for sessions that begin, change and end.

use audit::{
    Audited, Event,
    events::{
        sign_in::{SessionRenewed, SessionRevoked, SessionsRevoked, SignInNewDevice, SignInSucceeded},
        users::{self, UserRoleChanged, UserUpdated},
    },
};
use credentials::{FactorStore, OriginHistory, SignInStore};
use directory::Person;
use kernel::{Ctx, StoreResult, UserId};
use sessions::{Method, Session, SessionId, SessionStore};

/// Records the origin of a sign-in. Returns an event if the origin is new for the user.
pub(crate) async fn record_origin<S: SignInStore>(
    ctx: &Ctx,
    store: &mut S,
    session: &Session,
    origin: &str,
) -> StoreResult<Option<Event>> {
    let is_new = store.note_origin(&session.user, origin, ctx.now).await? == OriginHistory::New;
    let data = SignInNewDevice { session: session.id.to_string() };
    Ok(is_new.then(|| Event::new(session.user.as_str(), &data)))
}

/// Returns the events of the differences between a user's account before and after a change.
pub fn account_changes(before: &Person, after: &Person) -> Vec<Event> {
    let mut events = Vec::new();
    let id = after.id.as_str();
    if before.role != after.role {
        let data = UserRoleChanged { from: before.role.to_string(), to: after.role.to_string() };
        events.push(Event::new(id, &data));
    }
    if before.email != after.email {
        events.push(Event::new(id, &UserUpdated { changed: vec!["emails".into()] }));
    }
    if before.break_glass != after.break_glass {
        events.push(Event::new(id, &UserUpdated { changed: vec!["breakGlass".into()] }));
    }
    let activation = (before.active != after.active).then_some(after.active);
    events.extend(users::changes(id, &[], activation));
    events
}

/// Returns the names of methods (`amr`).
fn names(methods: &[Method]) -> Vec<String> {
    let name = |method| serde_json::to_value(method).ok()?.as_str().map(str::to_owned);
    methods.iter().filter_map(name).collect()
}

/// Returns the event of a completed sign-in.
pub(crate) fn signed_in(session: &Session) -> Event {
    let methods = names(&session.methods);
    Event::new(session.user.as_str(), &SignInSucceeded { session: session.id.to_string(), methods })
}

/// Returns the event of a session that received a new id, after these methods were proved.
pub(crate) fn session_renewed(session: &Session, previous: &SessionId, proved: &[Method]) -> Event {
    let (user, previous) = (session.user.to_string(), previous.to_string());
    let data = SessionRenewed { user, previous, proved: names(proved) };
    Event::new(session.id.as_str(), &data)
}

/// Revokes one session of a user.
pub async fn end_session<S: SessionStore + FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
    id: &SessionId,
    why: &'static str,
) -> Result<Audited<()>, sessions::Error> {
    let ended = sessions::revoke(ctx, store, user, id).await?;
    // Discard the session's pending enrolment, so that no other session can finish it.
    store.drop_pending(user).await?;
    let data = SessionRevoked { user: user.to_string(), why };
    let event = ended.then(|| Event::new(id.as_str(), &data));
    Ok(Audited::of_changes((), event.into_iter().collect()))
}

/// Revokes a user's other sessions, as after a change of credentials.
pub async fn end_other_sessions<S: SessionStore>(
    ctx: &Ctx,
    store: &mut S,
    session: &Session,
    why: &'static str,
) -> StoreResult<Option<Event>> {
    let count = sessions::revoke_all(ctx, store, &session.user, Some(&session.id)).await?;
    let data = SessionsRevoked { count, why };
    Ok((count > 0).then(|| Event::new(session.user.as_str(), &data)))
}
