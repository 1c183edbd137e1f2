//! What an identity provider's signal about a user does to sessions and the account, whatever the protocol of the signal.

use audit::{
    Audited, Event, Unaudited,
    events::sign_in::{SessionRevoked, SessionsRevoked, StepUpRequired},
};
use directory::{AccountChanges, Person, change_person};
use kernel::{Ctx, Email, Timestamp, UserId};
use saml_sp::{Protocol, ProviderId, ProviderStore, Subject};
use sessions::{Session, Standing};
use stepup::StepUpStore;

use super::{SsoStorage, account::known_person, logout::REMEMBERED_MILLIS, oidc::session_hash};
use crate::{error::Error, events::account_changes, provider_session::EndedAtProvider};

/// Why sessions ended, in audit entries.
const WHY: &str = "SIGNAL";
/// Sessions that began this long after the event are affected, too, because clocks differ.
const SKEW_MILLIS: i64 = 60_000;

/// The storage that a signal needs. Every type with these traits implements it.
pub trait SignalStorage: SsoStorage + ProviderStore + StepUpStore {}

impl<S: SsoStorage + ProviderStore + StepUpStore> SignalStorage for S {}

/// How a signal names a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalledUser {
    /// By issuer and subject: the OpenID provider's, or the entity ID of a SAML provider and a persistent NameID.
    IssSub {
        /// The issuer.
        issuer: String,
        /// The issuer's identifier of the user.
        subject: String,
    },
    /// By email address.
    Email(Email),
}

/// What a signal demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalDemand {
    /// Nothing.
    None,
    /// Sessions need a second factor before they go on. Those of users without one end.
    StepUp,
    /// Sessions end.
    EndSessions,
    /// The user is disabled.
    Disable,
}

/// A signal about a user of an SSO connection.
#[derive(Debug, Clone)]
pub struct Signal {
    /// The SSO connection.
    pub connection: ProviderId,
    /// The issuer of the OpenID provider, or the entity ID of the SAML provider.
    pub issuer: String,
    /// The names of the user. Those that the connection does not know are ignored. Empty: the session names the user.
    pub names: Vec<SignalledUser>,
    /// The identity provider's ID of the session that the signal is about. `None`: all sessions of the user.
    pub session: Option<String>,
    /// When it happened. Sessions that began later are not affected.
    pub at: Timestamp,
    /// What it demands.
    pub demand: SignalDemand,
}

/// What a signal did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalOutcome {
    /// Nothing.
    Recorded,
    /// Sessions need a second factor.
    StepUpRequired,
    /// Sessions ended.
    SessionsEnded,
    /// The user was disabled.
    UserDisabled,
}

/// What a signal did, and the user that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalEffect {
    /// The user. `None`: the connection knows nobody by these names, or the names are of different users.
    pub user: Option<UserId>,
    /// What it did.
    pub outcome: SignalOutcome,
    /// Why it did less than it demanded.
    pub reason: Option<&'static str>,
    /// Number of sessions that it affected, if their number is known.
    pub sessions: u64,
}

impl SignalEffect {
    fn nothing(user: Option<UserId>, reason: Option<&'static str>) -> Self {
        Self { user, outcome: SignalOutcome::Recorded, reason, sessions: 0 }
    }
}

/// Finds the user of a signal, and does what it demands.
pub async fn enforce<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    signal: &Signal,
) -> Result<Audited<SignalEffect>, Error> {
    let without = |effect| Audited::without(effect, Unaudited::NothingChanged);
    let Some(user) = find_user(store, signal).await? else {
        return Ok(without(SignalEffect::nothing(None, Some("SUBJECT_UNKNOWN"))));
    };
    // Locked before the search for sessions, because a sign-in of the user may start one.
    let Some(person) = store.person(&user).await? else {
        return Ok(without(SignalEffect::nothing(None, Some("SUBJECT_UNKNOWN"))));
    };
    match signal.demand {
        SignalDemand::None => Ok(without(SignalEffect::nothing(Some(user), None))),
        SignalDemand::StepUp => require_step_up(ctx, store, signal, &user).await,
        SignalDemand::EndSessions => end_sessions(ctx, store, signal, &user, None).await,
        SignalDemand::Disable => disable(ctx, store, signal, &person).await,
    }
}

async fn find_user<S: SignalStorage>(store: &mut S, signal: &Signal) -> Result<Option<UserId>, Error> {
    if let (true, Some(session)) = (signal.names.is_empty(), named_session(signal)) {
        let at_provider = EndedAtProvider::Session { session, subject: None };
        return Ok(store.users_at_provider(&signal.connection, &at_provider).await?.into_iter().next());
    }
    let mut found: Option<UserId> = None;
    for name in &signal.names {
        let user = match name {
            SignalledUser::IssSub { issuer, subject } => {
                if *issuer != signal.issuer {
                    continue;
                }
                let subject = match signal.connection.protocol() {
                    Protocol::Oidc => Subject::of_oidc(issuer, subject),
                    Protocol::Saml => Subject::of_name_id(subject),
                };
                store.subject_owner(&signal.connection, &subject).await?
            }
            SignalledUser::Email(email) => user_of_email(store, &signal.connection, email).await?,
        };
        match (&found, user) {
            (_, None) => {}
            (None, user) => found = user,
            (Some(known), Some(user)) if *known == user => {}
            // Aliases of different users.
            (Some(_), Some(_)) => return Ok(None),
        }
    }
    Ok(found)
}

/// Returns the user with an address of a domain of the connection.
async fn user_of_email<S: SignalStorage>(
    store: &mut S,
    connection: &ProviderId,
    email: &Email,
) -> Result<Option<UserId>, Error> {
    let domain = email.as_str().rsplit_once('@').and_then(|(_, domain)| domain.parse().ok());
    let Some(domain) = domain else { return Ok(None) };
    if store.provider_of_domain(&domain).await?.as_ref() != Some(connection) {
        return Ok(None);
    }
    Ok(known_person(store, email).await?.map(|person| person.id))
}

/// Returns the live sessions that a signal is about, and whether there are others that began after it.
async fn affected<S: SignalStorage>(
    store: &mut S,
    signal: &Signal,
    user: &UserId,
) -> Result<(Vec<Session>, bool), Error> {
    let until = signal.at.plus_millis(SKEW_MILLIS);
    let (mut sessions, later): (Vec<_>, Vec<_>) =
        store.sessions_of(user).await?.into_iter().partition(|session| session.created_at <= until);
    if let Some(named) = named_session(signal) {
        let mut of_it = Vec::new();
        for session in sessions {
            let at_provider = store.provider_session(&session.id).await?;
            let is_of_it = at_provider.is_some_and(|at| {
                // A session for which the provider has named none may be of it.
                at.provider == signal.connection && at.session.is_none_or(|session| session == named)
            });
            if is_of_it {
                of_it.push(session);
            }
        }
        sessions = of_it;
    }
    Ok((sessions, !later.is_empty()))
}

/// Returns the hash of the provider's session that a signal is about.
fn named_session(signal: &Signal) -> Option<[u8; 32]> {
    let session = signal.session.as_ref().filter(|_| signal.connection.protocol() == Protocol::Oidc)?;
    Some(session_hash(&signal.issuer, session))
}

async fn end_sessions<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    signal: &Signal,
    user: &UserId,
    reason: Option<&'static str>,
) -> Result<Audited<SignalEffect>, Error> {
    let (sessions, has_later) = affected(store, signal, user).await?;
    let named = named_session(signal);
    store.drop_tickets(user).await?;
    store.drop_pending(user).await?;
    let mut events = Vec::new();
    let mut count = 0;
    if named.is_none() && !has_later {
        count = store.revoke_sessions(user, ctx.now, None).await?;
    } else {
        for session in &sessions {
            count += u64::from(store.revoke_session(&session.id, ctx.now).await?);
        }
    }
    if let Some(named) = named {
        // For a sign-in through this session that has not started ours yet.
        let until = ctx.now.plus_millis(REMEMBERED_MILLIS);
        store.remember_ended(&signal.connection, &named, until).await?;
        let data = SessionRevoked { user: user.to_string(), why: WHY };
        events.extend(sessions.iter().map(|session| Event::new(session.id.as_str(), &data)));
    } else {
        store.refuse_tokens_until(user, signal.at).await?;
        if count > 0 {
            events.push(Event::new(user.as_str(), &SessionsRevoked { count, why: WHY }));
        }
    }
    let effect = SignalEffect {
        user: Some(user.clone()),
        outcome: SignalOutcome::SessionsEnded,
        reason,
        sessions: count,
    };
    Ok(Audited::of_changes(effect, events))
}

async fn require_step_up<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    signal: &Signal,
    user: &UserId,
) -> Result<Audited<SignalEffect>, Error> {
    let has_factor = store.factors(user).await?.iter().any(credentials::Factor::is_verified);
    if !has_factor {
        return end_sessions(ctx, store, signal, user, Some("NO_SECOND_FACTOR")).await;
    }
    store.revoke_grants(user, ctx.now).await?;
    let until = signal.at.plus_millis(SKEW_MILLIS);
    let (sessions, _) = affected(store, signal, user).await?;
    let mut count = 0;
    for mut session in sessions.into_iter().filter(|session| session.signed_in_at <= until) {
        session.standing = Standing::Owing;
        session.grace = None;
        store.update_session(&session).await?;
        count += 1;
    }
    let event = Event::new(user.as_str(), &StepUpRequired { count, why: WHY });
    let outcome = SignalOutcome::StepUpRequired;
    let effect = SignalEffect { user: Some(user.clone()), outcome, reason: None, sessions: count };
    Ok(Audited::new(effect, event))
}

async fn disable<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    signal: &Signal,
    person: &Person,
) -> Result<Audited<SignalEffect>, Error> {
    if !person.active {
        let effect = SignalEffect::nothing(Some(person.id.clone()), Some("ALREADY_DISABLED"));
        return Ok(Audited::without(effect, Unaudited::NothingChanged));
    }
    // This account is for the time when the identity provider does not work, or works for an attacker.
    if person.break_glass {
        return end_sessions(ctx, store, signal, &person.id, Some("BREAK_GLASS")).await;
    }
    let changes = AccountChanges { active: Some(false), ..AccountChanges::default() };
    let after = match change_person(ctx, store, person, changes).await {
        Ok(after) => after,
        Err(directory::Error::LastAdmin) => {
            return end_sessions(ctx, store, signal, &person.id, Some("LAST_ADMINISTRATOR")).await;
        }
        Err(directory::Error::Store(error)) => return Err(error.into()),
        Err(error) => return Err(Error::internal(error)),
    };
    let outcome = SignalOutcome::UserDisabled;
    let effect = SignalEffect { user: Some(person.id.clone()), outcome, reason: None, sessions: 0 };
    Ok(Audited::of_changes(effect, account_changes(person, &after)))
}
