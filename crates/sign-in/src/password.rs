//! Email and password, and the choice between tenants.

use audit::{Audited, Unaudited};
use credentials::{TicketKind, TicketStore, Verdict};
use kernel::{Ctx, Email, TenantId, Timestamp, UserId};
use ring::digest;
use serde::{Deserialize, Serialize};
use sessions::Method;

use crate::{
    account::lock_account,
    device::Device,
    error::Error,
    factor::Verifiers,
    first_factor, network,
    outcome::Outcome,
    state::{State, Step, check_mode},
    store::Storage,
    ticket::{self, Progress, TicketText},
};

/// The properties of an account that decide whether a correct password opens it, read before the unit of work.
#[derive(Debug, Clone, Copy)]
pub struct AccountState {
    /// Whether the user may sign in.
    pub active: bool,
    /// Whether the tenant requires single sign-on for this user.
    pub requires_sso: bool,
}

impl AccountState {
    /// Returns why a correct password does not open the account: the reason for the audit log and the error.
    fn refusal(self) -> Option<(&'static str, Error)> {
        if !self.active {
            Some(("ACCOUNT_DISABLED", Error::AccountDisabled))
        } else if self.requires_sso {
            Some(("SSO_REQUIRED", Error::SsoRequired))
        } else {
            None
        }
    }
}

/// The accounts of an address after their passwords were compared.
pub struct ComparedAccounts<A> {
    /// The accounts that the password opens, and whether the hash needs to be upgraded.
    pub open: Vec<(A, bool)>,
    /// The accounts whose audit log records a failed sign-in, with the reason.
    pub failed: Vec<(A, &'static str)>,
    /// The error if no account is open.
    pub refusal: Error,
}

/// Sorts the accounts of an address by the result of comparing their passwords.
///
/// If the password fits no account, the intended one is unknown and all record a failure. If it fits any, the others
/// record nothing, so their tenants learn nothing.
pub fn compare<A>(
    accounts: Vec<A>,
    verdicts: &[Verdict],
    state: impl Fn(&A) -> AccountState,
) -> ComparedAccounts<A> {
    let mut compared =
        ComparedAccounts { open: Vec::new(), failed: Vec::new(), refusal: Error::InvalidCredentials };
    let (mut wrong, mut fits_any) = (Vec::new(), false);
    for (account, verdict) in accounts.into_iter().zip(verdicts) {
        let Verdict::Right { stale } = verdict else {
            wrong.push((account, "WRONG_PASSWORD"));
            continue;
        };
        match state(&account).refusal() {
            None => compared.open.push((account, *stale)),
            Some((reason, refusal)) => {
                compared.failed.push((account, reason));
                // The first account that fits determines the error.
                if !fits_any {
                    compared.refusal = refusal;
                }
            }
        }
        fits_any = true;
    }
    if !fits_any {
        compared.failed = wrong;
    }
    compared
}

/// An account whose password was compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FittingAccount {
    /// The slug of the tenant.
    pub slug: String,
    /// Tenant of the account.
    pub tenant: TenantId,
    /// User of the account.
    pub user: UserId,
    /// SHA-256 of the password hash that was compared.
    pub verified: [u8; 32],
    /// The sign-in address that the user entered ([`Email::key`]).
    #[serde(default)]
    pub email_key: String,
}

/// Returns a digest of a password hash, to detect a later change of the password.
pub fn password_digest(hash: Option<&str>) -> [u8; 32] {
    sha256(hash.unwrap_or_default().as_bytes())
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// The state of a ticket for the choice of a tenant.
#[derive(Serialize, Deserialize)]
struct TenantOffer {
    /// When the password was compared.
    at: Timestamp,
    choices: Vec<FittingAccount>,
}

/// Issues a ticket for the choice between the tenants of `choices`, stored in the tenant of the first.
pub async fn offer_tenants<S: TicketStore>(
    ctx: &Ctx,
    store: &mut S,
    user: &UserId,
    choices: Vec<FittingAccount>,
) -> Result<Audited<TicketText>, Error> {
    let offer = TenantOffer { at: ctx.now, choices };
    let state = serde_json::to_value(offer).map_err(Error::internal)?;
    let ticket = ticket::issue(ctx, store, TicketKind::TenantChoice, user, state).await?;
    Ok(Audited::without(ticket, Unaudited::StepTaken))
}

/// The tenant that the user has chosen.
pub struct ChosenTenant {
    /// The account in the chosen tenant.
    pub account: FittingAccount,
    /// When the password was compared.
    pub compared_at: Timestamp,
}

/// Chooses a tenant by its slug. Returns `None` for one that was not offered, which counts as a wrong answer.
pub async fn choose_tenant<S: TicketStore>(
    ctx: &Ctx,
    store: &mut S,
    hash: &[u8; 32],
    slug: &str,
) -> Result<Audited<Option<ChosenTenant>>, Error> {
    let kept = ticket::find(store, hash, TicketKind::TenantChoice, ctx.now).await?;
    let TenantOffer { at, choices } = serde_json::from_value(kept.state.clone()).map_err(Error::internal)?;
    let account = choices.into_iter().find(|choice| choice.slug == slug);
    if account.is_some() {
        ticket::take(store, hash).await?;
    } else {
        ticket::count_wrong(store, kept).await?;
    }
    let chosen = account.map(|account| ChosenTenant { account, compared_at: at });
    Ok(Audited::without(chosen, Unaudited::StepTaken))
}

/// A password that fits one account.
pub struct PasswordProof {
    /// Account that the password opens.
    pub account: FittingAccount,
    /// When the password was compared, if the user chose the tenant afterwards.
    pub chosen_of: Option<Timestamp>,
    /// A hash with the current cost, if the stored one has another.
    pub newer_hash: Option<String>,
}

/// Continues in the tenant of the account.
///
/// # Errors
/// [`Error::InvalidCredentials`] if the password or the address has changed since the comparison, and
/// [`Error::TicketInvalid`] if the account has changed since the tenants were offered, among others.
pub async fn with_password<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    proof: PasswordProof,
    device: &Device,
) -> Result<Audited<Outcome>, Error> {
    let PasswordProof { account: FittingAccount { user, verified, email_key, .. }, chosen_of, newer_hash } =
        proof;
    let account = lock_account(store, &user).await?;
    if account.person.email.as_ref().map(Email::key).as_ref() != Some(&email_key) {
        return Err(Error::InvalidCredentials);
    }
    if password_digest(store.password(&user).await?.as_deref()) != verified {
        return Err(Error::InvalidCredentials);
    }
    if let Some(at) = chosen_of {
        let refused_until = store.refused_until(&user).await?;
        if account.person.updated_at > at || refused_until.is_some_and(|until| until > at) {
            return Err(Error::TicketInvalid);
        }
    }
    check_mode(Step::Password, account.policy.sign_in_mode, account.person.break_glass)?;
    network::admit(ctx, store, &account.person).await?;
    if let Some(newer) = newer_hash {
        store.renew_password_hash(&user, &newer).await?;
    }
    let step = match chosen_of {
        None => (State::Anonymous, Step::Password),
        Some(_) => (State::TenantChoice, Step::ChooseTenant),
    };
    let progress = Progress::begun_with(vec![Method::Password]);
    first_factor::after(ctx, store, verifiers, account, progress, step, device).await
}
