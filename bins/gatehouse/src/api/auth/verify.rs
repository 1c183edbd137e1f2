//! `POST /api/auth/sign-in/verify` and `…/continue`: the second factor.

use actix_web::{HttpRequest, HttpResponse, post, web};
use kernel::Ctx;
use serde::Deserialize;
use serde_json::{Map, Value};
use sign_in::{Attempt, Device, Error, FactorAnswer, FactorName, SecondFactor, ticket};
use store::Tx;
use utoipa::ToSchema;

use super::answer::{SignInAnswer, device_of, respond, respond_to};
use crate::api::{Site, openapi::values};
use gate::{
    access::{Access, Visitor, user_agent},
    body::Json,
    errors::Problem,
    permissions::SigningIn,
};

/// A second factor.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VerifyBody {
    ticket: String,
    #[schema(value_type = values::FactorName)]
    factor: FactorName,
    /// The code, for `TOTP` and `RECOVERY_CODE`.
    code: Option<String>,
    /// What the authenticator answered, for `WEBAUTHN`.
    #[schema(value_type = Option<Object>)]
    credential: Option<Map<String, Value>>,
}

/// Prove a second factor
///
/// A ticket takes five wrong answers. Codes of an authenticator app work once.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "How far it has come.", body = SignInAnswer),
        (status = 400, description = "A field is missing or malformed."),
        (status = 401, description = "TICKET_INVALID, FACTOR_INVALID or ACCOUNT_DISABLED."),
        (status = 403, description = "CROSS_SITE; FACTOR_NOT_PERMITTED where the tenant does not accept it."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/verify")]
pub(crate) async fn verify_factor(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<VerifyBody>,
) -> Result<HttpResponse, Problem> {
    let VerifyBody { ticket, factor: name, code, credential } = body.0;
    let (tenant, ticket) = ticket::parse(&ticket)?;
    let answer = FactorAnswer::new(name, code, credential.map(Value::Object))?;
    let now = visitor.env().now();
    let find = async move |tx: &mut Tx| sign_in::find_ticket(tx, &ticket, now).await.map_err(Problem::from);
    let user = visitor.read(&tenant, find).await?.user;
    visitor.attempt(name.limits(&tenant, &user, &visitor.origin())).await?;
    let (place, device) = (site.clone(), device_of(&site, &visitor));
    let proof = SecondFactor { user: user.clone(), ticket, name, answer };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let verifiers = place.verifiers();
        sign_in::with_second_factor(ctx, tx, &verifiers, proof, &device).await.map_err(Problem::from)
    };
    match visitor.write(&tenant, &user, work).await? {
        Attempt::Wrong => Err(Error::FactorInvalid.into()),
        Attempt::Right(outcome) => respond_to(&site, &visitor, &tenant, *outcome).await,
    }
}

/// Go on from another service's session
///
/// For a session cookie that still owes a second factor, such as one of a neighbouring service: a ticket to
/// prove one with, or to enrol the first.
#[utoipa::path(
    tag = "Sign-in",
    security(("sessionCookie" = [])),
    responses((status = 200, description = "How far it has come.", body = SignInAnswer))
)]
#[post("/api/auth/sign-in/continue")]
pub(crate) async fn continue_sign_in(
    site: web::Data<Site>,
    access: Access<SigningIn>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let ip = access.ctx().ip;
    let device = Device::new(user_agent(request.headers()), site.pipeline.locate(ip), ip);
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (session, verifiers) = (&signed.session, place.verifiers());
        let standing = session.standing;
        let continued = sign_in::continue_session(ctx, tx, &verifiers, session, standing, &device).await;
        continued.map_err(Problem::from)
    };
    let outcome = access.write(work).await?;
    respond(&site, access.env(), access.tenant(), outcome)
}
