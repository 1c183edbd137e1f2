//! `/api/auth/step-up`: step-up challenges and tokens.

use actix_web::{get, post};
use audit::{Audited, Unaudited};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sign_in::{FactorName, SecondFactors, StepUpAnswer, lock_account};
use stepup::{Attempt, ChallengeId, Factor, Purpose};
use store::Tx;
use utoipa::{IntoParams, ToSchema};

use crate::api::{Answer, Call, openapi::values, query::query};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::OwnAccount,
    purposes::PURPOSES,
    step_up::{PresentedStepUp, caller_of, consumed},
};

/// The purpose of a step-up.
#[derive(Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct PurposeBody {
    /// One of `x-step-up-purposes`.
    #[schema(value_type = values::StepUpPurpose)]
    #[param(value_type = values::StepUpPurpose, inline)]
    purpose: String,
}

/// A step-up challenge.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ChallengeOptions {
    #[schema(value_type = values::StepUpPurpose)]
    purpose: &'static str,
    requires_phishing_resistant: bool,
    /// Factors that can answer it: `WEBAUTHN`, `TOTP`.
    #[schema(value_type = Vec<credentials::FactorKind>)]
    factors: Vec<Factor>,
    /// `sch_…`. Send it with the answer, within five minutes, from the same session.
    challenge_id: String,
    /// PublicKeyCredentialRequestOptionsJSON, if `factors` contains `WEBAUTHN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    webauthn: Option<Value>,
}

/// An answer to a challenge.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StepUpBody {
    challenge_id: String,
    /// `WEBAUTHN` or `TOTP`. Recovery codes are not accepted.
    #[schema(value_type = credentials::FactorKind)]
    #[schema(value_type = values::FactorName)]
    factor: FactorName,
    /// The code, for `TOTP`.
    code: Option<String>,
    /// Assertion of the authenticator, for `WEBAUTHN`.
    #[schema(value_type = Option<Object>)]
    credential: Option<Map<String, Value>>,
}

/// A step-up token, shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StepUpToken {
    /// Value for the header `X-StepUp-Token` of one request.
    token: String,
    #[schema(value_type = values::StepUpPurpose)]
    purpose: String,
    #[schema(value_type = String, format = "date-time")]
    expires_at: Timestamp,
}

/// Whether the user has an unused step-up token.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StepUpStatus {
    #[schema(value_type = values::StepUpPurpose)]
    purpose: &'static str,
    active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<credentials::FactorKind>)]
    factor: Option<Factor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    issued_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    expires_at: Option<Timestamp>,
}

/// A consumed step-up token.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StepUpConsumption {
    authorized: bool,
    tenant_id: String,
    user_id: String,
    #[schema(value_type = values::StepUpPurpose)]
    purpose: String,
    #[schema(value_type = credentials::FactorKind)]
    factor: Factor,
    #[schema(value_type = String, format = "date-time")]
    consumed_at: Timestamp,
}

impl StepUpBody {
    fn read(self) -> Result<(ChallengeId, StepUpAnswer), Problem> {
        let Self { challenge_id, factor, code, credential } = self;
        let answer = StepUpAnswer::new(factor, code, credential.map(Value::Object))?;
        Ok((challenge_id.parse().map_err(|_| stepup::Error::ChallengeInvalid)?, answer))
    }
}

fn purpose_of(name: &str) -> Result<&'static Purpose, Problem> {
    stepup::find(&PURPOSES, name).ok_or_else(Problem::unknown_purpose)
}

/// Request a step-up challenge
///
/// Call this after a request was refused with `STEP_UP_REQUIRED`. A session has at most five open challenges; a new
/// one replaces the oldest.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The challenge.", body = ChallengeOptions),
        (status = 400, description = "UNKNOWN_PURPOSE, or the address of the client is unknown."),
        (status = 409, description = "NO_FACTOR_AVAILABLE: the user has no factor that the purpose accepts."),
    )
)]
#[post("/api/auth/step-up/challenge-options")]
pub(crate) async fn step_up_challenge_options(call: Call<OwnAccount>, body: Json<PurposeBody>) -> Answer {
    let purpose = purpose_of(&body.0.purpose)?;
    let caller = caller_of(call.caller(), call.ctx());
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let account = lock_account(tx, &caller.user).await?;
        let mut factors = SecondFactors::new(tx, site.verifiers(), &account);
        let begun = stepup::begin(ctx, &mut factors, &caller, purpose).await?;
        Ok::<_, Problem>(Audited::without(begun, Unaudited::StepTaken))
    };
    let begun = call.write(work).await?;
    Ok(answer(&ChallengeOptions {
        purpose: purpose.name,
        requires_phishing_resistant: purpose.phishing_resistant,
        factors: begun.factors,
        challenge_id: begun.id.to_string(),
        webauthn: begun.webauthn,
    }))
}

/// Answer a step-up challenge
///
/// A correct answer returns a step-up token: valid for one action of the purpose, in this session, from this address,
/// for one minute. A challenge accepts five wrong codes.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The token, shown once.", body = StepUpToken),
        (status = 400, description = "A field is malformed, or the address of the client is unknown."),
        (status = 401, description = "FACTOR_INVALID; TICKET_INVALID if the session has no such open challenge."),
        (status = 403, description = "FACTOR_NOT_PERMITTED: the purpose does not accept the factor."),
        (status = 429, description = "More than ten codes in five minutes in this session."),
    )
)]
#[post("/api/auth/step-up/verify")]
pub(crate) async fn verify_step_up(call: Call<OwnAccount>, body: Json<StepUpBody>) -> Answer {
    let (id, shown) = body.0.read()?;
    let caller = caller_of(call.caller(), call.ctx());
    let (challenge, factor, owner) = (id.clone(), shown.factor, caller.clone());
    let find = async move |ctx: &Ctx, tx: &mut Tx| stepup::waiting(ctx, tx, &owner, &challenge, factor).await;
    call.read(find).await?;
    let limits = shown.limits(call.tenant(), &call.caller().session, &call.origin());
    call.attempt(limits).await?;
    let site = call.site.clone();
    let attempt = Attempt { challenge: id, factor, answer: shown.answer };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        // Serialize with disabling the user and with removing the factor.
        let account = lock_account(tx, &caller.user).await?;
        let keys = site.pipeline.keys.newest_step_ups();
        let mut factors = SecondFactors::new(tx, site.verifiers(), &account);
        let verified = stepup::verify(ctx, &mut factors, &keys, &PURPOSES, &caller, &attempt).await?;
        Ok::<_, Problem>(sign_in::audited(verified, &caller.user, factor))
    };
    let granted = call.write(work).await?.ok_or(sign_in::Error::FactorInvalid)?;
    Ok(answer(&StepUpToken {
        token: granted.token.expose().clone(),
        purpose: granted.grant.purpose,
        expires_at: granted.grant.expires_at,
    }))
}

/// Check for a step-up token
///
/// Describes the newest step-up token of the user for a purpose that is unused, not revoked and not expired. Does not
/// return the token.
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(PurposeBody),
    responses(
        (status = 200, description = "Whether there is a step-up token.", body = StepUpStatus),
        (status = 400, description = "UNKNOWN_PURPOSE, or no purpose."),
    )
)]
#[get("/api/auth/step-up/status")]
pub(crate) async fn step_up_status(call: Call<OwnAccount>) -> Answer {
    let name = query(&call.request, "purpose");
    let purpose = purpose_of(&name.ok_or_else(|| Problem::invalid_request("purpose: name one"))?)?;
    let user = call.caller().session.user.clone();
    let find = async move |ctx: &Ctx, tx: &mut Tx| stepup::status(ctx, tx, &user, purpose).await;
    let found = call.read(find).await?;
    Ok(answer(&StepUpStatus {
        purpose: purpose.name,
        active: found.is_some(),
        factor: found.as_ref().map(|grant| grant.factor),
        issued_at: found.as_ref().map(|grant| grant.issued_at),
        expires_at: found.as_ref().map(|grant| grant.expires_at),
    }))
}

/// Consume a step-up token from another service
///
/// For services outside of this server, such as payroll. The service calls it server to server through a trusted
/// proxy, with the user's cookies and step-up token and the user's address in `X-Forwarded-For`. Never accept
/// "authorized" from a browser.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The step-up token was valid and is now consumed.", body = StepUpConsumption),
        (status = 400, description = "UNKNOWN_PURPOSE, or the address of the client is unknown."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate; STEP_UP_INVALID with a reason."),
    )
)]
#[post("/api/auth/step-up/consume")]
pub(crate) async fn consume_step_up(call: Call<OwnAccount>, body: Json<PurposeBody>) -> Answer {
    let purpose = purpose_of(&body.0.purpose)?;
    if call.ctx().ip.is_none() {
        return Err(stepup::Error::AddressUnknown.into());
    }
    let token = PresentedStepUp::of(&call.request, purpose);
    token.require()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let claims = token.consume(ctx, tx).await?.claims()?.ok_or_else(Problem::internal)?;
        let event = consumed(&claims);
        Ok::<_, Problem>(Audited::new(claims, event))
    };
    let claims = call.write(work).await?;
    Ok(answer(&StepUpConsumption {
        authorized: true,
        tenant_id: claims.tenant.to_string(),
        user_id: claims.user.to_string(),
        purpose: claims.purpose,
        factor: claims.factor,
        consumed_at: call.ctx().now,
    }))
}
