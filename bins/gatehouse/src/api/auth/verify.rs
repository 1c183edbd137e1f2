//! `POST /api/auth/sign-in/verify` and `…/continue`: the second factor.

use actix_web::{HttpRequest, post, web};
use attestation::{AttestationPolicyStore, Mode};
use kernel::Ctx;
use serde::Deserialize;
use serde_json::{Map, Value};
use sign_in::{
    Attempt, Device, Error, FactorAnswer, FactorName, Outcome, SecondFactor, passkey_enrolment, ticket,
};
use store::Tx;
use utoipa::ToSchema;

use super::answer::{SignInAnswer, device_of, respond, respond_to};
use crate::api::{Answer, Call, Site, openapi::values, query::query};
use gate::{
    access::{Visitor, user_agent},
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
    /// Assertion of the authenticator, for `WEBAUTHN`.
    #[schema(value_type = Option<Object>)]
    credential: Option<Map<String, Value>>,
}

/// Verify a second factor
///
/// A ticket accepts five wrong answers. A code of an authenticator app can be used once.
#[utoipa::path(
    security(()),
    params(
        ("offerPasskey" = Option<bool>, Query, description = "Whether the browser can create a passkey without asking the user (conditional create). Then a sign-in with a code of an authenticator app may end with `passkeyOffer`."),
    ),
    responses(
        (status = 200, description = "The state of the sign-in.", body = SignInAnswer),
        (status = 400, description = "A field is missing or malformed."),
        (status = 401, description = "TICKET_INVALID, FACTOR_INVALID or ACCOUNT_DISABLED."),
        (status = 403, description = "CROSS_SITE; FACTOR_NOT_PERMITTED if the tenant does not accept the factor."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/verify")]
pub(crate) async fn verify_factor(
    site: web::Data<Site>,
    visitor: Visitor,
    request: HttpRequest,
    body: Json<VerifyBody>,
) -> Answer {
    let VerifyBody { ticket, factor: name, code, credential } = body.0;
    let (tenant, ticket) = ticket::parse(&ticket)?;
    let answer = FactorAnswer::new(name, code, credential.map(Value::Object))?;
    let now = visitor.env().now();
    let find = async move |tx: &mut Tx| sign_in::find_ticket(tx, &ticket, now).await.map_err(Problem::from);
    let user = visitor.read(&tenant, find).await?.user;
    visitor.attempt(name.limits(&tenant, &user, &visitor.origin())).await?;
    let (verifying, device) = (site.clone(), device_of(&site, &visitor));
    let can_create = query(&request, "offerPasskey").as_deref() == Some("true");
    let offers = can_create && name == FactorName::Totp && site.auth.passkeys_work();
    let proof = SecondFactor { user: user.clone(), ticket, name, answer };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let verifiers = verifying.verifiers();
        let mut proved = sign_in::with_second_factor(ctx, tx, &verifiers, proof, &device).await?;
        if let (true, Attempt::Right(outcome)) = (offers, proved.value_mut()) {
            offer(ctx, tx, &verifying, outcome).await?;
        }
        Ok::<_, Problem>(proved)
    };
    match visitor.write(&tenant, &user, work).await? {
        Attempt::Wrong | Attempt::UnknownPasskey => Err(Error::FactorInvalid.into()),
        Attempt::Right(outcome) => respond_to(&site, &visitor, &tenant, *outcome).await,
    }
}

/// Adds the offer of a passkey to a complete sign-in, unless the tenant allows only certain authenticators: those have to attest
/// their model, which no browser does without asking.
async fn offer(ctx: &Ctx, tx: &mut Tx, site: &Site, outcome: &mut Outcome) -> Result<(), Problem> {
    let Outcome::SignedIn(started) = outcome else { return Ok(()) };
    if tx.attestation_policy().await?.mode == Mode::Off {
        let verifiers = site.verifiers();
        started.passkey_offer = passkey_enrolment::offer(ctx, tx, &verifiers, &started.session).await?;
    }
    Ok(())
}

/// Continue from another service's session
///
/// For a session cookie that still needs a second factor, such as a cookie of a neighbouring service. Returns a
/// ticket to verify a factor or to enrol the first one.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "The state of the sign-in.", body = SignInAnswer))
)]
#[post("/api/auth/sign-in/continue")]
pub(crate) async fn continue_sign_in(call: Call<SigningIn>) -> Answer {
    let signed = call.caller().clone();
    let ip = call.ctx().ip;
    let device = Device::new(user_agent(call.request.headers()), call.site.pipeline.locate(ip), ip);
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (session, verifiers) = (&signed.session, site.verifiers());
        let standing = session.standing;
        let continued = sign_in::continue_session(ctx, tx, &verifiers, session, standing, &device).await;
        continued.map_err(Problem::from)
    };
    let outcome = call.write(work).await?;
    respond(&call.site, call.env(), call.tenant(), outcome)
}
