//! `/api/me/factors/passkeys`: enrolling a passkey or security key.

use ::attestation::AttestationPolicyStore;
use actix_web::post;
use audit::Audited;
use credentials::{
    CeremonyError, Factor, FactorData, FactorId, FactorKind, FactorStore, Passkey, PendingRegistration,
    TicketKind, default_name, user_handle,
};
use kernel::{Ctx, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sessions::SessionId;
use sign_in::{
    Error,
    enrolment::{Enrolled, EnrolmentGround},
    ticket,
};
use store::Tx;
use utoipa::ToSchema;

use super::{
    factors::{ShownFactor, enrolled},
    locked::{Proof, finish_enrolment, leave_to_enrol, lock_to_enrol},
};
use crate::api::{Answer, Call, Site, attestation, openapi::values};
use gate::{
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::SigningIn,
};

/// Options for enrolling a passkey.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasskeySetup {
    /// Send it with the answer.
    challenge_id: String,
    /// PublicKeyCredentialCreationOptionsJSON.
    #[schema(value_type = Object)]
    webauthn: Value,
}

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
}

/// Enrolment state, stored until the authenticator responds.
#[derive(Serialize, Deserialize)]
struct Pending {
    session: SessionId,
    begun: EnrolmentGround,
    registration: PendingRegistration,
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
        let enrolling = lock_to_enrol(tx, &signed).await?;
        let factors = tx.factors(&enrolling.session.user).await?;
        let (leave, events) = leave_to_enrol(ctx, tx, &enrolling, &factors, &proof).await?;
        let (person, session) = (&enrolling.account.person, &enrolling.session);
        let shown = person.display_name.as_deref().unwrap_or(person.account());
        let present: Vec<_> = factors.iter().filter_map(Factor::passkey).cloned().collect();
        let handle = user_handle(&ctx.tenant, &session.user);
        let conveyance = attestation::conveyance(&tx.attestation_policy().await?);
        let passkeys = site.auth.passkeys()?;
        let begun = passkeys.begin_registration(&handle, person.account(), shown, &present, conveyance);
        let (webauthn, registration) = begun.map_err(Problem::unexpected)?;
        let pending = Pending { session: session.id.clone(), begun: leave, registration };
        let state = serde_json::to_value(&pending).map_err(Problem::unexpected)?;
        let ticket = ticket::issue(ctx, tx, TicketKind::PasskeyEnrolment, &session.user, state).await?;
        let setup = PasskeySetup { challenge_id: ticket.0, webauthn };
        Ok::<_, Problem>(Audited::of_changes(setup, events))
    };
    Ok(answer(&call.write(work).await?))
}

/// Complete enrolling a passkey
///
/// A session that needed a second factor becomes complete.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The factor is enrolled.", body = ShownFactor),
        (status = 400, description = "The credential or the name is malformed."),
        (status = 401, description = "TICKET_INVALID, FACTOR_INVALID or STEP_UP_REQUIRED."),
        (status = 403, description = "ATTESTATION_POLICY_BLOCKED: the attestation policy refuses the authenticator; `reason` is the first reason."),
        (status = 409, description = "The passkey is already enrolled in this tenant."),
    )
)]
#[post("/api/me/factors/passkeys/verify")]
pub(crate) async fn verify_passkey(call: Call<SigningIn>, proof: Proof, body: Json<PasskeyBody>) -> Answer {
    let PasskeyBody { challenge_id, credential, name } = body.0;
    let credential = Value::Object(credential);
    let name = name_of(name)?;
    let (tenant, hash) = ticket::parse(&challenge_id)?;
    if tenant != *call.tenant() {
        return Err(Error::TicketInvalid.into());
    }
    let signed = call.caller().clone();
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let enrolling = lock_to_enrol(tx, &signed).await?;
        let (leave, registration) = take_pending(ctx, tx, &signed.session.id, &hash).await?;
        let passkey = registered(&site, ctx, &registration, &credential)?;
        attestation::admit(ctx, tx, &signed.session.user, &passkey).await?;
        let factor = new_passkey(ctx, &signed.session.user, name, passkey);
        let Enrolled { events, renewed } =
            finish_enrolment(ctx, tx, enrolling, &factor, leave, &proof).await?;
        if !tx.insert_factor(&factor).await? {
            return Err(Problem::new(Code::Conflict, "this passkey is already enrolled"));
        }
        Ok::<_, Problem>(Audited::of_changes((factor, renewed), events))
    };
    let (factor, renewed) = Box::pin(call.write(work)).await?;
    enrolled(&call, &factor, renewed)
}

/// Checks the given name, or returns the default name of a passkey.
fn name_of(name: Option<String>) -> Result<String, Problem> {
    let Some(name) = name else { return Ok(default_name(FactorKind::Webauthn).to_owned()) };
    let message = "name: write 1 to 64 printable characters";
    credentials::name(&name).ok_or_else(|| Problem::invalid_request(message))
}

/// Consumes the pending enrolment of this session.
async fn take_pending(
    ctx: &Ctx,
    tx: &mut Tx,
    own: &SessionId,
    hash: &[u8; 32],
) -> Result<(EnrolmentGround, PendingRegistration), Problem> {
    let kept = ticket::find(tx, hash, TicketKind::PasskeyEnrolment, ctx.now).await?;
    let Pending { session, begun, registration } =
        serde_json::from_value(kept.state).map_err(Problem::unexpected)?;
    if session != *own {
        return Err(Error::TicketInvalid.into());
    }
    ticket::take(tx, hash).await?;
    Ok((begun, registration))
}

/// Verifies the authenticator's response and returns the new passkey.
fn registered(
    site: &Site,
    ctx: &Ctx,
    registration: &PendingRegistration,
    credential: &Value,
) -> Result<Passkey, Problem> {
    let passkeys = site.auth.passkeys()?;
    passkeys.finish_registration(registration, credential, &*site.makers, ctx.now).map_err(
        |error| match error {
            CeremonyError::Malformed(why) => Problem::invalid_request(format!("credential: {why}")),
            error => {
                tracing::info!(%error, "a registration was refused");
                Error::FactorInvalid.into()
            }
        },
    )
}

fn new_passkey(ctx: &Ctx, user: &UserId, name: String, passkey: Passkey) -> Factor {
    Factor {
        id: FactorId::new(&*ctx.env),
        user: user.clone(),
        name,
        created_at: ctx.now,
        verified_at: Some(ctx.now),
        last_used_at: None,
        data: FactorData::Passkey(Box::new(passkey)),
    }
}
