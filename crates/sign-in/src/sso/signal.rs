//! What an identity provider's signal about a user does to sessions and the account, whatever the protocol of the signal.

use audit::{
    Audited, Event, Unaudited,
    events::sign_in::{SessionRevoked, SessionsRevoked, StepUpRequired},
};
use credentials::TICKET_MINUTES;
use directory::{AccountChanges, Person, change_person};
use kernel::{Ctx, Email, Timestamp, UserId};
use saml_sp::{Protocol, ProviderId, ProviderStore, Subject};
use sessions::{Session, Standing};
use stepup::StepUpStore;

use super::{SsoStorage, logout::REMEMBERED_MILLIS, oidc::session_hash};
use crate::{
    error::Error,
    events::account_changes,
    lockout::{AdministratorStore, is_last_way_in},
    provider_session::EndedAtProvider,
};

/// Why sessions ended, in audit entries.
const WHY: &str = "SIGNAL";
/// Sessions that began this long after the event are affected, too, because clocks differ.
const SKEW_MILLIS: i64 = 60_000;

/// The storage that a signal needs. Every type with these traits implements it.
pub trait SignalStorage: SsoStorage + ProviderStore + StepUpStore + AdministratorStore {}

impl<S: SsoStorage + ProviderStore + StepUpStore + AdministratorStore> SignalStorage for S {}

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The user. `None`: the connection knows nobody by these names, the names are of different users, or the session that it
    /// names is one of several users.
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

    /// Returns the effect on two users.
    fn and(self, other: &Self) -> Self {
        Self {
            user: None,
            outcome: self.outcome.max(other.outcome),
            reason: self.reason.or(other.reason),
            sessions: self.sessions + other.sessions,
        }
    }
}

/// A signal, and the hash of the provider's session that it is about.
struct Scope<'a> {
    signal: &'a Signal,
    session: Option<[u8; 32]>,
}

impl<'a> Scope<'a> {
    fn of(signal: &'a Signal) -> Self {
        let named = signal.session.as_ref().filter(|_| signal.connection.protocol() == Protocol::Oidc);
        Self { signal, session: named.map(|session| session_hash(&signal.issuer, session)) }
    }

    /// Returns when the last sessions that the signal is about may have begun.
    fn until(&self) -> Timestamp {
        self.signal.at.plus_millis(SKEW_MILLIS)
    }
}

/// The sessions of a user that a signal is about.
struct Affected {
    sessions: Vec<Session>,
    /// Whether the user has others, which began later.
    has_later: bool,
}

/// Finds the user of a signal, and does what it demands. `passkeys_work`: whether this server accepts passkeys.
pub async fn enforce<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    signal: &Signal,
    passkeys_work: bool,
) -> Result<Audited<SignalEffect>, Error> {
    let scope = Scope::of(signal);
    if signal.demand >= SignalDemand::EndSessions {
        remember_ended(ctx, store, &scope).await?;
    }
    // All users are locked first: before the search for sessions, because a sign-in may start one, and before the tenant, which a
    // change of a user locks.
    let mut people = Vec::new();
    for user in find_users(store, &scope).await? {
        people.extend(store.person(&user).await?);
    }
    let (mut effect, mut events) = (None, Vec::new());
    for person in &people {
        let (one, of_one) = act(ctx, store, &scope, person, passkeys_work).await?.into_parts();
        events.extend(of_one);
        effect = Some(match effect {
            None => one,
            Some(before) => SignalEffect::and(before, &one),
        });
    }
    let effect = effect.unwrap_or_else(|| SignalEffect::nothing(None, Some("SUBJECT_UNKNOWN")));
    Ok(Audited::of_changes(effect, events))
}

/// Remembers the provider's session, for a sign-in through it that has not started ours yet.
async fn remember_ended<S: SignalStorage>(ctx: &Ctx, store: &mut S, scope: &Scope<'_>) -> Result<(), Error> {
    if let Some(session) = &scope.session {
        let until = ctx.now.plus_millis(REMEMBERED_MILLIS);
        store.remember_ended(&scope.signal.connection, session, until).await?;
    }
    Ok(())
}

async fn act<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    scope: &Scope<'_>,
    person: &Person,
    passkeys_work: bool,
) -> Result<Audited<SignalEffect>, Error> {
    match scope.signal.demand {
        SignalDemand::None => {
            let effect = SignalEffect::nothing(Some(person.id.clone()), None);
            Ok(Audited::without(effect, Unaudited::NothingChanged))
        }
        SignalDemand::StepUp => require_step_up(ctx, store, scope, &person.id).await,
        SignalDemand::EndSessions => end_sessions(ctx, store, scope, &person.id, None).await,
        SignalDemand::Disable => disable(ctx, store, scope, person, passkeys_work).await,
    }
}

/// Returns the user that a signal names, or the users of the session that it names, in the order in which they are locked.
async fn find_users<S: SignalStorage>(store: &mut S, scope: &Scope<'_>) -> Result<Vec<UserId>, Error> {
    let signal = scope.signal;
    if let (true, Some(session)) = (signal.names.is_empty(), scope.session) {
        let at_provider = EndedAtProvider::Session { session, subject: None };
        let mut users = store.users_at_provider(&signal.connection, &at_provider).await?;
        users.sort_unstable();
        users.dedup();
        return Ok(users);
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
            (Some(_), Some(_)) => return Ok(Vec::new()),
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the user with an address of a domain of the connection. Locks nothing: aliases may name several users, and those
/// would be locked in the order of the transmitter.
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
    Ok(store.user_of_email(&email.key()).await?)
}

/// Finds the live sessions that a signal is about.
async fn affected<S: SignalStorage>(
    store: &mut S,
    scope: &Scope<'_>,
    user: &UserId,
) -> Result<Affected, Error> {
    let (mut sessions, later): (Vec<_>, Vec<_>) =
        store.sessions_of(user).await?.into_iter().partition(|session| session.created_at <= scope.until());
    if let Some(named) = scope.session {
        let mut of_it = Vec::new();
        for session in sessions {
            let at_provider = store.provider_session(&session.id).await?;
            let is_of_it = at_provider.is_some_and(|at| {
                // A session for which the provider has named none may be of it.
                at.provider == scope.signal.connection && at.session.is_none_or(|session| session == named)
            });
            if is_of_it {
                of_it.push(session);
            }
        }
        sessions = of_it;
    }
    Ok(Affected { sessions, has_later: !later.is_empty() })
}

async fn end_sessions<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    scope: &Scope<'_>,
    user: &UserId,
    reason: Option<&'static str>,
) -> Result<Audited<SignalEffect>, Error> {
    let Affected { sessions, has_later } = affected(store, scope, user).await?;
    // A sign-in or an enrolment in progress began after an event that is older than its ticket.
    if scope.until().plus_millis(TICKET_MINUTES * 60_000) >= ctx.now {
        store.drop_tickets(user).await?;
        store.drop_pending(user).await?;
    }
    let is_recent = scope.until() >= ctx.now;
    let mut events = Vec::new();
    let mut count = 0;
    if scope.session.is_none() && is_recent && !has_later {
        count = store.revoke_sessions(user, ctx.now, None).await?;
    } else {
        for session in &sessions {
            count += u64::from(store.revoke_session(&session.id, ctx.now).await?);
        }
    }
    if scope.session.is_some() {
        let data = SessionRevoked { user: user.to_string(), why: WHY };
        events.extend(sessions.iter().map(|session| Event::new(session.id.as_str(), &data)));
    } else {
        store.refuse_tokens_until(user, scope.signal.at).await?;
        if count > 0 {
            events.push(Event::new(user.as_str(), &SessionsRevoked { count, why: WHY }));
        }
    }
    let effect = SignalEffect {
        user: Some(user.clone()),
        outcome: SignalOutcome::SessionsEnded,
        reason: reason.or((count == 0 && has_later).then_some("SESSIONS_BEGAN_LATER")),
        sessions: count,
    };
    Ok(Audited::of_changes(effect, events))
}

async fn require_step_up<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    scope: &Scope<'_>,
    user: &UserId,
) -> Result<Audited<SignalEffect>, Error> {
    let has_factor = store.factors(user).await?.iter().any(credentials::Factor::is_verified);
    if !has_factor {
        remember_ended(ctx, store, scope).await?;
        return end_sessions(ctx, store, scope, user, Some("NO_SECOND_FACTOR")).await;
    }
    store.revoke_grants(user, ctx.now).await?;
    // An enrolment that a session has begun would complete it.
    store.drop_pending(user).await?;
    let Affected { sessions, mut has_later } = affected(store, scope, user).await?;
    let mut count = 0;
    for mut session in sessions {
        if session.signed_in_at > scope.until() {
            has_later = true;
            continue;
        }
        session.standing = Standing::Owing;
        session.grace = None;
        store.update_session(&session).await?;
        count += 1;
    }
    let event = Event::new(user.as_str(), &StepUpRequired { count, why: WHY });
    let effect = SignalEffect {
        user: Some(user.clone()),
        outcome: SignalOutcome::StepUpRequired,
        reason: (count == 0 && has_later).then_some("SESSIONS_BEGAN_LATER"),
        sessions: count,
    };
    Ok(Audited::new(effect, event))
}

/// Disables a user, however old the event is: only a later event of the transmitter says that the account is enabled again.
async fn disable<S: SignalStorage>(
    ctx: &Ctx,
    store: &mut S,
    scope: &Scope<'_>,
    person: &Person,
    passkeys_work: bool,
) -> Result<Audited<SignalEffect>, Error> {
    if !person.active {
        let effect = SignalEffect::nothing(Some(person.id.clone()), Some("ALREADY_DISABLED"));
        return Ok(Audited::without(effect, Unaudited::NothingChanged));
    }
    // This account is for the time when the identity provider does not work, or works for an attacker.
    if person.break_glass {
        return end_sessions(ctx, store, scope, &person.id, Some("BREAK_GLASS")).await;
    }
    if is_last_way_in(store, person, passkeys_work, ctx.now).await? {
        return end_sessions(ctx, store, scope, &person.id, Some("LAST_ADMINISTRATOR")).await;
    }
    let changes = AccountChanges { active: Some(false), ..AccountChanges::default() };
    let after = match change_person(ctx, store, person, changes).await {
        Ok(after) => after,
        Err(directory::Error::LastAdmin) => {
            return end_sessions(ctx, store, scope, &person.id, Some("LAST_ADMINISTRATOR")).await;
        }
        Err(directory::Error::Store(error)) => return Err(error.into()),
        Err(error) => return Err(Error::internal(error)),
    };
    let outcome = SignalOutcome::UserDisabled;
    let effect = SignalEffect { user: Some(person.id.clone()), outcome, reason: None, sessions: 0 };
    Ok(Audited::of_changes(effect, account_changes(person, &after)))
}
