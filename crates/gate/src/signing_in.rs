//! What every way of starting a session shares, whether a route or a neighbour's cookie starts it: the user's row is
//! locked first, a new device is noted, and events say what happened.

use audit::{
    Audited, Event,
    events::sign_in::{SessionRenewed, SessionRevoked, SignInNewDevice, SignInSucceeded},
};
use credentials::{FactorStore, Familiarity, SignInPolicy, SignInStore};
use directory::{PeopleStore, Person, Role};
use kernel::{Ctx, StoreError, UserId};
use sessions::{Session, SessionId};
use store::Tx;

use super::errors::Problem;

/// A person and what their tenant asks for, held until the end of the unit of work, before anything else of
/// theirs: whoever shuts them out, or changes what signs them in, comes before or after, never between.
pub struct Held {
    /// Who.
    pub person: Person,
    /// What the tenant asks for.
    pub policy: SignInPolicy,
}

/// Holds a person who may sign in.
pub async fn hold(tx: &mut Tx, user: &UserId) -> Result<Held, Problem> {
    let person = active(tx, user).await?;
    Ok(Held { person, policy: tx.sign_in_policy().await? })
}

/// The same, and of an administrator the tenant's row alone.
pub async fn hold_to_remove(tx: &mut Tx, user: &UserId) -> Result<Held, Problem> {
    let person = active(tx, user).await?;
    let policy = match person.role {
        Role::Admin => tx.sign_in_policy_to_change().await?,
        Role::Member => tx.sign_in_policy().await?,
    };
    Ok(Held { person, policy })
}

async fn active(tx: &mut Tx, user: &UserId) -> Result<Person, Problem> {
    let person = tx.person(user).await?.filter(|person| person.active);
    person.ok_or_else(Problem::account_disabled)
}

/// Notes where a person has signed in from: the event, where it was somewhere new.
pub async fn came_from(
    ctx: &Ctx,
    tx: &mut Tx,
    session: &Session,
    origin: &str,
) -> Result<Option<Event>, StoreError> {
    let new = tx.note_origin(&session.user, origin, ctx.now).await? == Familiarity::New;
    let data = SignInNewDevice { session: session.id.to_string() };
    Ok(new.then(|| Event::new(session.user.as_str(), &data)))
}

/// A sign-in is complete.
pub fn signed_in(session: &Session) -> Event {
    let method = |method| serde_json::to_value(method).ok()?.as_str().map(str::to_owned);
    let methods = session.methods.iter().filter_map(method).collect();
    Event::new(session.user.as_str(), &SignInSucceeded { session: session.id.to_string(), methods })
}

/// A session got a new id.
pub fn session_renewed(session: &Session, previous: &SessionId) -> Event {
    let data = SessionRenewed { user: session.user.to_string(), previous: previous.to_string() };
    Event::new(session.id.as_str(), &data)
}

/// Ends a session of a person.
pub async fn end_session(
    ctx: &Ctx,
    tx: &mut Tx,
    user: &UserId,
    id: &SessionId,
    why: &'static str,
) -> Result<Audited<()>, sessions::Error> {
    let ended = sessions::revoke(ctx, tx, user, id).await?;
    // An enrolment that was begun in it is not finished elsewhere.
    tx.drop_pending(user).await?;
    let data = SessionRevoked { user: user.to_string(), why };
    let event = ended.then(|| Event::new(id.as_str(), &data));
    Ok(Audited::of_changes((), event.into_iter().collect()))
}
