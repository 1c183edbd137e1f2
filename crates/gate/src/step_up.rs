//! The guard of acts that ask for a fresh proof.
//!
//! A handler names the purpose as a parameter: [`StepUp<P>`] refuses where there is no proof; [`IfAsked<P>`] lets the
//! handler decide whether one is asked for. Either is used up in the unit of work of the act, by `spend`: what is
//! found wrong with the request first leaves the token good, and of several who use one at once one succeeds.

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
use stepup::{Claims, Invalid, Purpose};
use store::Tx;
use tokens::Scope;

use super::{
    access,
    caller::{Caller, Signed},
    errors::Problem,
    pipeline::Pipeline,
    shape::AreaProblem,
};

/// The header that carries a proof.
pub const HEADER: HeaderName = HeaderName::from_static("x-stepup-token");

/// A purpose as a type, for the signature of a handler.
pub trait StepUpPurpose: 'static {
    /// The purpose.
    const PURPOSE: Purpose;
}

macro_rules! purposes {
    ($($name:ident => $purpose:ident),+ $(,)?) => { $(
        #[doc = concat!("[`stepup::", stringify!($purpose), "`]")]
        pub enum $name {}
        impl StepUpPurpose for $name {
            const PURPOSE: Purpose = stepup::$purpose;
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

/// Whose proof it is, as the crate knows them.
pub fn caller_of(signed: &Signed, ctx: &Ctx) -> stepup::Caller {
    stepup::Caller { user: signed.session.user.clone(), session: signed.session.id.to_string(), ip: ctx.ip }
}

/// What a request shows for a purpose.
#[derive(Debug, Clone)]
pub struct PresentedStepUp {
    purpose: Purpose,
    what: Presented,
}

#[derive(Debug, Clone)]
enum Presented {
    Nothing,
    /// By a token that was minted under a proof, and needs no other.
    ByPat,
    Good(Claims),
    Bad(Invalid, Box<StepUpRefused>),
}

impl PresentedStepUp {
    /// Looks at the header as far as it tells by itself.
    pub fn of(request: &HttpRequest, purpose: &Purpose) -> Self {
        Self { purpose: *purpose, what: what(request, purpose) }
    }

    /// Whether the request shows anything, good or not.
    pub fn is_shown(&self) -> bool {
        !matches!(self.what, Presented::Nothing)
    }

    /// Refuses where there is no proof: 401 `STEP_UP_REQUIRED` or `STEP_UP_INVALID`.
    pub fn require(&self) -> Result<(), Problem> {
        match &self.what {
            Presented::Nothing => Err(Problem::step_up_required(&self.purpose)),
            Presented::Bad(invalid, entry) => Err(refusal(*invalid, entry)),
            Presented::ByPat | Presented::Good(_) => Ok(()),
        }
    }

    /// Uses the proof up in this unit of work, which holds the person's row already: rows of people come first.
    pub async fn consume(&self, ctx: &Ctx, tx: &mut Tx) -> Result<ConsumedStepUp, Problem> {
        self.require()?;
        let Presented::Good(claims) = &self.what else { return Ok(ConsumedStepUp::none()) };
        // The body may have taken its time to arrive.
        let spent = if ctx.env.now() < claims.expires_at() {
            stepup::consume(ctx, tx, claims).await?
        } else {
            Err(Invalid::Expired)
        };
        Ok(ConsumedStepUp(spent.map(|()| Some(claims.clone())).map_err(|invalid| {
            let entry = entry(&claims.user.to_string(), &claims.session, &self.purpose, invalid);
            refusal(invalid, &entry)
        })))
    }

    /// Holds the one who acts, and uses the proof up.
    pub async fn consume_alone(&self, ctx: &Ctx, tx: &mut Tx) -> Result<ConsumedStepUp, Problem> {
        if let Presented::Good(claims) = &self.what {
            lock_person(tx, &claims.user).await?;
        }
        self.consume(ctx, tx).await
    }

    /// Holds the one who acts and the one it is about, in one order whoever they are, and uses the proof up.
    pub async fn consume_about(
        &self,
        ctx: &Ctx,
        tx: &mut Tx,
        whom: &UserId,
    ) -> Result<ConsumedStepUp, Problem> {
        self.lock_both(tx, whom).await?;
        self.consume(ctx, tx).await
    }

    /// Locks the one who acts and the one it is about, in one order whoever they are, for acts that find out only then whether
    /// a proof is asked for.
    pub async fn lock_both(&self, tx: &mut Tx, whom: &UserId) -> Result<(), Problem> {
        let Presented::Good(claims) = &self.what else { return Ok(()) };
        if *whom < claims.user {
            directory::PeopleStore::person(tx, whom).await?;
        }
        lock_person(tx, &claims.user).await?;
        if *whom > claims.user {
            directory::PeopleStore::person(tx, whom).await?;
        }
        Ok(())
    }
}

/// Holds the one who acts, and nothing of the tenant's: acts that change a policy hold that as a whole, and would wait for
/// whoever shares it.
async fn lock_person(tx: &mut Tx, user: &UserId) -> Result<(), Problem> {
    let person = directory::PeopleStore::person(tx, user).await?;
    person.filter(|person| person.active).map(drop).ok_or_else(Problem::account_disabled)
}

/// What became of a proof that was used: to be looked at right before the act.
#[must_use = "without a look at it the act is done with a token that was used before"]
pub struct ConsumedStepUp(Result<Option<Claims>, Problem>);

impl ConsumedStepUp {
    /// No proof was asked for.
    pub fn none() -> Self {
        Self(Ok(None))
    }

    /// The entry of its use, or 401 `STEP_UP_INVALID` where another was first: then nothing is done.
    pub fn events(self) -> Result<Vec<Event>, Problem> {
        Ok(self.claims()?.iter().map(consumed).collect())
    }

    /// What the token said; `None` where none was needed.
    pub fn claims(self) -> Result<Option<Claims>, Problem> {
        self.0
    }
}

/// The entry of a proof that was used.
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

fn what(request: &HttpRequest, purpose: &Purpose) -> Presented {
    let (Some((caller, ctx)), Some(pipeline)) =
        (access::passed(request), request.app_data::<web::Data<Pipeline>>())
    else {
        return Presented::Nothing;
    };
    let signed = match caller {
        Caller::Session(signed) => signed,
        Caller::Pat(by) if by.pat.scopes.contains(&Scope::AdminTenant) => return Presented::ByPat,
        Caller::Pat(_) | Caller::Scim(_) => return Presented::Nothing,
    };
    let checked = match presented(request.headers()) {
        None => return Presented::Nothing,
        Some(Err(invalid)) => Err(invalid),
        Some(Ok(text)) => {
            let keys = pipeline.keys.step_ups(text);
            stepup::check(&ctx, &keys, purpose, &caller_of(&signed, &ctx), text)
        }
    };
    match checked {
        Ok(claims) => Presented::Good(claims),
        Err(invalid) => {
            let (user, session) = (signed.session.user.to_string(), signed.session.id.to_string());
            Presented::Bad(invalid, Box::new(entry(&user, &session, purpose, invalid)))
        }
    }
}

/// The one token that a request carries; two are none.
fn presented(headers: &HeaderMap) -> Option<Result<&str, Invalid>> {
    let mut sent = headers.get_all(HEADER);
    let first = sent.next()?;
    let one = if sent.next().is_none() { first.to_str().ok() } else { None };
    Some(one.ok_or(Invalid::Malformed))
}

/// A proof for the purpose `P`.
pub struct StepUp<P: StepUpPurpose>(PresentedStepUp, PhantomData<fn() -> P>);

impl<P: StepUpPurpose> FromRequest for StepUp<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let shown = PresentedStepUp::of(request, &P::PURPOSE);
        let asked = shown.require().map_err(|problem| AreaProblem::of(request, problem));
        ready(asked.map(|()| Self(shown, PhantomData)))
    }
}

impl<P: StepUpPurpose> Deref for StepUp<P> {
    type Target = PresentedStepUp;

    fn deref(&self) -> &PresentedStepUp {
        &self.0
    }
}

/// Whether there is a proof for the purpose `P`, for handlers that ask for one depending on what they find.
pub struct IfAsked<P: StepUpPurpose>(PresentedStepUp, PhantomData<fn() -> P>);

impl<P: StepUpPurpose> FromRequest for IfAsked<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(PresentedStepUp::of(request, &P::PURPOSE), PhantomData)))
    }
}

impl<P: StepUpPurpose> Clone for IfAsked<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<P: StepUpPurpose> Deref for IfAsked<P> {
    type Target = PresentedStepUp;

    fn deref(&self) -> &PresentedStepUp {
        &self.0
    }
}
