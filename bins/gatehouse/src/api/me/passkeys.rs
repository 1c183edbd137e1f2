//! `/api/me/factors/passkeys`: enrolling a passkey or security key.

use ::attestation::AttestationPolicyStore;
use actix_web::post;
use audit::Audited;
use credentials::{Creation, FactorStore};
use kernel::Ctx;
use serde::Deserialize;
use serde_json::{Map, Value};
use sign_in::{
    enrolment::{self, Enrolled},
    passkey_enrolment::{self, RegisteredPasskey, RegistrationAnswer},
};
use store::Tx;
use utoipa::ToSchema;

use super::{
    factors::{FactorView, enrolled},
    locked::{PermittedEnrolment, Proof, finish_enrolment, lock_to_enrol, permit_enrolment},
};
use crate::api::{Answer, Call, attestation, auth::PasskeySetup, openapi::values};
use gate::{
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::SigningIn,
};

/// The credential of an authenticator.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PasskeyBody {
    challenge_id: String,
    #[schema(value_type = Object)]
    credential: Map<String, Value>,
    /// Name of the passkey: 1 to 64 printable characters.
    #[schema(value_type = Option<values::ShortName>)]
    name: Option<String>,
    /// True for the answer to `passkeyOffer` of a sign-in: the browser may have created it without asking the user.
    #[serde(default)]
    conditional: bool,
}

/// Start enrolling a passkey
///
/// The first factor requires a sign-in within the last five minutes (`REAUTH_REQUIRED`), further factors a step-up.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Options for the authenticator.", body = PasskeySetup),
        (status = 401, description = "REAUTH_REQUIRED or STEP_UP_REQUIRED."),
        (status = 409, description = "The user has too many factors."),
    )
)]
#[post("/api/me/factors/passkeys/options")]
pub(crate) async fn begin_passkey(call: Call<SigningIn>, proof: Proof) -> Answer {
    let signed = call.caller().clone();
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let permitted = permit_enrolment(ctx, tx, &signed, &proof).await?;
        let conveyance = attestation::conveyance(&tx.attestation_policy().await?);
        let verifiers = site.verifiers();
        let PermittedEnrolment { enrolling, factors, ground, events } = permitted;
        let begun =
            passkey_enrolment::begin(ctx, tx, &verifiers, &enrolling, &factors, ground, conveyance).await?;
        Ok::<_, Problem>(Audited::of_changes(PasskeySetup::of(&begun), events))
    };
    Ok(answer(&call.write(work).await?))
}

/// Complete enrolling a passkey
///
/// A session that needed a second factor becomes complete.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The factor is enrolled.", body = FactorView),
        (status = 400, description = "The credential or the name is malformed."),
        (status = 401, description = "TICKET_INVALID, FACTOR_INVALID or STEP_UP_REQUIRED."),
        (status = 403, description = "ATTESTATION_POLICY_BLOCKED: the attestation policy refuses the authenticator; `reason` is the first reason."),
        (status = 409, description = "The passkey is already enrolled in this tenant."),
    )
)]
#[post("/api/me/factors/passkeys/verify")]
pub(crate) async fn verify_passkey(call: Call<SigningIn>, proof: Proof, body: Json<PasskeyBody>) -> Answer {
    let PasskeyBody { challenge_id, credential, name, conditional } = body.0;
    let credential = Value::Object(credential);
    let creation = if conditional { Creation::Conditional } else { Creation::Asked };
    let answer =
        RegistrationAnswer::new(call.tenant(), &challenge_id, credential, name.as_deref(), creation)?;
    let signed = call.caller().clone();
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let enrolling = lock_to_enrol(tx, &signed).await?;
        let (verifiers, session) = (site.verifiers(), &signed.session);
        let registered =
            passkey_enrolment::verify(ctx, tx, &verifiers, &*site.makers, session, answer).await?;
        if let Some(passkey) = registered.passkey() {
            attestation::admit(ctx, tx, &session.user, passkey).await?;
        }
        let RegisteredPasskey { factor, ground: leave } = registered;
        let Enrolled { events, renewed } = match creation {
            Creation::Asked => finish_enrolment(ctx, tx, enrolling, &factor, leave, &proof).await?,
            Creation::Conditional => {
                let finishing = enrolment::finishing(ctx, tx, enrolling, &factor, leave).await?;
                enrolment::finish_conditional(&finishing, &factor)?
            }
        };
        if !tx.insert_factor(&factor).await? {
            return Err(Problem::new(Code::Conflict, "this passkey is already enrolled"));
        }
        Ok::<_, Problem>(Audited::of_changes((factor, renewed), events))
    };
    let (factor, renewed) = Box::pin(call.write(work)).await?;
    enrolled(&call, &factor, renewed)
}
