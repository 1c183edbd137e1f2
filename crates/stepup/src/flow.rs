//! The flow of a step-up, from the challenge to the act.

use std::{fmt, net::IpAddr};

use async_trait::async_trait;
use kernel::{Ctx, Id, SigningKeys, StoreResult, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Challenge, ChallengeId, Claims, Factor, Grant, Invalid, Proof, Purpose, StepUpStore, Token, error::Error,
    find,
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
    /// The session that the request authenticated with: its id or a hash, not the secret of a cookie. Tokens are
    /// signed, not encrypted, and contain it.
    pub session: String,
    /// The client's address. Without one there is no step-up: [`Error::AddressUnknown`].
    pub ip: Option<IpAddr>,
}

impl Caller {
    /// Creates the caller of a request. `session` is the id of the session that the request authenticated with, or a hash,
    /// but not the secret of a cookie: tokens are signed, not encrypted, and contain it. `ip` is the client's address, not that
    /// of a proxy. If it is `None`, every step-up is refused with [`Error::AddressUnknown`].
    pub fn new(user: impl Into<UserId>, session: impl Into<String>, ip: impl Into<Option<IpAddr>>) -> Self {
        Self { user: user.into(), session: session.into(), ip: ip.into() }
    }
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

/// The second factors of a service, together with the storage of step-ups in the same unit of work.
#[async_trait]
pub trait Ceremonies: Send {
    /// Returns the storage of step-ups.
    fn store(&mut self) -> &mut dyn StepUpStore;
    /// Returns the factors that the user has enrolled and the tenant accepts.
    async fn factors(&mut self, ctx: &Ctx, user: &UserId) -> Result<Vec<Factor>, Error>;
    /// Starts an assertion with one of the user's passkeys. Needed only if users have [`Factor::Webauthn`].
    async fn begin(&mut self, _ctx: &Ctx, _user: &UserId) -> Result<Ceremony, Error> {
        Err(Error::Ceremony("this service has no passkeys".into()))
    }
    /// Whether the answer is correct. Consumes the factor if it can be used only once. `state` is from
    /// [`Ceremonies::begin`], or null.
    async fn verify(
        &mut self,
        ctx: &Ctx,
        user: &UserId,
        factor: Factor,
        answer: &Answer,
        state: &Value,
    ) -> Result<bool, Error>;
}

/// A challenge for the client. As JSON: `{"challengeId", "factors", "webauthn"}`.
#[derive(Debug, Serialize)]
pub struct BegunChallenge {
    /// The id to send with the answer.
    #[serde(rename = "challengeId")]
    pub id: ChallengeId,
    /// The factors that may answer it.
    pub factors: Vec<Factor>,
    /// The WebAuthn options, if a passkey may answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webauthn: Option<Value>,
}

/// A user's answer to a challenge.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// A code from an authenticator app.
    Code(String),
    /// An assertion from an authenticator (`AuthenticationResponseJSON`).
    Credential(Value),
}

impl fmt::Debug for Answer {
    /// Writes the kind of answer. A code may be valid for a while.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code(_) => "Code",
            Self::Credential(_) => "Credential",
        })
    }
}

impl Answer {
    /// Whether the answer is this code. Compares in constant time.
    pub fn is_code(&self, expected: &str) -> bool {
        matches!(self, Self::Code(code) if kernel::constant_time_eq(code.as_bytes(), expected.as_bytes()))
    }
}

/// An answer and its challenge. Reads JSON: `{"challengeId", "factor", "code"}`, or `"credential"` instead of `"code"`.
#[derive(Debug, Clone, Deserialize)]
pub struct Attempt {
    /// The challenge that is answered.
    #[serde(rename = "challengeId")]
    pub challenge: ChallengeId,
    /// Factor type of the answer.
    pub factor: Factor,
    /// The code or assertion.
    #[serde(flatten)]
    pub answer: Answer,
}

/// The result of an answer. Commit the unit of work in both cases, because a wrong answer is counted. Then call
/// [`Verified::into_token`].
#[must_use = "a wrong answer is a value too"]
pub enum Verified {
    /// The answer is incorrect.
    Wrong(Challenge),
    /// The answer is correct.
    Right(Box<IssuedToken>),
}

impl Verified {
    /// Returns the token, or [`Error::FactorInvalid`] for an incorrect answer.
    pub fn into_token(self) -> Result<IssuedToken, Error> {
        match self {
            Self::Wrong(_) => Err(Error::FactorInvalid),
            Self::Right(issued) => Ok(*issued),
        }
    }
}

/// A token that was issued.
pub struct IssuedToken {
    /// The token, which the client receives once.
    pub token: Token,
    /// The stored record of the token.
    pub grant: Grant,
}

impl IssuedToken {
    /// Returns the response for the client: `{"token", "purpose", "expiresAt"}`. It contains the secret.
    pub fn response(&self) -> Value {
        json!({ "token": self.token.expose(), "purpose": self.grant.purpose, "expiresAt": self.grant.expires_at })
    }
}

/// Starts a challenge for a purpose.
pub async fn begin(
    ctx: &Ctx,
    ceremonies: &mut dyn Ceremonies,
    caller: &Caller,
    purpose: &Purpose,
) -> Result<BegunChallenge, Error> {
    if caller.ip.is_none() {
        return Err(Error::AddressUnknown);
    }
    let mut factors = ceremonies.factors(ctx, &caller.user).await?;
    factors.retain(|factor| purpose.accepts(*factor));
    if factors.is_empty() {
        return Err(Error::NoFactorAvailable(purpose.name));
    }
    let asked = if factors.contains(&Factor::Webauthn) {
        Some(ceremonies.begin(ctx, &caller.user).await?)
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
    ceremonies.store().insert_challenge(&challenge, MAX_LIVE).await?;
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
pub async fn verify(
    ctx: &Ctx,
    ceremonies: &mut dyn Ceremonies,
    keys: &SigningKeys,
    purposes: &[Purpose],
    caller: &Caller,
    attempt: &Attempt,
) -> Result<Verified, Error> {
    let ip = caller.ip.ok_or(Error::AddressUnknown)?;
    let factor = attempt.factor;
    let mut challenge = waiting(ctx, ceremonies.store(), caller, &attempt.challenge, factor).await?;
    let purpose = find(purposes, &challenge.purpose).ok_or(Error::ChallengeInvalid)?;
    // The policy or the factors may have changed since the challenge was issued.
    let enrolled = ceremonies.factors(ctx, &caller.user).await?;
    if !enrolled.contains(&factor) || !purpose.accepts(factor) {
        return Err(Error::FactorNotPermitted(factor, challenge.purpose));
    }
    let state = &challenge.state;
    if !ceremonies.verify(ctx, &caller.user, factor, &attempt.answer, state).await? {
        challenge.wrong_answers += 1;
        ceremonies.store().count_wrong_answer(&challenge).await?;
        return Ok(Verified::Wrong(challenge));
    }
    if !ceremonies.store().take_challenge(&challenge.id).await? {
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
    ceremonies.store().insert_grant(&grant).await?;
    Ok(Verified::Right(Box::new(IssuedToken { token, grant })))
}

/// Checks by its contents that a token authorizes this act of this caller. Whether it was consumed or revoked is
/// decided by [`Proof::consume`].
pub fn check(
    ctx: &Ctx,
    keys: &SigningKeys,
    purpose: &Purpose,
    caller: &Caller,
    text: &str,
) -> Result<Proof, Invalid> {
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
        None => Ok(Proof::new(claims)),
    }
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
