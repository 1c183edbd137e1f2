//! `/api/auth/step-up`: a fresh proof for one act.

use actix_web::{HttpRequest, HttpResponse, get, post, web};
use audit::{
    Audited, Event, Unaudited,
    events::step_up::{StepUpFailed, StepUpIssued},
};
use credentials::{Assertion, attempts};
use kernel::{Ctx, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sign_in::{FactorAnswer, FactorName, SecondFactors, lock_account};
use stepup::{Answer, Attempt, Factor, IssuedToken, Purpose, Verified};
use store::Tx;
use utoipa::{IntoParams, ToSchema};

use crate::api::{Site, openapi::values, query::query};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::OwnAccount,
    step_up::{PresentedStepUp, caller_of, consumed},
};

/// What a proof is asked for.
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
    /// With what it may be answered: `WEBAUTHN`, `TOTP`.
    #[schema(value_type = Vec<values::FactorType>)]
    factors: Vec<Factor>,
    /// `sch_…`, to be sent back with the answer within five minutes, from this session.
    challenge_id: String,
    /// PublicKeyCredentialRequestOptionsJSON, where `WEBAUTHN` is among the factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    webauthn: Option<Value>,
}

/// An answer to a challenge.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StepUpBody {
    challenge_id: String,
    /// `WEBAUTHN` or `TOTP`; recovery codes prove nothing here.
    #[schema(value_type = values::FactorType)]
    #[schema(value_type = values::FactorName)]
    factor: FactorName,
    /// The code, for `TOTP`.
    code: Option<String>,
    /// What the authenticator answered, for `WEBAUTHN`.
    #[schema(value_type = Option<Object>)]
    credential: Option<Map<String, Value>>,
}

/// A proof; shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StepUpToken {
    /// For the header `X-StepUp-Token` of one request.
    token: String,
    #[schema(value_type = values::StepUpPurpose)]
    purpose: String,
    #[schema(value_type = String, format = "date-time")]
    expires_at: Timestamp,
}

/// Whether there is a proof that was not used.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StepUpStatus {
    #[schema(value_type = values::StepUpPurpose)]
    purpose: &'static str,
    active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::FactorType>)]
    factor: Option<Factor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    issued_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    expires_at: Option<Timestamp>,
}

/// A proof that is used up now.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StepUpConsumption {
    authorized: bool,
    tenant_id: String,
    user_id: String,
    #[schema(value_type = values::StepUpPurpose)]
    purpose: String,
    #[schema(value_type = values::FactorType)]
    factor: Factor,
    #[schema(value_type = String, format = "date-time")]
    consumed_at: Timestamp,
}

impl StepUpBody {
    /// The challenge, the factor and what answers it. Recovery codes answer none.
    fn read(self) -> Result<(FactorName, Attempt), Problem> {
        let Self { challenge_id, factor: name, code, credential } = self;
        let answer = match FactorAnswer::new(name, code, credential.map(Value::Object))? {
            FactorAnswer::Code(code) => Answer::Code(code),
            FactorAnswer::Credential(credential) => {
                Assertion::read(&credential).map_err(|_| {
                    Problem::invalid_request("credential: not the answer of an authenticator")
                })?;
                Answer::Credential(credential)
            }
        };
        let factor = match name {
            FactorName::Webauthn => Factor::Webauthn,
            FactorName::Totp => Factor::Totp,
            FactorName::RecoveryCode => {
                let message = "recovery codes sign you in; they prove nothing here";
                return Err(Problem::new(Code::FactorNotPermitted, message));
            }
        };
        let challenge = challenge_id.parse().map_err(|_| stepup::Error::ChallengeInvalid)?;
        Ok((name, Attempt { challenge, factor, answer }))
    }
}

fn purpose_of(name: &str) -> Result<&'static Purpose, Problem> {
    stepup::find(&stepup::PURPOSES, name).ok_or_else(Problem::unknown_purpose)
}

/// Ask for a challenge
///
/// What to answer with, for an act that was refused with `STEP_UP_REQUIRED`. Five wait in a session at most; the
/// oldest make room.
#[utoipa::path(
    tag = "Step-up",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The challenge.", body = ChallengeOptions),
        (status = 400, description = "UNKNOWN_PURPOSE; or the client's address is not known."),
        (status = 409, description = "NO_FACTOR_AVAILABLE: none that counts is enrolled."),
    )
)]
#[post("/api/auth/step-up/challenge-options")]
pub(crate) async fn step_up_challenge_options(
    site: web::Data<Site>,
    access: Access<OwnAccount>,
    body: Json<PurposeBody>,
) -> Result<HttpResponse, Problem> {
    let purpose = purpose_of(&body.0.purpose)?;
    let caller = caller_of(access.caller(), access.ctx());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let account = lock_account(tx, &caller.user).await?;
        let ceremonies = SecondFactors::new(site.verifiers(), &account);
        let begun = stepup::begin(ctx, tx, &ceremonies, &caller, purpose).await?;
        Ok::<_, Problem>(Audited::without(begun, Unaudited::StepTaken))
    };
    let begun = access.write(work).await?;
    Ok(answer(&ChallengeOptions {
        purpose: purpose.name,
        requires_phishing_resistant: purpose.phishing_resistant,
        factors: begun.factors,
        challenge_id: begun.id.to_string(),
        webauthn: begun.webauthn,
    }))
}

/// Answer a challenge
///
/// A right answer becomes a token for one act of the purpose, in this session and from this address, for a minute. A
/// challenge takes five wrong codes.
#[utoipa::path(
    tag = "Step-up",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The token, this once.", body = StepUpToken),
        (status = 400, description = "A field is malformed; or the client's address is not known."),
        (status = 401, description = "FACTOR_INVALID, or TICKET_INVALID: the challenge waits for no answer here."),
        (status = 403, description = "FACTOR_NOT_PERMITTED: the factor does not count for the purpose."),
        (status = 429, description = "Ten codes in five minutes for each session."),
    )
)]
#[post("/api/auth/step-up/verify")]
pub(crate) async fn verify_step_up(
    site: web::Data<Site>,
    access: Access<OwnAccount>,
    body: Json<StepUpBody>,
) -> Result<HttpResponse, Problem> {
    let (name, attempt) = body.0.read()?;
    let caller = caller_of(access.caller(), access.ctx());
    let (id, factor, owner) = (attempt.challenge.clone(), attempt.factor, caller.clone());
    let find = async move |ctx: &Ctx, tx: &mut Tx| stepup::waiting(ctx, tx, &owner, &id, factor).await;
    access.read(find).await?;
    let session = &access.caller().session;
    let limits = match name {
        FactorName::Totp => attempts::step_up(session.id.as_str()),
        other => other.limits(access.tenant(), &session.user, &access.origin()),
    };
    access.attempt(limits).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        // Whoever shuts the person out, or removes the factor, comes before or after.
        let account = lock_account(tx, &caller.user).await?;
        let keys = site.pipeline.keys.newest_step_ups();
        let ceremonies = SecondFactors::new(site.verifiers(), &account);
        let purposes = &stepup::PURPOSES;
        let verified = stepup::verify(ctx, tx, &ceremonies, &keys, purposes, &caller, &attempt).await?;
        Ok::<_, Problem>(audit_verified(verified, &caller.user, factor))
    };
    let granted = access.write(work).await?.ok_or(sign_in::Error::FactorInvalid)?;
    Ok(answer(&StepUpToken {
        token: granted.token.expose().clone(),
        purpose: granted.grant.purpose,
        expires_at: granted.grant.expires_at,
    }))
}

/// The token for a right answer, with the audit entry for either.
fn audit_verified(verified: Verified, user: &UserId, factor: Factor) -> Audited<Option<Box<IssuedToken>>> {
    let factor = factor.as_str();
    match verified {
        Verified::Wrong(challenge) => {
            let data = StepUpFailed { session: challenge.session, purpose: challenge.purpose, factor };
            Audited::new(None, Event::new(user.as_str(), &data))
        }
        Verified::Right(granted) => {
            let (session, purpose) = (granted.grant.session.clone(), granted.grant.purpose.clone());
            let data = StepUpIssued { user: user.to_string(), session, purpose, factor };
            let event = Event::new(granted.grant.id.as_str(), &data);
            Audited::new(Some(granted), event)
        }
    }
}

/// Look whether a proof is there
///
/// The freshest token of the person for the purpose that was neither used nor taken back and has not expired. The
/// token itself is not told.
#[utoipa::path(
    tag = "Step-up",
    security(("sessionCookie" = [])),
    params(PurposeBody),
    responses(
        (status = 200, description = "Whether there is one.", body = StepUpStatus),
        (status = 400, description = "UNKNOWN_PURPOSE, or no purpose."),
    )
)]
#[get("/api/auth/step-up/status")]
pub(crate) async fn step_up_status(
    access: Access<OwnAccount>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let name = query(&request, "purpose");
    let purpose = purpose_of(&name.ok_or_else(|| Problem::invalid_request("purpose: name one"))?)?;
    let user = access.caller().session.user.clone();
    let find = async move |ctx: &Ctx, tx: &mut Tx| stepup::status(ctx, tx, &user, purpose).await;
    let found = access.read(find).await?;
    Ok(answer(&StepUpStatus {
        purpose: purpose.name,
        active: found.is_some(),
        factor: found.as_ref().map(|grant| grant.factor),
        issued_at: found.as_ref().map(|grant| grant.issued_at),
        expires_at: found.as_ref().map(|grant| grant.expires_at),
    }))
}

/// Use a proof up, for a service outside of this process
///
/// The gate of a payroll service, say, which calls it server to server with the person's own cookies and token from a
/// trusted proxy's address, and the person's address in `X-Forwarded-For`. Never take "authorized" from a browser.
#[utoipa::path(
    tag = "Step-up",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The proof was good, and is used up.", body = StepUpConsumption),
        (status = 400, description = "UNKNOWN_PURPOSE; or the client's address is not known."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate; STEP_UP_INVALID with a reason."),
    )
)]
#[post("/api/auth/step-up/consume")]
pub(crate) async fn consume_step_up(
    access: Access<OwnAccount>,
    request: HttpRequest,
    body: Json<PurposeBody>,
) -> Result<HttpResponse, Problem> {
    let purpose = purpose_of(&body.0.purpose)?;
    if access.ctx().ip.is_none() {
        return Err(stepup::Error::AddressUnknown.into());
    }
    let shown = PresentedStepUp::of(&request, purpose);
    shown.require()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let claims = shown.consume(ctx, tx).await?.claims()?.ok_or_else(Problem::internal)?;
        let event = consumed(&claims);
        Ok::<_, Problem>(Audited::new(claims, event))
    };
    let claims = access.write(work).await?;
    Ok(answer(&StepUpConsumption {
        authorized: true,
        tenant_id: claims.tenant.to_string(),
        user_id: claims.user.to_string(),
        purpose: claims.purpose,
        factor: claims.factor,
        consumed_at: access.ctx().now,
    }))
}
