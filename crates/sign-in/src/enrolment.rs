//! Who may enrol a factor, and what a session is after one.

use audit::{Event, events::credentials::FactorEnrolled};
use credentials::{Factor, FactorKind, MAX_FACTORS, Passkey, attempts};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::{Grace, GraceAct, GraceKind, Method, Session, Standing};

use crate::{
    account::Account,
    error::Error,
    events,
    session::StartedSession,
    state::{Requirements, State, Step, next},
    store::Storage,
};

/// Milliseconds after a sign-in in which the first factor may be enrolled, and a password changed where there is none.
const FRESH: i64 = 5 * 60_000;
/// Milliseconds after a sign-in or a step-up in which a token that writes may be created.
const RECENT: i64 = 10 * 60_000;

/// Refuses unless the user has signed in on this session within the last five minutes.
pub fn check_fresh(session: &Session, now: Timestamp) -> Result<(), Error> {
    if now < session.signed_in_at.plus_millis(FRESH) { Ok(()) } else { Err(too_long_ago()) }
}

fn too_long_ago() -> Error {
    Error::SignInRequired("sign in again: this has to follow a sign-in within five minutes")
}

/// Since when a sign-in or a step-up counts for creating a token that writes.
pub fn recent_since(now: Timestamp) -> Timestamp {
    now.plus_millis(-RECENT)
}

/// The refusal of a token that writes, after neither a sign-in nor a step-up since [`recent_since`].
pub fn not_recent() -> Error {
    Error::SignInRequired(
        "sign in again: a token that writes has to follow a sign-in or a step-up within ten minutes",
    )
}

/// By what leave an enrolment was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnrolmentGround {
    /// There was no factor, and the sign-in was fresh.
    First,
    /// The session had a grace, which is used up when the enrolment is finished.
    Grace,
    /// A step-up was made, or nothing that could be proved counts.
    Proved,
}

impl EnrolmentGround {
    /// As the last used step of a pending authenticator app, which has used none.
    pub fn as_step(self) -> i64 {
        match self {
            Self::First => -3,
            Self::Grace => -2,
            Self::Proved => -1,
        }
    }

    /// From the last used step of a pending authenticator app.
    pub fn of_step(step: i64) -> Self {
        match step {
            -2 => Self::Grace,
            -1 => Self::Proved,
            _ => Self::First,
        }
    }
}

/// A session, locked, on which a factor is enrolled, and its user.
pub struct Enrolling {
    /// The locked account.
    pub account: Account,
    /// The session as it is now.
    pub session: Session,
    /// What the session owes by today's policy, whatever it owed when it began.
    pub standing_today: Standing,
}

impl Enrolling {
    fn owes(&self) -> bool {
        self.session.standing == Standing::Owing || self.standing_today == Standing::Owing
    }
}

/// Whether one more factor may be enrolled: by which leave, or `None` where a step-up is needed.
pub async fn may_enrol<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    enrolling: &Enrolling,
    factors: &[Factor],
) -> Result<Option<EnrolmentGround>, Error> {
    let (session, mfa) = (&enrolling.session, &enrolling.account.policy.mfa);
    let counts = |factor: &Factor| factor.is_verified() && mfa.accepts(factor.kind());
    if !factors.iter().any(Factor::is_verified) {
        // Where recovery codes stand in for factors that were removed, one has to be proved first.
        let stands_in = enrolling.owes() && !session.has_second_factor();
        if stands_in && store.unused_codes(&session.user).await? > 0 {
            return Err(Error::MfaRequired);
        }
        check_fresh(session, ctx.now)?;
        Ok(Some(EnrolmentGround::First))
    } else if session.has_grace(GraceAct::Enrol, ctx.now) {
        Ok(Some(EnrolmentGround::Grace))
    } else if !factors.iter().any(counts) {
        // None can be proved any more: whoever has just signed in with the one there is enrols one that counts.
        if !session.has_second_factor() {
            return Err(too_long_ago());
        }
        check_fresh(session, ctx.now)?;
        Ok(Some(EnrolmentGround::Proved))
    } else if enrolling.owes() {
        // What is there is proved by going on with the sign-in.
        Err(Error::MfaRequired)
    } else {
        Ok(None)
    }
}

/// Refuses where these are as many factors as a user may have.
pub fn check_room<'a>(factors: impl IntoIterator<Item = &'a Factor>) -> Result<(), Error> {
    let verified = factors.into_iter().filter(|factor| factor.is_verified()).count();
    if verified < MAX_FACTORS { Ok(()) } else { Err(Error::TooManyFactors) }
}

/// A factor that is about to count.
pub struct Finishing {
    enrolling: Enrolling,
    /// Whether a step-up is needed: leave may have been used up, or a first factor may be there meanwhile.
    pub needs_step_up: bool,
    /// The user's other verified factors, by kind.
    others: Vec<FactorKind>,
}

/// Looks whether an enrolment that was begun may be finished.
pub async fn finishing<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    mut enrolling: Enrolling,
    factor: &Factor,
    leave: EnrolmentGround,
) -> Result<Finishing, Error> {
    let mut others = store.factors(&enrolling.session.user).await?;
    others.retain(|other| other.is_verified() && other.id != factor.id);
    check_room(&others)?;
    let needs_step_up = match leave {
        EnrolmentGround::Proved => false,
        EnrolmentGround::First if others.is_empty() => false,
        _ if enrolling.session.has_grace(GraceAct::Enrol, ctx.now) => {
            enrolling.session.consume(GraceAct::Enrol);
            false
        }
        _ => true,
    };
    Ok(Finishing { enrolling, needs_step_up, others: others.iter().map(Factor::kind).collect() })
}

/// A factor that counts from now on.
pub struct Enrolled {
    /// What the audit log says of it.
    pub events: Vec<Event>,
    /// The session under its new id, where a kind of factor was proved on it for the first time.
    pub renewed: Option<Box<StartedSession>>,
}

/// Lets a factor count that the user has proved to have. A session that owed one is complete from now on.
pub async fn finish<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    finishing: Finishing,
    factor: &Factor,
) -> Result<Enrolled, Error> {
    let Finishing { enrolling, others, .. } = finishing;
    let owes = enrolling.owes();
    let Enrolling { account, mut session, .. } = enrolling;
    let mut requirements = Requirements::of_policy(&account.policy, account.person.break_glass);
    requirements.verified = others;
    let from = if owes { State::EnrolmentOwed } else { State::SignedIn };
    let state = next(from, Step::Enrol(factor.kind()), &requirements)?;
    if requirements.verified.is_empty() {
        begin_grace(&mut session, ctx.now);
    }
    let method = match factor.kind() {
        FactorKind::Totp => Method::Totp,
        FactorKind::Webauthn => Method::Passkey,
    };
    let is_new = !session.methods.contains(&method);
    if is_new {
        session.methods.push(method);
    }
    let mut events = Vec::new();
    if owes && state.is_complete() {
        session.standing = Standing::Full;
        session.signed_in_at = ctx.now;
        events.push(events::signed_in(&session));
        if let Some(ip) = ctx.ip {
            let origin = attempts::origin(Some(ip));
            events.extend(events::record_origin(ctx, store, &session, &origin).await?);
        }
    }
    store.update_session(&session).await?;
    if is_new {
        let old = sessions::renew(ctx, store, &mut session).await?;
        events.push(events::session_renewed(&session, &old));
    }
    events.push(enrolled(&session, factor));
    let Account { person, policy } = account;
    let absolute_days = policy.session.absolute_days;
    let started = || Box::new(StartedSession { session, person, absolute_days, notice: None });
    Ok(Enrolled { events, renewed: is_new.then(started) })
}

/// The first factor lets its session enrol one more and generate recovery codes. One that a recovery code has begun had
/// its grace already.
fn begin_grace(session: &mut Session, now: Timestamp) {
    if session.grace.as_ref().is_some_and(|grace| grace.kind == GraceKind::Recovery) {
        session.consume(GraceAct::Enrol);
    } else {
        session.grace = Some(Grace::new(GraceKind::FirstFactor, now));
    }
}

fn enrolled(session: &Session, factor: &Factor) -> Event {
    let passkey = factor.passkey();
    let data = FactorEnrolled {
        user: session.user.to_string(),
        kind: factor.kind().as_str(),
        aaguid: passkey.map(|passkey| passkey.aaguid.to_string()),
        backup_eligible: passkey.map(Passkey::backup_eligible),
    };
    Event::new(factor.id.as_str(), &data)
}
