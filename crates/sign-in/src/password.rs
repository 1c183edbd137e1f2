//! E-mail and password, and the choice between tenants.

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

/// What stands between the right password of an account and a session, as far as it is known before the unit of work.
#[derive(Debug, Clone, Copy)]
pub struct AccountState {
    /// Whether the user may sign in.
    pub active: bool,
    /// Whether the tenant accepts identity providers alone from this user.
    pub requires_sso: bool,
}

impl AccountState {
    /// Why the right password does not open the account: the audit log's reason, and the answer.
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
    /// Those that the password opens, and whether its hash is to be made anew.
    pub open: Vec<(A, bool)>,
    /// Those for which the audit log gets a failed sign-in, with the reason.
    pub failed: Vec<(A, &'static str)>,
    /// The answer where none is open.
    pub refusal: Error,
}

/// Sorts the accounts of an address by what comparing their passwords has shown.
///
/// Where the password fits none, it is not known which account was meant, and all fail. Where it fits one, the others
/// were not meant, and their tenants learn nothing.
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
                // The first account that fits answers.
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
    /// The short name of the tenant.
    pub slug: String,
    /// Tenant of the account.
    pub tenant: TenantId,
    /// User of the account.
    pub user: UserId,
    /// SHA-256 of the password's hash that was compared with.
    pub verified: [u8; 32],
    /// The sign-in address that was given ([`Email::key`]).
    #[serde(default)]
    pub email_key: String,
}

/// What says that a password is still the one that was compared with.
pub fn password_digest(hash: Option<&str>) -> [u8; 32] {
    sha256(hash.unwrap_or_default().as_bytes())
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// What a ticket for a choice remembers.
#[derive(Serialize, Deserialize)]
struct TenantOffer {
    /// When the password was compared.
    at: Timestamp,
    choices: Vec<FittingAccount>,
}

/// Issues a ticket for the choice between the tenants of these accounts, in the tenant of the first.
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

/// A tenant that was chosen.
pub struct ChosenTenant {
    /// The account in it.
    pub account: FittingAccount,
    /// When the password was compared.
    pub compared_at: Timestamp,
}

/// Takes the choice of a tenant by its slug: `None` for one that was not offered, which counts as a wrong answer.
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
    /// When the password was compared, where the tenant was chosen afterwards.
    pub chosen_of: Option<Timestamp>,
    /// A hash at today's cost, where the kept one is not.
    pub newer_hash: Option<String>,
}

/// Goes on in the tenant of the account.
///
/// # Errors
/// Among others [`Error::InvalidCredentials`] where the password or the address was changed since the comparison, and
/// [`Error::TicketInvalid`] where the account was changed since the tenants were offered.
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
        store.set_password(&user, &newer, ctx.now).await?;
    }
    let step = match chosen_of {
        None => (State::Anonymous, Step::Password),
        Some(_) => (State::TenantChoice, Step::ChooseTenant),
    };
    let progress = Progress::begun_with(vec![Method::Password]);
    first_factor::after(ctx, store, verifiers, account, progress, step, device).await
}
