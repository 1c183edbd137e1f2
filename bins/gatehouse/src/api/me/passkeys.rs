//! `/api/me/factors/passkeys`: enrolling a passkey or security key.

use ::attestation::AttestationPolicyStore;
use actix_web::{HttpResponse, post, web};
use audit::Audited;
use credentials::{
    Factor, FactorData, FactorId, FactorKind, FactorStore, PendingRegistration, TicketKind, TicketStore,
    default_name, user_handle,
};
use kernel::Ctx;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sessions::SessionId;
use store::Tx;
use utoipa::ToSchema;

use super::{
    factors::ShownFactor,
    guard::{Begun, Enrolled, Proof, enrolled, hold, may_enrol},
};
use crate::api::{
    Site, attestation,
    auth::{factor_invalid, ticket},
    openapi::values,
};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::SigningIn,
};

/// What to ask the authenticator.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasskeySetup {
    /// To be sent back with the answer.
    challenge_id: String,
    /// PublicKeyCredentialCreationOptionsJSON.
    #[schema(value_type = Object)]
    webauthn: Value,
}

/// What the authenticator has made.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PasskeyBody {
    challenge_id: String,
    #[schema(value_type = Object)]
    credential: Map<String, Value>,
    /// What to call it; 1 to 64 printable characters.
    #[schema(value_type = Option<values::ShortName>)]
    name: Option<String>,
}

/// What is kept until the authenticator answers.
#[derive(Serialize, Deserialize)]
struct Pending {
    session: SessionId,
    begun: Begun,
    registration: PendingRegistration,
}

/// Begin to enrol a passkey
///
/// The first factor asks for a sign-in within five minutes (`REAUTH_REQUIRED`), a further one for a fresh proof.
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "What to ask the authenticator.", body = PasskeySetup),
        (status = 401, description = "REAUTH_REQUIRED or STEP_UP_REQUIRED."),
        (status = 409, description = "There are too many factors."),
    )
)]
#[post("/api/me/factors/passkeys/options")]
pub(crate) async fn begin_passkey(
    site: web::Data<Site>,
    access: Access<SigningIn>,
    proof: Proof,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let found = hold(tx, &signed).await?;
        let factors = tx.factors(&found.1.user).await?;
        let (begun, events) = may_enrol(ctx, tx, &signed, &found, &factors, &proof).await?;
        let (held, session) = found;
        let account = held.person.account();
        let shown = held.person.display_name.as_deref().unwrap_or(account);
        let present: Vec<_> = factors.iter().filter_map(Factor::passkey).cloned().collect();
        let handle = user_handle(&ctx.tenant, &session.user);
        let attestation = attestation::conveyance(&tx.attestation_policy().await?);
        let ceremony =
            place.auth.passkeys()?.begin_registration(&handle, account, shown, &present, attestation);
        let (webauthn, registration) = ceremony.map_err(Problem::unforeseen)?;
        let pending = Pending { session: session.id.clone(), begun, registration };
        let state = serde_json::to_value(&pending).map_err(Problem::unforeseen)?;
        let ticket = ticket::mint(ctx, tx, TicketKind::PasskeyEnrolment, &session.user, state).await?;
        let setup = PasskeySetup { challenge_id: ticket.0, webauthn };
        Ok::<_, Problem>(Audited::of_changes(setup, events))
    };
    Ok(answer(&access.write(work).await?))
}

/// Finish enrolling a passkey
///
/// A session that owed a second factor is complete from now on.
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "It counts.", body = ShownFactor),
        (status = 400, description = "The answer or the name is malformed."),
        (status = 401, description = "TICKET_INVALID, FACTOR_INVALID or STEP_UP_REQUIRED."),
        (status = 403, description = "ATTESTATION_POLICY_BLOCKED, with the first reason: this authenticator may not be."),
        (status = 409, description = "The tenant has this passkey already."),
    )
)]
#[post("/api/me/factors/passkeys/verify")]
pub(crate) async fn verify_passkey(
    site: web::Data<Site>,
    access: Access<SigningIn>,
    proof: Proof,
    body: Json<PasskeyBody>,
) -> Result<HttpResponse, Problem> {
    let PasskeyBody { challenge_id, credential, name } = body.0;
    let credential = Value::Object(credential);
    let name = match name {
        None => default_name(FactorKind::Webauthn).to_owned(),
        Some(name) => credentials::name(&name)
            .ok_or_else(|| Problem::invalid_request("name: write 1 to 64 printable characters"))?,
    };
    let (tenant, hash) = ticket::read(&challenge_id)?;
    if tenant != *access.tenant() {
        return Err(ticket::invalid());
    }
    let signed = access.caller().clone();
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let held = hold(tx, &signed).await?;
        let kept = ticket::live(ctx, tx, &hash, TicketKind::PasskeyEnrolment).await?;
        let Pending { session, begun, registration } =
            serde_json::from_value(kept.state).map_err(Problem::unforeseen)?;
        if session != signed.session.id || !tx.take_ticket(&hash).await? {
            return Err(ticket::invalid());
        }
        let made =
            place.auth.passkeys()?.finish_registration(&registration, &credential, &*place.makers, ctx.now);
        let passkey = match made {
            Ok(passkey) => passkey,
            Err(credentials::CeremonyError::Malformed(why)) => {
                return Err(Problem::invalid_request(format!("credential: {why}")));
            }
            Err(error) => {
                tracing::info!(%error, "a registration was refused");
                return Err(factor_invalid());
            }
        };
        attestation::admit(ctx, tx, &signed.session.user, &passkey).await?;
        let factor = Factor {
            id: FactorId::new(&*ctx.env),
            user: signed.session.user.clone(),
            name,
            created_at: ctx.now,
            verified_at: Some(ctx.now),
            last_used_at: None,
            data: FactorData::Passkey(Box::new(passkey)),
        };
        let enrolled = enrolled(ctx, tx, &signed, held, &factor, begun, &proof).await?;
        if !tx.insert_factor(&factor).await? {
            return Err(Problem::new(Code::Conflict, "this passkey is enrolled already"));
        }
        let Enrolled { events, renewed } = enrolled;
        Ok::<_, Problem>(Audited::of_changes((factor, renewed), events))
    };
    let (factor, renewed) = Box::pin(access.write(work)).await?;
    let mut answer = answer(&ShownFactor::of(&factor));
    if let Some(renewed) = renewed {
        renewed.set_cookies(&site, access.env(), access.tenant(), &mut answer)?;
    }
    Ok(answer)
}
