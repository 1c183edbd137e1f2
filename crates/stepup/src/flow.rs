//! From the question to the act.

use std::net::IpAddr;

use async_trait::async_trait;
use kernel::{Ctx, Id, SigningKeys, StoreResult, Timestamp, UserId};
use serde_json::Value;

use crate::{
    Challenge, ChallengeId, Claims, Consumption, Factor, Grant, Invalid, Purpose, StepUpStore, Token,
    error::Error, find,
};

/// Minutes that a challenge waits for its answer.
pub const CHALLENGE_MINUTES: i64 = 5;
/// Wrong answers after which a challenge is dead.
pub const MAX_WRONG_ANSWERS: i64 = 5;
/// Challenges of one session that wait at the same time; the oldest make room.
pub const MAX_LIVE: i64 = 5;

/// Whose proof it is: by the session that the caller has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// User who performs the act.
    pub user: UserId,
    /// In which session.
    pub session: String,
    /// From where; `None` where a proxy hides it.
    pub ip: Option<IpAddr>,
}

impl Challenge {
    /// Whether it waits for an answer of this caller's.
    pub fn waits_for(&self, caller: &Caller, now: Timestamp) -> bool {
        self.user == caller.user
            && self.session == caller.session
            && self.wrong_answers < MAX_WRONG_ANSWERS
            && now < self.created_at.plus_millis(CHALLENGE_MINUTES * 60_000)
    }
}

/// What a browser is to ask authenticators, and what has to be remembered of it.
#[derive(Debug, Clone, Default)]
pub struct Ceremony {
    /// `PublicKeyCredentialRequestOptionsJSON`
    pub options: Value,
    /// Given back to [`Ceremonies::verify`].
    pub state: Value,
}

/// How second factors are verified, over the same storage and in the same unit of work.
#[async_trait]
pub trait Ceremonies<S: ?Sized>: Send + Sync {
    /// The factors that the person has enrolled and the tenant accepts.
    async fn factors(&self, ctx: &Ctx, store: &mut S, user: &UserId) -> Result<Vec<Factor>, Error>;
    /// Begins to ask for one of the person's passkeys.
    async fn begin(&self, ctx: &Ctx, store: &mut S, user: &UserId) -> Result<Ceremony, Error>;
    /// Whether the answer is right. One that can be used once is used up by this.
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

/// A challenge as the client is told it.
#[derive(Debug)]
pub struct BegunChallenge {
    /// Goes with the answer.
    pub id: ChallengeId,
    /// With what it may be answered.
    pub factors: Vec<Factor>,
    /// What to ask authenticators, where a passkey may be used.
    pub webauthn: Option<Value>,
}

/// What a person answers with.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A code of an authenticator app.
    Code(String),
    /// The answer of an authenticator (`AuthenticationResponseJSON`).
    Credential(Value),
}

/// An answer to a challenge.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Challenge that is answered.
    pub challenge: ChallengeId,
    /// Factor type of the answer.
    pub factor: Factor,
    /// Code or credential.
    pub answer: Answer,
}

/// What became of an answer. Either is to be kept: a wrong one counts.
pub enum Verified {
    /// It proves nothing.
    Wrong(Challenge),
    /// The answer is correct.
    Right(Box<IssuedToken>),
}

/// A proof that was given.
pub struct IssuedToken {
    /// For the client, once.
    pub token: Token,
    /// What is kept of it.
    pub grant: Grant,
}

/// Asks for a proof of a purpose.
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

/// The challenge that waits for an answer of this caller's with this factor, held until the end of the unit of work.
/// To be asked before an attempt is counted, too: what waits for no answer from here costs none.
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

/// Looks at an answer: a right one becomes a token for one act of the purpose that was asked for.
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
    // Since it was asked, the tenant may have changed its mind, and the factor be gone.
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

/// Whether what a request shows is a proof for this act by this caller, as far as the token itself tells: whether it
/// is still there to be used is found out by [`consume`].
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

/// Uses a token up, in the unit of work of the act: if that fails, the token stays good.
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

/// The freshest token of a person for a purpose that could still be used.
pub async fn status(
    ctx: &Ctx,
    store: &mut dyn StepUpStore,
    user: &UserId,
    purpose: &Purpose,
) -> StoreResult<Option<Grant>> {
    store.freshest_grant(user, purpose.name, ctx.now).await
}

/// Takes back what a person has not used: after a change of what signs them in.
pub async fn revoke(store: &mut dyn StepUpStore, user: &UserId, at: Timestamp) -> StoreResult<usize> {
    store.revoke_grants(user, at).await
}
