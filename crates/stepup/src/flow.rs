//! The flow of a step-up, from the challenge to the act.

use std::net::IpAddr;

use async_trait::async_trait;
use kernel::{Ctx, Id, SigningKeys, StoreResult, Timestamp, UserId};
use serde_json::Value;

use crate::{
    Challenge, ChallengeId, Claims, Consumption, Factor, Grant, Invalid, Purpose, StepUpStore, Token,
    error::Error, find,
};

/// Lifetime of a challenge in minutes.
pub const CHALLENGE_MINUTES: i64 = 5;
/// Number of wrong answers that invalidate a challenge.
pub const MAX_WRONG_ANSWERS: i64 = 5;
/// Maximum number of pending challenges per session. A new one deletes the oldest.
pub const MAX_LIVE: i64 = 5;

/// The user, session and address of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// User who performs the act.
    pub user: UserId,
    /// The session that the request authenticated with.
    pub session: String,
    /// The client's address; `None` if a proxy hides it.
    pub ip: Option<IpAddr>,
}

impl Challenge {
    /// Whether the challenge is valid now and belongs to this caller.
    pub fn waits_for(&self, caller: &Caller, now: Timestamp) -> bool {
        self.user == caller.user
            && self.session == caller.session
            && self.wrong_answers < MAX_WRONG_ANSWERS
            && now < self.created_at.plus_millis(CHALLENGE_MINUTES * 60_000)
    }
}

/// A WebAuthn challenge and its server state.
#[derive(Debug, Clone, Default)]
pub struct Ceremony {
    /// `PublicKeyCredentialRequestOptionsJSON`
    pub options: Value,
    /// State that is passed to [`Ceremonies::verify`].
    pub state: Value,
}

/// Verifies second factors, with the same storage and in the same unit of work.
#[async_trait]
pub trait Ceremonies<S: ?Sized>: Send + Sync {
    /// Returns the factors that the user has enrolled and the tenant accepts.
    async fn factors(&self, ctx: &Ctx, store: &mut S, user: &UserId) -> Result<Vec<Factor>, Error>;
    /// Starts an assertion with one of the user's passkeys.
    async fn begin(&self, ctx: &Ctx, store: &mut S, user: &UserId) -> Result<Ceremony, Error>;
    /// Whether the answer is correct. Consumes the factor if it can be used only once.
    async fn verify(
        &self,
        ctx: &Ctx,
        store: &mut S,
        user: &UserId,
        factor: Factor,
        answer: &Answer,
        state: &Value,
    ) -> Result<bool, Error>;
}

/// A challenge for the client.
#[derive(Debug)]
pub struct BegunChallenge {
    /// The id to send with the answer.
    pub id: ChallengeId,
    /// The factors that may answer it.
    pub factors: Vec<Factor>,
    /// The WebAuthn options, if a passkey may answer it.
    pub webauthn: Option<Value>,
}

/// A user's answer to a challenge.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A code from an authenticator app.
    Code(String),
    /// An assertion from an authenticator (`AuthenticationResponseJSON`).
    Credential(Value),
}

/// An answer and its challenge.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The challenge that is answered.
    pub challenge: ChallengeId,
    /// Factor type of the answer.
    pub factor: Factor,
    /// The code or assertion.
    pub answer: Answer,
}

/// The result of an answer. Commit both: a wrong answer is counted.
pub enum Verified {
    /// The answer is incorrect.
    Wrong(Challenge),
    /// The answer is correct.
    Right(Box<IssuedToken>),
}

/// A token that was issued.
pub struct IssuedToken {
    /// The token, which the client receives once.
    pub token: Token,
    /// The stored record of the token.
    pub grant: Grant,
}

/// Starts a challenge for a purpose.
pub async fn begin<S: StepUpStore>(
    ctx: &Ctx,
    store: &mut S,
    ceremonies: &dyn Ceremonies<S>,
    caller: &Caller,
    purpose: &Purpose,
) -> Result<BegunChallenge, Error> {
    if caller.ip.is_none() {
        return Err(Error::AddressUnknown);
    }
    let mut factors = ceremonies.factors(ctx, store, &caller.user).await?;
    factors.retain(|factor| purpose.accepts(*factor));
    if factors.is_empty() {
        return Err(Error::NoFactorAvailable(purpose.name));
    }
    let asked = if factors.contains(&Factor::Webauthn) {
        Some(ceremonies.begin(ctx, store, &caller.user).await?)
    } else {
        None
    };
    let (webauthn, state) = asked.map(|ceremony| (ceremony.options, ceremony.state)).unzip();
    let challenge = Challenge {
        id: Id::new(&*ctx.env),
        user: caller.user.clone(),
        session: caller.session.clone(),
        purpose: purpose.name.to_owned(),
        factors,
        state: state.unwrap_or_default(),
        created_at: ctx.now,
        wrong_answers: 0,
    };
    store.insert_challenge(&challenge, MAX_LIVE).await?;
    Ok(BegunChallenge { id: challenge.id, factors: challenge.factors, webauthn })
}

/// Returns the pending challenge that this caller may answer with this factor, locked until the end of the unit of
/// work. Call this before counting an attempt, so that requests without a challenge count against no limit.
pub async fn waiting(
    ctx: &Ctx,
    store: &mut dyn StepUpStore,
    caller: &Caller,
    id: &ChallengeId,
    factor: Factor,
) -> Result<Challenge, Error> {
    if caller.ip.is_none() {
        return Err(Error::AddressUnknown);
    }
    let found = store.challenge(id).await?.filter(|challenge| challenge.waits_for(caller, ctx.now));
    let challenge = found.ok_or(Error::ChallengeInvalid)?;
    if challenge.factors.contains(&factor) {
        Ok(challenge)
    } else {
        Err(Error::FactorNotPermitted(factor, challenge.purpose))
    }
}

/// Verifies an answer. A correct one yields a token for one act of the challenge's purpose.
pub async fn verify<S: StepUpStore>(
    ctx: &Ctx,
    store: &mut S,
    ceremonies: &dyn Ceremonies<S>,
    keys: &SigningKeys,
    purposes: &[Purpose],
    caller: &Caller,
    attempt: &Attempt,
) -> Result<Verified, Error> {
    let ip = caller.ip.ok_or(Error::AddressUnknown)?;
    let factor = attempt.factor;
    let mut challenge = waiting(ctx, store, caller, &attempt.challenge, factor).await?;
    let purpose = find(purposes, &challenge.purpose).ok_or(Error::ChallengeInvalid)?;
    // The policy or the factors may have changed since the challenge was issued.
    let enrolled = ceremonies.factors(ctx, store, &caller.user).await?;
    if !enrolled.contains(&factor) || !purpose.accepts(factor) {
        return Err(Error::FactorNotPermitted(factor, challenge.purpose));
    }
    let state = &challenge.state;
    if !ceremonies.verify(ctx, store, &caller.user, factor, &attempt.answer, state).await? {
        challenge.wrong_answers += 1;
        store.count_wrong_answer(&challenge).await?;
        return Ok(Verified::Wrong(challenge));
    }
    if !store.take_challenge(&challenge.id).await? {
        return Err(Error::ChallengeInvalid);
    }
    let grant = Grant {
        id: Id::new(&*ctx.env),
        user: challenge.user,
        session: challenge.session,
        purpose: challenge.purpose,
        factor,
        ip,
        issued_at: ctx.now,
        expires_at: ctx.now.plus_millis(i64::from(purpose.ttl_seconds) * 1000),
    };
    let token = Claims::of(&ctx.tenant, &grant).sign(keys).ok_or(Error::NoKey)?;
    store.insert_grant(&grant).await?;
    Ok(Verified::Right(Box::new(IssuedToken { token, grant })))
}

/// Checks that a token authorizes this act of this caller, by its contents. Whether it was consumed or revoked is
/// decided by [`consume`].
pub fn check(
    ctx: &Ctx,
    keys: &SigningKeys,
    purpose: &Purpose,
    caller: &Caller,
    text: &str,
) -> Result<Claims, Invalid> {
    let claims = Claims::read(keys, text)?;
    let refusals = [
        (ctx.now >= claims.expires_at(), Invalid::Expired),
        (claims.purpose != purpose.name, Invalid::PurposeMismatch),
        (claims.tenant != ctx.tenant || claims.user != caller.user, Invalid::UserMismatch),
        (claims.session != caller.session, Invalid::SessionMismatch),
        (caller.ip != Some(claims.ip), Invalid::IpMismatch),
    ];
    match refusals.into_iter().find(|(applies, _)| *applies) {
        Some((_, invalid)) => Err(invalid),
        None => Ok(claims),
    }
}

/// Consumes a token in the unit of work of the act. If that is rolled back, the token stays valid.
pub async fn consume(
    ctx: &Ctx,
    store: &mut dyn StepUpStore,
    claims: &Claims,
) -> StoreResult<Result<(), Invalid>> {
    Ok(match store.consume_grant(&claims.id, ctx.now).await? {
        Consumption::Now => Ok(()),
        Consumption::Already => Err(Invalid::AlreadyUsed),
        Consumption::Revoked => Err(Invalid::Revoked),
    })
}

/// Returns the most recent usable token of a user for a purpose.
pub async fn status(
    ctx: &Ctx,
    store: &mut dyn StepUpStore,
    user: &UserId,
    purpose: &Purpose,
) -> StoreResult<Option<Grant>> {
    store.freshest_grant(user, purpose.name, ctx.now).await
}

/// Revokes a user's unused tokens, as after a change of credentials.
pub async fn revoke(store: &mut dyn StepUpStore, user: &UserId, at: Timestamp) -> StoreResult<usize> {
    store.revoke_grants(user, at).await
}
