//! Continues after a first factor, with a session or a request for the next step.

use audit::{Audited, Unaudited};
use credentials::{Factor, FactorKind, FactorStore, Passkey, Ticket, TicketKind};
use kernel::Ctx;
use serde_json::Value;

use crate::{
    account::Account,
    device::Device,
    error::Error,
    factor::{FactorName, Verifiers},
    outcome::Outcome,
    session,
    state::{Requirements, State, Step, next},
    store::Storage,
    ticket::{self, Progress, TicketText},
};

/// The user's verified factors and the tenant's requirements.
pub(crate) struct AvailableFactors {
    pub(crate) requirements: Requirements,
    pub(crate) verified: Vec<Factor>,
}

impl AvailableFactors {
    /// Reads them in the unit of work that has locked the account.
    pub(crate) async fn load<S: FactorStore>(
        store: &mut S,
        account: &Account,
        progress: &Progress,
    ) -> Result<Self, Error> {
        let user = &account.person.id;
        let mut requirements = Requirements::of_policy(&account.policy, account.person.break_glass);
        let mut verified = store.factors(user).await?;
        verified.retain(Factor::is_verified);
        requirements.verified = verified.iter().map(Factor::kind).collect();
        if !verified.is_empty() || requirements.mfa.required {
            requirements.unused_codes = store.unused_codes(user).await?;
        }
        requirements.begun_with = progress.methods.first().copied();
        Ok(Self { requirements, verified })
    }

    /// Returns the factors to request: those the tenant accepts, or all if it accepts none. Requesting none would
    /// make a stricter policy weaken the sign-in.
    fn to_ask(&self) -> Vec<&Factor> {
        let accepted = |factor: &&Factor| self.requirements.mfa.accepts(factor.kind());
        let counted: Vec<_> = self.verified.iter().filter(accepted).collect();
        if counted.is_empty() { self.verified.iter().collect() } else { counted }
    }
}

/// Continues after a step that has proved a first factor.
pub(crate) async fn after<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    account: Account,
    progress: Progress,
    (from, step): (State, Step),
    device: &Device,
) -> Result<Audited<Outcome>, Error> {
    let provable = AvailableFactors::load(store, &account, &progress).await?;
    match next(from, step, &provable.requirements)? {
        State::FactorOwed => issue_factor_ticket(ctx, store, verifiers, &account, progress, &provable).await,
        state => session::start(ctx, store, account, progress, state, device).await,
    }
}

/// Issues a ticket for a second factor.
async fn issue_factor_ticket<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    account: &Account,
    mut progress: Progress,
    provable: &AvailableFactors,
) -> Result<Audited<Outcome>, Error> {
    let (factors, webauthn) = challenge(verifiers, &mut progress, provable)?;
    let state = progress.to_state()?;
    let ticket = ticket::issue(ctx, store, TicketKind::Factor, &account.person.id, state).await?;
    let outcome = Outcome::FactorOwed { ticket, factors, webauthn };
    Ok(Audited::without(outcome, Unaudited::StepTaken))
}

/// Issues a new challenge for an existing ticket. Its wrong answers and expiry are kept.
pub(crate) async fn ask_again<S: Storage>(
    store: &mut S,
    verifiers: &Verifiers<'_>,
    provable: &AvailableFactors,
    (mut ticket, text): (Ticket, String),
    mut progress: Progress,
) -> Result<Audited<Outcome>, Error> {
    if provable.verified.is_empty() && provable.requirements.unused_codes == 0 {
        return Err(Error::TicketInvalid);
    }
    let (factors, webauthn) = challenge(verifiers, &mut progress, provable)?;
    ticket.state = progress.to_state()?;
    store.update_ticket(&ticket).await?;
    let outcome = Outcome::FactorOwed { ticket: TicketText(text), factors, webauthn };
    Ok(Audited::without(outcome, Unaudited::StepTaken))
}

/// Returns the names of the accepted factors and a WebAuthn challenge, which is stored in `progress`.
fn challenge(
    verifiers: &Verifiers<'_>,
    progress: &mut Progress,
    provable: &AvailableFactors,
) -> Result<(Vec<FactorName>, Option<Value>), Error> {
    let factors = provable.to_ask();
    let has = |kind: FactorKind| factors.iter().any(|factor| factor.kind() == kind);
    let mut names = Vec::new();
    let mut webauthn = None;
    if has(FactorKind::Webauthn) {
        let passkeys: Vec<Passkey> = factors.iter().filter_map(|factor| factor.passkey()).cloned().collect();
        let begun = verifiers.passkeys()?.begin_assertion(&passkeys);
        let (options, pending) = begun.map_err(Error::internal)?;
        names.push(FactorName::Webauthn);
        webauthn = Some(options);
        progress.pending = Some(pending);
    }
    if has(FactorKind::Totp) {
        names.push(FactorName::Totp);
    }
    if provable.requirements.unused_codes > 0 {
        names.push(FactorName::RecoveryCode);
    }
    Ok((names, webauthn))
}
