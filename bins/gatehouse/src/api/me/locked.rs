//! The signed-in user's own account, locked for a change, and the step-up that such a change asks for.

use audit::Event;
use credentials::Factor;
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
    step_up::{AccountSecurityChange, IfAsked},
};

/// The step-up that changes of an account's security ask for.
pub(crate) type Proof = IfAsked<AccountSecurityChange>;

/// Locks the account and the session as it is now.
pub(crate) async fn lock(tx: &mut Tx, signed: &Signed) -> Result<(Account, Session), Problem> {
    let account = lock_account(tx, &signed.session.user).await?;
    Ok((account, lock_session(tx, &signed.session).await?))
}

/// The same for an act that may take away what an administrator signs in with: of two such acts the second waits for the
/// first.
pub(crate) async fn lock_to_remove(tx: &mut Tx, signed: &Signed) -> Result<(Account, Session), Problem> {
    let account = lock_account_to_remove(tx, &signed.session.user).await?;
    Ok((account, lock_session(tx, &signed.session).await?))
}

/// The same for enrolling a factor.
pub(crate) async fn lock_to_enrol(tx: &mut Tx, signed: &Signed) -> Result<Enrolling, Problem> {
    let (account, session) = lock(tx, signed).await?;
    Ok(Enrolling { account, session, standing_today: signed.session.standing })
}

/// The leave to enrol one more factor, with a step-up where one is needed.
pub(crate) async fn leave_to_enrol(
    ctx: &Ctx,
    tx: &mut Tx,
    enrolling: &Enrolling,
    factors: &[Factor],
    proof: &Proof,
) -> Result<(EnrolmentGround, Vec<Event>), Problem> {
    if let Some(leave) = enrolment::may_enrol(ctx, tx, enrolling, factors).await? {
        enrolment::check_room(factors)?;
        return Ok((leave, Vec::new()));
    }
    let spending = proof.consume(ctx, tx).await?;
    enrolment::check_room(factors)?;
    Ok((EnrolmentGround::Proved, spending.events()?))
}

/// Lets a factor count from now on, with a step-up where one is needed.
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

/// Refuses unless the user has signed in on this session, or stepped up in it, within the last ten minutes.
pub(crate) async fn check_recent(ctx: &Ctx, tx: &mut Tx, session: &Session) -> Result<(), Problem> {
    let since = enrolment::recent_since(ctx.now);
    if session.signed_in_at > since || tx.has_stepped_up(session.id.as_str(), since).await? {
        return Ok(());
    }
    Err(enrolment::not_recent().into())
}
