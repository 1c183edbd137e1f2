//! Locks the caller's own account for a change, and the step-up that such a change requires.

use audit::Event;
use credentials::{Factor, FactorStore};
use kernel::Ctx;
use sessions::Session;
use sign_in::{
    Account,
    enrolment::{self, Enrolled, Enrolling, EnrolmentGround},
    lock_account, lock_account_to_remove, lock_session,
};
use store::Tx;

use gate::{
    caller::Signed,
    errors::Problem,
    step_up::{AccountSecurityChange, ConsumedStepUp, OptionalStepUp},
};

/// The step-up that changes of account security require.
pub(crate) type Proof = OptionalStepUp<AccountSecurityChange>;

/// Locks the account and the current session.
pub(crate) async fn lock(tx: &mut Tx, signed: &Signed) -> Result<(Account, Session), Problem> {
    let account = lock_account(tx, &signed.session.user).await?;
    Ok((account, lock_session(tx, &signed.session).await?))
}

/// Locks the account and the session for a change that may remove a credential of an administrator. Such changes are
/// serialized.
pub(crate) async fn lock_to_remove(tx: &mut Tx, signed: &Signed) -> Result<(Account, Session), Problem> {
    let account = lock_account_to_remove(tx, &signed.session.user).await?;
    Ok((account, lock_session(tx, &signed.session).await?))
}

/// Locks the account and the session to enrol a factor.
pub(crate) async fn lock_to_enrol(tx: &mut Tx, signed: &Signed) -> Result<Enrolling, Problem> {
    let (account, session) = lock(tx, signed).await?;
    Ok(Enrolling { account, session, standing_today: signed.session.standing })
}

/// An enrolment that may begin.
pub(crate) struct PermittedEnrolment {
    pub(crate) enrolling: Enrolling,
    /// The user's present factors.
    pub(crate) factors: Vec<Factor>,
    pub(crate) ground: EnrolmentGround,
    /// The audit events of the step-up.
    pub(crate) events: Vec<Event>,
}

/// Locks the account and the session, checks whether the user may enrol another factor, and consumes a step-up if one
/// is needed.
pub(crate) async fn permit_enrolment(
    ctx: &Ctx,
    tx: &mut Tx,
    signed: &Signed,
    proof: &Proof,
) -> Result<PermittedEnrolment, Problem> {
    let enrolling = lock_to_enrol(tx, signed).await?;
    let factors = tx.factors(&enrolling.session.user).await?;
    let permitted = enrolment::may_enrol(ctx, tx, &enrolling, &factors).await?;
    let spending = match permitted {
        Some(_) => ConsumedStepUp::none(),
        None => proof.consume(ctx, tx).await?,
    };
    enrolment::check_room(&factors)?;
    let ground = permitted.unwrap_or(EnrolmentGround::Proved);
    Ok(PermittedEnrolment { enrolling, factors, ground, events: spending.events()? })
}

/// Completes the enrolment of a factor, and consumes a step-up if one is needed.
pub(crate) async fn finish_enrolment(
    ctx: &Ctx,
    tx: &mut Tx,
    enrolling: Enrolling,
    factor: &Factor,
    leave: EnrolmentGround,
    proof: &Proof,
) -> Result<Enrolled, Problem> {
    let finishing = enrolment::finishing(ctx, tx, enrolling, factor, leave).await?;
    let mut events =
        if finishing.needs_step_up { proof.consume(ctx, tx).await?.events()? } else { Vec::new() };
    let enrolled = enrolment::finish(ctx, tx, finishing, factor).await?;
    events.extend(enrolled.events);
    Ok(Enrolled { events, ..enrolled })
}

/// Fails unless this session had a sign-in or a step-up within the last ten minutes.
pub(crate) async fn check_recent(ctx: &Ctx, tx: &mut Tx, session: &Session) -> Result<(), Problem> {
    let since = enrolment::recent_since(ctx.now);
    if session.signed_in_at > since || tx.has_stepped_up(session.id.as_str(), since).await? {
        return Ok(());
    }
    Err(enrolment::not_recent().into())
}
