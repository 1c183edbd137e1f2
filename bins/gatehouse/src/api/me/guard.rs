//! Who may change what signs a person in: with a fresh proof, or without one where the contract gives leave.

use audit::{Event, events::credentials::FactorEnrolled};
use credentials::{Factor, FactorKind, FactorStore, MAX_FACTORS, Passkey};
use kernel::{Ctx, StoreError, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::{Grace, GraceAct, GraceKind, Method, Session, SessionStore, Standing};
use store::Tx;

use crate::api::auth::Entered;
use gate::{
    caller::Signed,
    errors::{Code, Problem},
    signing_in::{self, Held},
    step_up::{AccountSecurityChange, IfAsked, Spending},
};

/// How long after a sign-in the first factor may be enrolled, and a password changed where there is none.
const FRESH: i64 = 5 * 60_000;

/// The proof that changes of an account's security ask for.
pub(crate) type Proof = IfAsked<AccountSecurityChange>;

/// With what leave an enrolment was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Begun {
    /// There was no factor, and the sign-in was fresh.
    First,
    /// The session had a grace, which is used up when the enrolment is finished.
    Grace,
    /// A proof was given.
    Proved,
}

impl Begun {
    /// In a pending factor, in the place of the step that it has not used yet.
    pub(crate) fn as_step(self) -> i64 {
        match self {
            Self::First => -3,
            Self::Grace => -2,
            Self::Proved => -1,
        }
    }

    pub(crate) fn of_step(step: i64) -> Self {
        match step {
            -2 => Self::Grace,
            -1 => Self::Proved,
            _ => Self::First,
        }
    }
}

/// How long after a sign-in or a step-up a token that writes may be minted.
const RECENT: i64 = 10 * 60_000;

/// 401: sign in again, here and now.
fn reauth_required() -> Problem {
    Problem::new(Code::ReauthRequired, "sign in again: this has to follow a sign-in within five minutes")
}

/// Whether the person has signed in on this session, or proved their presence in it, within the last ten minutes.
pub(crate) async fn recent(ctx: &Ctx, tx: &mut Tx, session: &Session) -> Result<(), Problem> {
    let since = ctx.now.plus_millis(-RECENT);
    if session.signed_in_at > since || tx.has_stepped_up(session.id.as_str(), since).await? {
        return Ok(());
    }
    let message =
        "sign in again: a token that writes has to follow a sign-in or a step-up within ten minutes";
    Err(Problem::new(Code::ReauthRequired, message))
}

/// Whether the person has signed in on this session just now.
pub(crate) fn fresh(session: &Session, now: Timestamp) -> Result<(), Problem> {
    if now < session.signed_in_at.plus_millis(FRESH) { Ok(()) } else { Err(reauth_required()) }
}

/// What the session owes by today's policy, whatever it owed when it began.
fn owes(signed: &Signed, session: &Session) -> bool {
    session.standing == Standing::Owing || signed.session.standing == Standing::Owing
}

/// The session as it is now, and whose it is, held until the end of the unit of work.
pub(crate) async fn hold(tx: &mut Tx, signed: &Signed) -> Result<(Held, Session), Problem> {
    Ok((signing_in::hold(tx, &signed.session.user).await?, unrevoked(tx, signed).await?))
}

/// The same for an act that may take away what an administrator signs in with: of two such acts the second waits for the first.
pub(crate) async fn hold_to_remove(tx: &mut Tx, signed: &Signed) -> Result<(Held, Session), Problem> {
    Ok((signing_in::hold_to_remove(tx, &signed.session.user).await?, unrevoked(tx, signed).await?))
}

async fn unrevoked(tx: &mut Tx, signed: &Signed) -> Result<Session, Problem> {
    let session = tx.session(&signed.session.id).await?.filter(|session| session.revoked_at.is_none());
    session.ok_or_else(Problem::session_revoked)
}

fn too_many() -> Problem {
    Problem::new(Code::Conflict, format!("there are {MAX_FACTORS} factors; remove one first"))
}

/// Whether one more factor may be enrolled.
pub(crate) async fn may_enrol(
    ctx: &Ctx,
    tx: &mut Tx,
    signed: &Signed,
    (held, session): &(Held, Session),
    factors: &[Factor],
    proof: &Proof,
) -> Result<(Begun, Vec<Event>), Problem> {
    let counts = |factor: &Factor| factor.is_verified() && held.policy.mfa.accepts(factor.kind());
    let mut spending = Spending::none();
    let begun = if !factors.iter().any(Factor::is_verified) {
        // Where codes stand in for factors that were removed, one has to be proved first.
        let stands_in = owes(signed, session) && !session.has_second_factor();
        if stands_in && tx.unused_codes(&session.user).await? > 0 {
            return Err(Problem::mfa_required());
        }
        fresh(session, ctx.now)?;
        Begun::First
    } else if session.has_grace(GraceAct::Enrol, ctx.now) {
        Begun::Grace
    } else if !factors.iter().any(counts) {
        // None can be proved any more: whoever has just signed in with the one there is enrols one that counts.
        if !session.has_second_factor() {
            return Err(reauth_required());
        }
        fresh(session, ctx.now)?;
        Begun::Proved
    } else if owes(signed, session) {
        // What is there is proved by going on with the sign-in.
        return Err(Problem::mfa_required());
    } else {
        spending = proof.spend(ctx, tx).await?;
        Begun::Proved
    };
    if factors.iter().filter(|factor| factor.is_verified()).count() >= MAX_FACTORS {
        return Err(too_many());
    }
    Ok((begun, spending.events()?))
}

/// Whether what was begun may be finished: leave may have been used up, or a first factor may be there meanwhile.
async fn may_finish(
    ctx: &Ctx,
    tx: &mut Tx,
    begun: Begun,
    session: &mut Session,
    has_factor: bool,
    proof: &Proof,
) -> Result<Vec<Event>, Problem> {
    match begun {
        Begun::Proved => Ok(Vec::new()),
        Begun::First if !has_factor => Ok(Vec::new()),
        _ if session.has_grace(GraceAct::Enrol, ctx.now) => {
            session.spend(GraceAct::Enrol);
            Ok(Vec::new())
        }
        _ => proof.spend(ctx, tx).await?.events(),
    }
}

/// A factor that counts from now on.
pub(crate) struct Enrolled {
    pub(crate) events: Vec<Event>,
    /// The session under its new id, where the factor was proved on it for the first time.
    pub(crate) renewed: Option<Box<Entered>>,
}

/// A factor that the person has proved to have counts from now on.
pub(crate) async fn enrolled(
    ctx: &Ctx,
    tx: &mut Tx,
    signed: &Signed,
    (held, mut session): (Held, Session),
    factor: &Factor,
    begun: Begun,
    proof: &Proof,
) -> Result<Enrolled, Problem> {
    let others = tx.factors(&session.user).await?;
    let verified = others.iter().filter(|other| other.is_verified() && other.id != factor.id).count();
    if verified >= MAX_FACTORS {
        return Err(too_many());
    }
    let has_factor = verified > 0;
    let mut events = may_finish(ctx, tx, begun, &mut session, has_factor, proof).await?;
    let recovering = session.grace.as_ref().is_some_and(|grace| grace.kind == GraceKind::Recovery);
    if !has_factor && recovering {
        session.spend(GraceAct::Enrol);
    } else if !has_factor {
        session.grace = Some(Grace::new(GraceKind::FirstFactor, ctx.now));
    }
    let method = match factor.kind() {
        FactorKind::Totp => Method::Totp,
        FactorKind::Webauthn => Method::Passkey,
    };
    let owing = owes(signed, &session);
    let gains_factor = !session.methods.contains(&method);
    if gains_factor {
        session.methods.push(method);
    }
    if owing && held.policy.mfa.accepts(factor.kind()) {
        session.standing = Standing::Full;
        session.signed_in_at = ctx.now;
        events.push(signing_in::signed_in(&session));
        if let Some(ip) = ctx.ip {
            let origin = credentials::attempts::origin(Some(ip));
            events.extend(signing_in::came_from(ctx, tx, &session, &origin).await?);
        }
    }
    tx.update_session(&session).await?;
    if gains_factor {
        let old = sessions::renew(ctx, tx, &mut session).await?;
        events.push(signing_in::session_renewed(&session, &old));
    }
    let passkey = factor.passkey();
    let data = FactorEnrolled {
        user: session.user.to_string(),
        kind: factor.kind().as_str(),
        aaguid: passkey.map(|passkey| passkey.aaguid.to_string()),
        backup_eligible: passkey.map(Passkey::backup_eligible),
    };
    events.push(Event::new(factor.id.as_str(), &data));
    let Held { person, policy } = held;
    let absolute_days = policy.session.absolute_days;
    let renewed = gains_factor.then(|| Box::new(Entered { session, person, absolute_days, notice: None }));
    Ok(Enrolled { events, renewed })
}

/// Ends the person's other sessions, as a change of what signs them in does.
pub(crate) async fn end_others(
    ctx: &Ctx,
    tx: &mut Tx,
    session: &Session,
    why: &'static str,
) -> Result<Option<Event>, StoreError> {
    let count = sessions::revoke_all(ctx, tx, &session.user, Some(&session.id)).await?;
    let data = audit::events::sign_in::SessionsRevoked { count, why };
    Ok((count > 0).then(|| Event::new(session.user.as_str(), &data)))
}
