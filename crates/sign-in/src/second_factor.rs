//! Verifies a second factor, and issues or resumes tickets for one.

use audit::{
    Audited, Event,
    events::{credentials::RecoveryCodeUsed, sign_in::SignInFailed},
};
use credentials::{Ticket, TicketKind, TicketStore};
use kernel::{Ctx, Timestamp, UserId};
use sessions::{Method, Session, Standing};

use crate::{
    account::lock_account,
    device::Device,
    error::Error,
    factor::{Challenge, FactorAnswer, FactorName, Verifiers, prove},
    first_factor::{self, AvailableFactors},
    network,
    outcome::{Attempt, Outcome},
    session,
    state::{State, Step, next},
    store::Storage,
    ticket::{self, Progress},
};

/// Finds the ticket of a second factor, before an attempt is counted.
pub async fn find_ticket<S: TicketStore>(
    store: &mut S,
    hash: &[u8; 32],
    now: Timestamp,
) -> Result<Ticket, Error> {
    ticket::find(store, hash, TicketKind::Factor, now).await
}

/// A second factor and its ticket.
pub struct SecondFactor {
    /// The user who signs in.
    pub user: UserId,
    /// The hash under which the ticket is stored.
    pub ticket: [u8; 32],
    /// Factor that the user chose.
    pub name: FactorName,
    /// The code or assertion.
    pub answer: FactorAnswer,
}

/// Verifies a second factor. A wrong one counts against the ticket.
pub async fn with_second_factor<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    proof: SecondFactor,
    device: &Device,
) -> Result<Audited<Attempt>, Error> {
    let SecondFactor { user, ticket: hash, name, answer } = proof;
    let account = lock_account(store, &user).await?;
    // The policy or the client's address may have changed since the ticket was issued.
    network::admit(ctx, store, &account.person).await?;
    let ticket = ticket::find(store, &hash, TicketKind::Factor, ctx.now).await?;
    let mut progress = Progress::of(&ticket)?;
    let AvailableFactors { requirements, verified } =
        AvailableFactors::load(store, &account, &progress).await?;
    let state = next(State::FactorOwed, Step::Factor(name), &requirements)?;
    let challenge = Challenge { user: &user, verified: &verified, pending: progress.pending.as_ref() };
    if !prove(ctx, store, verifiers, &challenge, name, &answer).await? {
        ticket::count_wrong(store, ticket).await?;
        let data = SignInFailed { reason: "FACTOR_INVALID", step: name.as_str() };
        return Ok(Audited::new(Attempt::Wrong, Event::new(user.as_str(), &data)));
    }
    ticket::take(store, &hash).await?;
    progress.methods.push(name.method());
    progress.proved = Some(name.method());
    let left = store.unused_codes(&user).await? as u64;
    let started = session::start(ctx, store, account, progress, state, device).await?;
    let code_used =
        (name == FactorName::RecoveryCode).then(|| Event::new(user.as_str(), &RecoveryCodeUsed { left }));
    Ok(started.map(|outcome| Attempt::Right(Box::new(outcome))).with(code_used))
}

/// Continues a session that a cookie has authenticated: requests what it owes, or returns it unchanged.
///
/// `standing` is the standing required by today's policy, which may differ from the one when the session began. A session that
/// owes a second factor by now owes it even if it did not when the cookie was authenticated.
pub async fn continue_session<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    session: &Session,
    standing: Standing,
    device: &Device,
) -> Result<Audited<Outcome>, Error> {
    let account = lock_account(store, &session.user).await?;
    network::admit(ctx, store, &account.person).await?;
    let stored = store.session(&session.id).await?.ok_or(Error::SessionRevoked)?;
    let standing = if stored.standing == Standing::Owing { Standing::Owing } else { standing };
    let progress =
        Progress { session: Some(session.id.clone()), ..Progress::begun_with(session.methods.clone()) };
    match standing {
        Standing::Full => session::start(ctx, store, account, progress, State::SignedIn, device).await,
        Standing::Owing => {
            let step = (State::Restricted, Step::Continue);
            first_factor::after(ctx, store, verifiers, account, progress, step, device).await
        }
    }
}

/// Resumes a sign-in through an identity provider for the holder of its ticket.
pub async fn resume<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    user: &UserId,
    text: String,
) -> Result<Audited<Outcome>, Error> {
    let (_, hash) = ticket::parse(&text)?;
    let account = lock_account(store, user).await?;
    network::admit(ctx, store, &account.person).await?;
    let ticket = ticket::find(store, &hash, TicketKind::Factor, ctx.now).await?;
    let progress = Progress::of(&ticket)?;
    // Only tickets of single sign-on travel in a cookie. Others were returned to a script.
    if progress.methods != [Method::Sso] {
        return Err(Error::TicketInvalid);
    }
    let provable = AvailableFactors::load(store, &account, &progress).await?;
    next(State::FactorOwed, Step::Resume, &provable.requirements)?;
    first_factor::ask_again(store, verifiers, &provable, (ticket, text), progress).await
}
