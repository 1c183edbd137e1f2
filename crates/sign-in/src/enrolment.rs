//! Decides who may enrol a factor, and updates the session afterwards.

use audit::{Event, events::credentials::FactorEnrolled};
use credentials::{Factor, FactorKind, MAX_FACTORS, MfaPolicy, Passkey, attempts};
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

/// Milliseconds after a sign-in within which a user without factors may enrol the first or change the password.
const FRESH: i64 = 5 * 60_000;
/// Milliseconds after a sign-in or step-up within which a token with write access may be created.
const RECENT: i64 = 10 * 60_000;

/// Refuses unless the user has signed in on this session within the last five minutes.
pub fn check_fresh(session: &Session, now: Timestamp) -> Result<(), Error> {
    if now < session.signed_in_at.plus_millis(FRESH) { Ok(()) } else { Err(too_long_ago()) }
}

fn too_long_ago() -> Error {
    Error::SignInRequired("Sign in again. This operation requires a sign-in within the last five minutes.")
}

/// Returns the earliest time of a sign-in or step-up that still permits creating a token with write access, or in a
/// session that is bound to a device.
pub fn recent_since(now: Timestamp) -> Timestamp {
    now.plus_millis(-RECENT)
}

/// The error for creating a token without a sign-in or step-up since [`recent_since`].
pub fn not_recent() -> Error {
    Error::SignInRequired(
        "Sign in again. Creating this token requires a sign-in or step-up within the last ten minutes.",
    )
}

/// The grounds on which an enrolment was permitted when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnrolmentGround {
    /// The user had no factor and a recent sign-in.
    First,
    /// The session had a grace. Finishing the enrolment uses it up.
    Grace,
    /// The user completed a step-up, or has no factor that the tenant accepts.
    Proved,
    /// A sign-in with a code offered a passkey that the browser may create without asking the user.
    Offered,
}

impl EnrolmentGround {
    /// Encodes the grounds as the `last_step` of a pending authenticator app, which has no last step yet.
    pub fn as_step(self) -> i64 {
        match self {
            Self::First => -3,
            Self::Grace => -2,
            Self::Proved => -1,
            Self::Offered => -4,
        }
    }

    /// Decodes the grounds from the `last_step` of a pending authenticator app.
    pub fn of_step(step: i64) -> Self {
        match step {
            -2 => Self::Grace,
            -1 => Self::Proved,
            _ => Self::First,
        }
    }
}

/// A locked session on which a factor is enrolled, and its account.
pub struct Enrolling {
    /// The locked account.
    pub account: Account,
    /// The current row of the session.
    pub session: Session,
    /// The standing required by today's policy, which may differ from the one when the session began.
    pub standing_today: Standing,
}

impl Enrolling {
    fn owes(&self) -> bool {
        self.session.standing == Standing::Owing || self.standing_today == Standing::Owing
    }
}

/// Decides whether the user may enrol another factor, and on which grounds; `None` if a step-up is required.
pub async fn may_enrol<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    enrolling: &Enrolling,
    factors: &[Factor],
) -> Result<Option<EnrolmentGround>, Error> {
    let (session, mfa) = (&enrolling.session, &enrolling.account.policy.mfa);
    let counts = |factor: &Factor| factor.is_verified() && mfa.accepts(factor.kind());
    if !factors.iter().any(Factor::is_verified) {
        // Recovery codes replace factors that were removed. The user has to prove one before enrolling another.
        let stands_in = enrolling.owes() && !session.has_second_factor();
        if stands_in && store.unused_codes(&session.user).await? > 0 {
            return Err(Error::MfaRequired);
        }
        check_fresh(session, ctx.now)?;
        Ok(Some(EnrolmentGround::First))
    } else if session.has_grace(GraceAct::Enrol, ctx.now) {
        Ok(Some(EnrolmentGround::Grace))
    } else if !factors.iter().any(counts) {
        // The tenant accepts none of the user's factors. The user may enrol one it accepts right after signing in
        // with the factor they have.
        if !session.has_second_factor() {
            return Err(too_long_ago());
        }
        check_fresh(session, ctx.now)?;
        Ok(Some(EnrolmentGround::Proved))
    } else if enrolling.owes() {
        // The user has to finish the sign-in with an existing factor.
        Err(Error::MfaRequired)
    } else {
        Ok(None)
    }
}

/// Returns whether a session that was started with a recovery code may remove this lost factor without a step-up.
pub fn has_grace_to_remove(session: &Session, factor: &Factor, now: Timestamp) -> bool {
    let is_older = session.grace.as_ref().is_some_and(|grace| factor.created_at < grace.since);
    is_older && session.has_grace(GraceAct::Remove, now)
}

/// Refuses if the user already has [`MAX_FACTORS`] verified factors.
pub fn check_room<'a>(factors: impl IntoIterator<Item = &'a Factor>) -> Result<(), Error> {
    let verified = factors.into_iter().filter(|factor| factor.is_verified()).count();
    if verified < MAX_FACTORS { Ok(()) } else { Err(Error::TooManyFactors) }
}

/// An enrolment that is ready to be finished.
pub struct Finishing {
    enrolling: Enrolling,
    /// Whether a step-up is required: the grace may have been used up, or another factor enrolled meanwhile.
    pub needs_step_up: bool,
    /// The user's other verified factors, by kind.
    others: Vec<FactorKind>,
}

/// Checks whether an enrolment may be finished now.
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
    let has_grace = enrolling.session.has_grace(GraceAct::Enrol, ctx.now);
    let accepts = |other: &Factor| enrolling.account.policy.mfa.accepts(other.kind());
    if enrolling.owes() && !has_grace && others.iter().any(accepts) {
        // An existing factor has to be proved first. When the enrolment began, the session did not owe one, or the user had none.
        return Err(Error::MfaRequired);
    }
    let needs_step_up = match leave {
        EnrolmentGround::Proved | EnrolmentGround::Offered => false,
        EnrolmentGround::First if others.is_empty() => false,
        _ if has_grace => {
            enrolling.session.consume(GraceAct::Enrol);
            false
        }
        _ => true,
    };
    Ok(Finishing { enrolling, needs_step_up, others: others.iter().map(Factor::kind).collect() })
}

/// The result of a finished enrolment.
pub struct Enrolled {
    /// The audit events to record.
    pub events: Vec<Event>,
    /// The session under its new id, if this kind of factor was proved on it for the first time.
    pub renewed: Option<Box<StartedSession>>,
}

/// Whether the user may get a passkey without knowing: the tenant accepts passkeys and one of these factors. Sign-ins ask for the
/// passkey from then on, and without another factor the user could not sign in where that passkey is missing.
pub(crate) fn may_get_passkey(mfa: &MfaPolicy, others: impl IntoIterator<Item = FactorKind>) -> bool {
    mfa.accepts(FactorKind::Webauthn) && others.into_iter().any(|kind| mfa.accepts(kind))
}

/// Accepts a passkey that the browser created without asking the user. The session gains nothing by it.
///
/// # Errors
/// [`Error::FactorInvalid`] if the tenant no longer accepts passkeys, or none of the user's other factors.
pub fn finish_conditional(finishing: &Finishing, factor: &Factor) -> Result<Enrolled, Error> {
    let Finishing { enrolling, others, .. } = finishing;
    if !may_get_passkey(&enrolling.account.policy.mfa, others.iter().copied()) || enrolling.owes() {
        return Err(Error::FactorInvalid);
    }
    Ok(Enrolled { events: vec![enrolled(&enrolling.session, factor, true)], renewed: None })
}

/// Accepts the factor that the user has proved. A session that owed a factor is complete from now on.
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
        events.push(events::session_renewed(&session, &old, &[method]));
    }
    events.push(enrolled(&session, factor, false));
    let Account { person, policy } = account;
    let absolute_days = policy.session.absolute_days;
    let started =
        || Box::new(StartedSession { session, person, absolute_days, notice: None, passkey_offer: None });
    Ok(Enrolled { events, renewed: is_new.then(started) })
}

/// Grants a grace after the first factor, for enrolling one more and generating recovery codes. A session begun with
/// a recovery code has already had its grace.
fn begin_grace(session: &mut Session, now: Timestamp) {
    if session.grace.as_ref().is_some_and(|grace| grace.kind == GraceKind::Recovery) {
        session.consume(GraceAct::Enrol);
    } else {
        session.grace = Some(Grace::new(GraceKind::FirstFactor, now));
    }
}

fn enrolled(session: &Session, factor: &Factor, is_conditional: bool) -> Event {
    let passkey = factor.passkey();
    let data = FactorEnrolled {
        user: session.user.to_string(),
        kind: factor.kind().as_str(),
        aaguid: passkey.map(|passkey| passkey.aaguid.to_string()),
        backup_eligible: passkey.map(Passkey::backup_eligible),
        conditional: is_conditional.then_some(true),
    };
    Event::new(factor.id.as_str(), &data)
}
