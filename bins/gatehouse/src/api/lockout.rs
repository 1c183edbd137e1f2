//! Prevents changes after which no administrator could sign in, on a server where passkeys may not work.

use credentials::SignInPolicy;
use directory::Person;
use kernel::{Ctx, StoreResult};
use sign_in::{Account, LockoutError};
use store::Tx;

use super::Site;

/// See [`sign_in::Lockout`].
pub(crate) struct Lockout(sign_in::Lockout);

impl Lockout {
    pub(crate) async fn before(site: &Site, ctx: &Ctx, tx: &mut Tx) -> StoreResult<Self> {
        Ok(Self(sign_in::Lockout::before(tx, passkeys_work(site), ctx.now).await?))
    }

    pub(crate) async fn before_act_on(
        person: &Person,
        site: &Site,
        ctx: &Ctx,
        tx: &mut Tx,
    ) -> StoreResult<Self> {
        Ok(Self(sign_in::Lockout::before_change_of(tx, person, passkeys_work(site), ctx.now).await?))
    }

    pub(crate) async fn before_own_act(
        account: &Account,
        site: &Site,
        ctx: &Ctx,
        tx: &mut Tx,
    ) -> StoreResult<Self> {
        Ok(Self(sign_in::Lockout::before_own_change(tx, account, passkeys_work(site), ctx.now).await?))
    }

    /// Fails with 409 `LOCKOUT_PROTECTION` if an administrator could sign in before the change and none could after
    /// it.
    pub(crate) async fn after(self, ctx: &Ctx, tx: &mut Tx) -> Result<(), LockoutError> {
        self.0.after(tx, ctx.now).await
    }
}

/// Locks a user for an act of an administrator, consumes the step-up, and runs the act. Refuses it if no administrator
/// could sign in afterwards. Returns the result and the audit events of the step-up.
pub(crate) async fn act_on<T>(
    id: &UserId,
    proof: &PresentedStepUp,
    site: &Site,
    ctx: &Ctx,
    tx: &mut Tx,
    act: impl AsyncFnOnce(&mut Tx, &Person) -> Result<T, Problem>,
) -> Result<(T, Vec<Event>), Problem> {
    let spending = proof.lock_both_and_consume(ctx, tx, id).await?;
    let person = directory::find_person(tx, id).await?;
    let lockout = Lockout::before_act_on(&person, site, ctx, tx).await?;
    let done = act(tx, &person).await?;
    lockout.after(ctx, tx).await?;
    Ok((done, spending.events()?))
}

/// Refuses a sign-in policy under which no administrator could sign in.
pub(crate) async fn guard_policy(
    site: &Site,
    policy: &SignInPolicy,
    ctx: &Ctx,
    tx: &mut Tx,
) -> Result<(), LockoutError> {
    sign_in::require_way_in(tx, policy, passkeys_work(site), ctx.now).await
}

/// Returns the requirement that keeps all administrators from signing in under a policy, if there is one. For the
/// command line, which does not know whether passkeys work.
pub(crate) async fn missing(
    policy: &SignInPolicy,
    ctx: &Ctx,
    tx: &mut Tx,
) -> StoreResult<Option<&'static str>> {
    sign_in::missing_to_sign_in(tx, policy, true, ctx.now).await
}

fn passkeys_work(site: &Site) -> bool {
    site.auth.passkeys().is_ok()
}
