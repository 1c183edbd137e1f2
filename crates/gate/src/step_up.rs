//! Requires step-up tokens for sensitive operations.
//!
//! A handler names the purpose as a parameter. [`StepUp<P>`] rejects requests without a token; with
//! [`OptionalStepUp<P>`] the handler decides whether one is required. The token is consumed in the operation's unit of
//! work by `consume`. So a request that fails validation does not consume it, and of concurrent requests with one token
//! only one succeeds.

use std::{
    future::{Ready, ready},
    marker::PhantomData,
    ops::Deref,
};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{HeaderMap, HeaderName},
    web,
};
use audit::{
    Event,
    events::step_up::{StepUpConsumed, StepUpRefused},
};
use kernel::{Ctx, UserId};
use stepup::{Claims, Consumed, Invalid, Proof, Purpose};
use store::Tx;
use tokens::Scope;

use super::{
    access,
    caller::{Caller, Signed},
    errors::Problem,
    pipeline::Pipeline,
    purposes,
    shape::AreaProblem,
};

/// The header that carries a step-up token.
pub const HEADER: HeaderName = HeaderName::from_static("x-stepup-token");

/// A purpose as a type, for a handler's signature.
pub trait StepUpPurpose: 'static {
    /// The purpose.
    const PURPOSE: Purpose;
}

macro_rules! purposes {
    ($($name:ident => $purpose:ident),+ $(,)?) => { $(
        #[doc = concat!("[`purposes::", stringify!($purpose), "`]")]
        pub enum $name {}
        impl StepUpPurpose for $name {
            const PURPOSE: Purpose = purposes::$purpose;
        }
    )+ };
}

purposes! {
    AccountSecurityChange => ACCOUNT_SECURITY_CHANGE,
    PatMintAdmin => PAT_MINT_ADMIN,
    ScimTokenMint => SCIM_TOKEN_MINT,
    UserAdminChange => USER_ADMIN_CHANGE,
    SignInPolicyChange => SIGN_IN_POLICY_CHANGE,
    NetworkPolicyChange => NETWORK_POLICY_CHANGE,
    AttestationPolicyChange => ATTESTATION_POLICY_CHANGE,
    WebhookSecretRotate => WEBHOOK_SECRET_ROTATE,
    SsoProviderChange => SSO_PROVIDER_CHANGE,
}

/// Returns the caller as the `stepup` crate needs it.
pub fn caller_of(signed: &Signed, ctx: &Ctx) -> stepup::Caller {
    stepup::Caller { user: signed.session.user.clone(), session: signed.session.id.to_string(), ip: ctx.ip }
}

/// The step-up token, or the lack of one, that a request presents for a purpose.
#[derive(Debug, Clone)]
pub struct PresentedStepUp {
    purpose: Purpose,
    token: PresentedToken,
}

#[derive(Debug, Clone)]
enum PresentedToken {
    Missing,
    /// A personal access token that was itself issued after a step-up, and needs no other.
    ByPat,
    Valid(Proof),
    Invalid(Invalid, Box<StepUpRefused>),
}

impl PresentedStepUp {
    /// Checks the request's token as far as possible without the database.
    pub fn of(request: &HttpRequest, purpose: &Purpose) -> Self {
        Self { purpose: *purpose, token: read_token(request, purpose) }
    }

    /// Returns whether the request has a step-up token, valid or not, or a personal access token that replaces one.
    pub fn is_present(&self) -> bool {
        !matches!(self.token, PresentedToken::Missing)
    }

    /// Returns 401 `STEP_UP_REQUIRED` or `STEP_UP_INVALID` if the request has no valid token.
    pub fn require(&self) -> Result<(), Problem> {
        match &self.token {
            PresentedToken::Missing => Err(Problem::step_up_required(&self.purpose)),
            PresentedToken::Invalid(invalid, entry) => Err(refusal(*invalid, entry)),
            PresentedToken::ByPat | PresentedToken::Valid(_) => Ok(()),
        }
    }

    /// Consumes the token in this unit of work. The user's row must already be locked, because users are locked
    /// first.
    pub async fn consume(&self, ctx: &Ctx, tx: &mut Tx) -> Result<ConsumedStepUp, Problem> {
        self.require()?;
        let PresentedToken::Valid(proof) = &self.token else { return Ok(ConsumedStepUp::none()) };
        match proof.consume(ctx, tx).await {
            Ok(consumed) => Ok(ConsumedStepUp(Ok(Some(consumed)))),
            Err(stepup::Error::Invalid(invalid)) => {
                let claims = proof.claims();
                let entry = entry(&claims.user.to_string(), &claims.session, &self.purpose, invalid);
                Ok(ConsumedStepUp(Err(refusal(invalid, &entry))))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Locks the acting user and consumes the token.
    pub async fn lock_and_consume(&self, ctx: &Ctx, tx: &mut Tx) -> Result<ConsumedStepUp, Problem> {
        if let PresentedToken::Valid(proof) = &self.token {
            lock_person(tx, &proof.claims().user).await?;
        }
        self.consume(ctx, tx).await
    }

    /// Locks the acting user and the affected user, in a fixed order, and consumes the token.
    pub async fn lock_both_and_consume(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        affected: &UserId,
    ) -> Result<ConsumedStepUp, Problem> {
        self.lock_both(tx, affected).await?;
        self.consume(ctx, tx).await
    }

    /// Locks the acting user and the affected user, in a fixed order, if a valid token was presented. For operations
    /// that decide later whether they require one.
    pub async fn lock_both(&self, tx: &mut Tx, affected: &UserId) -> Result<(), Problem> {
        let PresentedToken::Valid(proof) = &self.token else { return Ok(()) };
        let claims = proof.claims();
        if *affected < claims.user {
            directory::PeopleStore::person(tx, affected).await?;
        }
        lock_person(tx, &claims.user).await?;
        if *affected > claims.user {
            directory::PeopleStore::person(tx, affected).await?;
        }
        Ok(())
    }
}

/// Locks the acting user but not the tenant: policy changes lock the tenant exclusively, and would wait for holders
/// of a shared lock.
async fn lock_person(tx: &mut Tx, user: &UserId) -> Result<(), Problem> {
    let person = directory::PeopleStore::person(tx, user).await?;
    person.filter(|person| person.active).map(drop).ok_or_else(Problem::account_disabled)
}

/// The result of consuming a token. Check it right before the operation.
#[must_use = "if it is not checked, a token that was already consumed permits the operation"]
pub struct ConsumedStepUp(Result<Option<Consumed>, Problem>);

impl ConsumedStepUp {
    /// Returns the result when no token was required.
    pub fn none() -> Self {
        Self(Ok(None))
    }

    /// Returns the audit events of the use, or 401 `STEP_UP_INVALID` if the token was already consumed.
    pub fn events(self) -> Result<Vec<Event>, Problem> {
        Ok(self.claims()?.iter().map(consumed).collect())
    }

    /// Returns the token's claims; `None` if no token was required.
    pub fn claims(self) -> Result<Option<Claims>, Problem> {
        Ok(self.0?.map(Consumed::into_claims))
    }
}

/// Creates the audit event of a consumed token.
pub fn consumed(claims: &Claims) -> Event {
    let data = StepUpConsumed {
        user: claims.user.to_string(),
        session: claims.session.clone(),
        purpose: claims.purpose.clone(),
        factor: claims.factor.as_str(),
    };
    Event::new(claims.id.as_str(), &data)
}

fn entry(user: &str, session: &str, purpose: &Purpose, invalid: Invalid) -> StepUpRefused {
    StepUpRefused {
        user: user.to_owned(),
        session: session.to_owned(),
        purpose: purpose.name.to_owned(),
        reason: invalid.reason(),
        suppressed: None,
    }
}

fn refusal(invalid: Invalid, entry: &StepUpRefused) -> Problem {
    Problem::step_up_invalid(invalid).with_event(Event::new(&entry.user, entry))
}

fn read_token(request: &HttpRequest, purpose: &Purpose) -> PresentedToken {
    let (Some((caller, ctx)), Some(pipeline)) =
        (access::passed(request), request.app_data::<web::Data<Pipeline>>())
    else {
        return PresentedToken::Missing;
    };
    let signed = match caller {
        Caller::Session(signed) => signed,
        Caller::Pat(by) if by.pat.scopes.contains(&Scope::AdminTenant) => return PresentedToken::ByPat,
        Caller::Pat(_) | Caller::Scim(_) | Caller::Receiver(_) => return PresentedToken::Missing,
    };
    let checked = match presented(request.headers()) {
        None => return PresentedToken::Missing,
        Some(Err(invalid)) => Err(invalid),
        Some(Ok(text)) => {
            let keys = pipeline.keys.step_ups(text);
            stepup::check(&ctx, &keys, purpose, &caller_of(&signed, &ctx), text)
        }
    };
    match checked {
        Ok(proof) => PresentedToken::Valid(proof),
        Err(invalid) => {
            let (user, session) = (signed.session.user.to_string(), signed.session.id.to_string());
            PresentedToken::Invalid(invalid, Box::new(entry(&user, &session, purpose, invalid)))
        }
    }
}

/// Returns the request's token. Two tokens are invalid.
fn presented(headers: &HeaderMap) -> Option<Result<&str, Invalid>> {
    let mut sent = headers.get_all(HEADER);
    let first = sent.next()?;
    let one = if sent.next().is_none() { first.to_str().ok() } else { None };
    Some(one.ok_or(Invalid::Malformed))
}

/// A valid step-up token for the purpose `P`.
pub struct StepUp<P: StepUpPurpose>(PresentedStepUp, PhantomData<fn() -> P>);

impl<P: StepUpPurpose> FromRequest for StepUp<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let token = PresentedStepUp::of(request, &P::PURPOSE);
        let checked = token.require().map_err(|problem| AreaProblem::of(request, problem));
        ready(checked.map(|()| Self(token, PhantomData)))
    }
}

impl<P: StepUpPurpose> Deref for StepUp<P> {
    type Target = PresentedStepUp;

    fn deref(&self) -> &PresentedStepUp {
        &self.0
    }
}

/// An optional step-up token for the purpose `P`, for handlers that decide later whether to require one.
pub struct OptionalStepUp<P: StepUpPurpose>(PresentedStepUp, PhantomData<fn() -> P>);

impl<P: StepUpPurpose> FromRequest for OptionalStepUp<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(PresentedStepUp::of(request, &P::PURPOSE), PhantomData)))
    }
}

impl<P: StepUpPurpose> Clone for OptionalStepUp<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<P: StepUpPurpose> Deref for OptionalStepUp<P> {
    type Target = PresentedStepUp;

    fn deref(&self) -> &PresentedStepUp {
        &self.0
    }
}
