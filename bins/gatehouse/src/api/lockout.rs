//! Prevents changes after which no administrator of a tenant could sign in.

use attestation::{AttestationPolicyStore, Mode};
use audit::Event;
use credentials::{PasskeyUse, SignInMeans, SignInPolicy, SignInStore};
use directory::{Person, Role};
use kernel::{Ctx, StoreResult, Timestamp, UserId};
use saml_sp::{EmailDomain, Provider, ProviderStore};
use sign_in::Account;
use store::{Administrator, Tx};

use super::Site;
use gate::{
    access::lifetime,
    errors::{Code, Problem},
    step_up::PresentedStepUp,
};

/// Records whether an administrator could sign in before a change, to compare with the state after it.
///
/// Create it after locking user rows and before the change. It locks the tenant, so that of two concurrent changes
/// that
/// together lock everybody out, the second sees the first.
pub(crate) struct Lockout {
    passkeys_work: bool,
    was_possible: bool,
}

impl Lockout {
    /// Locks the tenant and checks whether an administrator could sign in before the change.
    pub(crate) async fn before(site: &Site, ctx: &Ctx, tx: &mut Tx) -> Result<Self, Problem> {
        let policy = tx.sign_in_policy_to_change().await?;
        Self::under(&policy, site, ctx, tx).await
    }

    /// Does the same before a change of a user. Only changes of administrators can lock them out.
    pub(crate) async fn before_act_on(
        person: &Person,
        site: &Site,
        ctx: &Ctx,
        tx: &mut Tx,
    ) -> Result<Self, Problem> {
        match person.role {
            Role::Admin => Self::before(site, ctx, tx).await,
            Role::Member => Ok(Self { passkeys_work: false, was_possible: false }),
        }
    }

    /// Does the same before a change of the caller's own account, which `lock_to_remove` has locked.
    pub(crate) async fn before_own_act(
        account: &Account,
        site: &Site,
        ctx: &Ctx,
        tx: &mut Tx,
    ) -> Result<Self, Problem> {
        match account.person.role {
            Role::Admin => Self::under(&account.policy, site, ctx, tx).await,
            Role::Member => Ok(Self { passkeys_work: false, was_possible: false }),
        }
    }

    async fn under(policy: &SignInPolicy, site: &Site, ctx: &Ctx, tx: &mut Tx) -> Result<Self, Problem> {
        let passkeys_work = site.auth.passkeys().is_ok();
        let was_possible = what_is_missing(policy, passkeys_work, ctx, tx).await?.is_none();
        Ok(Self { passkeys_work, was_possible })
    }

    /// Fails with 409 `LOCKOUT_PROTECTION` if an administrator could sign in before the change and none could after
    /// it.
    pub(crate) async fn after(self, ctx: &Ctx, tx: &mut Tx) -> Result<(), Problem> {
        if !self.was_possible {
            return Ok(());
        }
        let policy = tx.sign_in_policy().await?;
        require_way_in(&policy, self.passkeys_work, ctx, tx).await
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
) -> Result<(), Problem> {
    require_way_in(policy, site.auth.passkeys().is_ok(), ctx, tx).await
}

/// Returns the requirement that keeps all administrators from signing in under a policy, if there is one. For the
/// command line, which does not know whether passkeys work.
pub(crate) async fn missing(
    policy: &SignInPolicy,
    ctx: &Ctx,
    tx: &mut Tx,
) -> StoreResult<Option<&'static str>> {
    what_is_missing(policy, true, ctx, tx).await
}

/// Fails with 409 `LOCKOUT_PROTECTION`, naming the missing requirement, if no administrator could sign in.
async fn require_way_in(
    policy: &SignInPolicy,
    passkeys_work: bool,
    ctx: &Ctx,
    tx: &mut Tx,
) -> Result<(), Problem> {
    let Some(missing) = what_is_missing(policy, passkeys_work, ctx, tx).await? else { return Ok(()) };
    let problem = format!("no administrator could sign in after this change: {missing}");
    Err(Problem::new(Code::LockoutProtection, problem))
}

async fn what_is_missing(
    policy: &SignInPolicy,
    passkeys_work: bool,
    ctx: &Ctx,
    tx: &mut Tx,
) -> StoreResult<Option<&'static str>> {
    let any_may_be_enrolled = tx.attestation_policy().await?.mode == Mode::Off;
    let passkeys = PasskeyUse { work: passkeys_work, any_may_be_enrolled };
    let administrators = tx.administrators(lifetime(policy), ctx.now).await?;
    let providers = tx.providers().await?;
    let is_possible = administrators.iter().any(|administrator| {
        let means = SignInMeans {
            has_password: administrator.has_password && administrator.email_key.is_some(),
            has_passkey: administrator.has_passkey,
            break_glass: administrator.break_glass,
            has_sso: has_sso(administrator, &providers, ctx.now),
        };
        policy.admits(&means, passkeys)
    });
    Ok((!is_possible).then(|| policy.what_is_missing(passkeys)))
}

/// Returns whether the administrator can sign in through SSO: with a working provider for the domain of the email
/// address, or with a session of a neighbouring service that shares our secret.
fn has_sso(administrator: &Administrator, providers: &[Provider], now: Timestamp) -> bool {
    let domain = administrator.email_key.as_deref().and_then(EmailDomain::of);
    let speaks = |provider: &Provider| {
        let of_domain = domain.as_ref().is_some_and(|domain| provider.email_domains.contains(domain));
        of_domain && provider.idp.certificates.iter().any(|certificate| certificate.is_valid_at(now))
    };
    administrator.has_foreign_session || providers.iter().any(speaks)
}
