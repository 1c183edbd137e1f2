//! The guard of acts that ask for a fresh proof.
//!
//! A handler names the purpose as a parameter: [`StepUp<P>`] refuses where there is no proof; [`IfAsked<P>`]
//! lets the handler decide in its unit of work whether one is asked for. What a proof is, is composed where
//! the server is bound ([`Proofs`]).

use std::{
    future::{Ready, ready},
    marker::PhantomData,
};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header::{HeaderMap, HeaderName},
    web,
};
use stepup::Purpose;

use super::{Site, access, errors::Problem, shape::AreaProblem};

/// The header that carries a proof.
pub const HEADER: HeaderName = HeaderName::from_static("x-stepup-token");

/// Who accepts proofs.
pub trait Proofs: Send + Sync {
    /// Whether what the header says is a proof for this purpose, from this caller.
    fn accepts(&self, purpose: &Purpose, presented: &str) -> bool;
}

/// Nobody does: what is guarded is done from the command line.
pub struct NoProofs;

impl Proofs for NoProofs {
    fn accepts(&self, _: &Purpose, _: &str) -> bool {
        false
    }
}

/// A purpose as a type, for the signature of a handler.
pub trait For: 'static {
    /// Which one.
    const PURPOSE: Purpose;
}

macro_rules! purposes {
    ($($name:ident => $purpose:ident),+ $(,)?) => { $(
        #[doc = concat!("[`stepup::", stringify!($purpose), "`]")]
        pub enum $name {}
        impl For for $name {
            const PURPOSE: Purpose = stepup::$purpose;
        }
    )+ };
}

purposes! {
    AccountSecurityChange => ACCOUNT_SECURITY_CHANGE,
    PatMintAdmin => PAT_MINT_ADMIN,
    UserAdminChange => USER_ADMIN_CHANGE,
    SignInPolicyChange => SIGN_IN_POLICY_CHANGE,
}

fn proved<P: For>(request: &HttpRequest) -> bool {
    let Some(site) = request.app_data::<web::Data<Site>>() else { return false };
    presented(request.headers()).is_some_and(|text| site.proofs.accepts(&P::PURPOSE, text))
}

/// The one proof that a request carries.
fn presented(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(HEADER);
    let (Some(one), None) = (sent.next(), sent.next()) else { return None };
    one.to_str().ok()
}

/// A proof for the purpose `P`.
pub struct StepUp<P: For>(PhantomData<P>);

impl<P: For> FromRequest for StepUp<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        // A token with `admin:tenant` was minted under a proof, and needs no other.
        let enough = proved::<P>(request) || access::is_by_pat(request);
        let refusal = || AreaProblem::of(request, Problem::step_up_required(&P::PURPOSE));
        ready(if enough { Ok(Self(PhantomData)) } else { Err(refusal()) })
    }
}

/// Whether there is a proof for the purpose `P`, for handlers that ask for one depending on what they find.
pub struct IfAsked<P: For> {
    proved: bool,
    purpose: PhantomData<fn() -> P>,
}

impl<P: For> FromRequest for IfAsked<P> {
    type Error = AreaProblem;
    type Future = Ready<Result<Self, AreaProblem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self { proved: proved::<P>(request), purpose: PhantomData }))
    }
}

impl<P: For> Clone for IfAsked<P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: For> Copy for IfAsked<P> {}

impl<P: For> IfAsked<P> {
    /// Asks for the proof: 401 `STEP_UP_REQUIRED` without one.
    pub fn ask(self) -> Result<(), Problem> {
        if self.proved { Ok(()) } else { Err(Problem::step_up_required(&P::PURPOSE)) }
    }
}
