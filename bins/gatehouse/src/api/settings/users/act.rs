//! An act of an administrator on a user, with its step-up and the protection against lockouts.

use audit::Event;
use directory::{HeldRoles, Person};
use gate::{errors::Problem, step_up::PresentedStepUp};
use kernel::{Ctx, UserId};
use sign_in::Lockout;
use store::Tx;

use crate::api::Site;

/// Locks a user for an act of an administrator, consumes the step-up, and runs the act. Refuses it if no administrator
/// could sign in afterwards. Returns the result and the audit events of the step-up.
pub(crate) async fn act_on<T>(
    (by, id): (&HeldRoles, &UserId),
    proof: &PresentedStepUp,
    site: &Site,
    ctx: &Ctx,
    tx: &mut Tx,
    act: impl AsyncFnOnce(&mut Tx, &Person) -> Result<T, Problem>,
) -> Result<(T, Vec<Event>), Problem> {
    let spending = proof.lock_both_and_consume(ctx, tx, id).await?;
    let person = directory::find_to_act_on(tx, by, id).await?;
    let lockout = Lockout::before_change_of(tx, &person, site.auth.passkeys_work(), ctx.now).await?;
    let done = act(tx, &person).await?;
    lockout.after(tx, ctx.now).await?;
    Ok((done, spending.events()?))
}
