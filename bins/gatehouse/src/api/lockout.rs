//! No act of an administrator leaves a tenant that no administrator can sign in to.

use attestation::{AttestationPolicyStore, Mode};
use credentials::{PasskeyUse, SignInMeans, SignInPolicy, SignInStore};
use directory::{Person, Role};
use kernel::{Ctx, StoreResult, Timestamp};
use saml_sp::{EmailDomain, Provider, ProviderStore};
use sign_in::Account;
use store::{Administrator, Tx};

use super::Site;
use gate::{
    access::lifetime,
    errors::{Code, Problem},
};

/// Looks at the administrators before an act, so that it can be compared with what the act leaves.
///
/// Made after the rows of people are locked, and before the act: it locks the tenant, so that of two acts that together
/// lock everybody out the second sees the first.
pub(crate) struct Lockout {
    passkeys_work: bool,
    was_possible: bool,
}

impl Lockout {
    /// Whether an administrator could sign in before the act.
    pub(crate) async fn before(site: &Site, ctx: &Ctx, tx: &mut Tx) -> Result<Self, Problem> {
        let policy = tx.sign_in_policy_to_change().await?;
        Self::under(&policy, site, ctx, tx).await
    }

    /// The same before an act on a person: only acts on administrators can lock them out.
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

    /// The same before somebody's act on their own account, locked by `lock_to_remove`.
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

    /// Refuses the act, 409 `LOCKOUT_PROTECTION`, where an administrator could sign in before it and none could after it.
    pub(crate) async fn after(self, ctx: &Ctx, tx: &mut Tx) -> Result<(), Problem> {
        if !self.was_possible {
            return Ok(());
        }
        let policy = tx.sign_in_policy().await?;
        require_way_in(&policy, self.passkeys_work, ctx, tx).await
    }
}

/// Refuses a policy under which no administrator could sign in.
pub(crate) async fn guard_policy(
    site: &Site,
    policy: &SignInPolicy,
    ctx: &Ctx,
    tx: &mut Tx,
) -> Result<(), Problem> {
    require_way_in(policy, site.auth.passkeys().is_ok(), ctx, tx).await
}

/// What is missing under a policy for an administrator to be able to sign in, if anything is; for the command line, which
/// does not know whether passkeys work.
pub(crate) async fn missing(
    policy: &SignInPolicy,
    ctx: &Ctx,
    tx: &mut Tx,
) -> StoreResult<Option<&'static str>> {
    what_is_missing(policy, true, ctx, tx).await
}

/// 409 `LOCKOUT_PROTECTION`, with what is missing, where no administrator could sign in.
async fn require_way_in(
    policy: &SignInPolicy,
    passkeys_work: bool,
    ctx: &Ctx,
    tx: &mut Tx,
) -> Result<(), Problem> {
    let Some(missing) = what_is_missing(policy, passkeys_work, ctx, tx).await? else { return Ok(()) };
    let problem = format!("no administrator could sign in any more: {missing}");
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

/// Whether a provider that works speaks for the administrator's address, or a neighbouring service with our secret signs
/// them in.
fn has_sso(administrator: &Administrator, providers: &[Provider], now: Timestamp) -> bool {
    let domain = administrator.email_key.as_deref().and_then(EmailDomain::of);
    let speaks = |provider: &Provider| {
        let of_domain = domain.as_ref().is_some_and(|domain| provider.email_domains.contains(domain));
        of_domain && provider.idp.certificates.iter().any(|certificate| certificate.is_valid_at(now))
    };
    administrator.has_foreign_session || providers.iter().any(speaks)
}
