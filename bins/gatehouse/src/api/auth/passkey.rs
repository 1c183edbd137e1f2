//! `POST /api/auth/passkey/options` and `…/verify`: sign-in with a passkey, which counts as both factors.

use actix_web::{post, web};
use credentials::attempts;
use kernel::Ctx;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sign_in::{Attempt, Error, PasskeyChallenge, PasskeyProof};
use store::Tx;
use utoipa::ToSchema;

use super::answer::{SignInAnswer, device_of, respond_to};
use crate::api::{Answer, Site};
use gate::{
    access::Visitor,
    body::{Json, answer},
    errors::Problem,
};

/// Options for a sign-in with a passkey.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasskeyOptions {
    /// Send it with the answer, within five minutes.
    challenge_id: String,
    /// PublicKeyCredentialRequestOptionsJSON.
    #[schema(value_type = Object)]
    webauthn: Value,
}

/// The assertion of an authenticator.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PasskeySignInBody {
    challenge_id: String,
    #[schema(value_type = Object)]
    credential: Map<String, Value>,
}

/// Start a sign-in with a passkey
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "Options for the authenticator.", body = PasskeyOptions),
        (status = 403, description = "CROSS_SITE."),
    )
)]
#[post("/api/auth/passkey/options")]
pub(crate) async fn begin_passkey_sign_in(site: web::Data<Site>, visitor: Visitor) -> Answer {
    let (challenge, webauthn) = PasskeyChallenge::new(site.auth.passkeys()?, visitor.env().now())?;
    let sealed = site.pipeline.keys.seal_challenge(&challenge.to_bytes()?);
    Ok(answer(&PasskeyOptions { challenge_id: sealed.ok_or_else(Problem::internal)?, webauthn }))
}

/// Complete a sign-in with a passkey
///
/// A passkey with user verification counts as both factors.
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "The state of the sign-in.", body = SignInAnswer),
        (status = 400, description = "A field is missing or malformed."),
        (status = 401, description = "TICKET_INVALID; ACCOUNT_DISABLED; FACTOR_INVALID, with reason PASSKEY_UNKNOWN if the passkey is not enrolled any more, so that the client can tell the authenticator."),
        (status = 403, description = "CROSS_SITE; SSO_REQUIRED; NETWORK_POLICY_BLOCKED if the network policy blocks the address."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/passkey/verify")]
pub(crate) async fn finish_passkey_sign_in(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<PasskeySignInBody>,
) -> Answer {
    let PasskeySignInBody { challenge_id, credential } = body.0;
    let opened = site.pipeline.keys.open_challenge(&challenge_id).ok_or(Error::TicketInvalid)?;
    let challenge = PasskeyChallenge::from_bytes(&opened, visitor.env().now())?;
    let proof = PasskeyProof::new(challenge, &challenge_id, Value::Object(credential))?;
    let (tenant, user) = (proof.tenant.clone(), proof.user.clone());
    visitor.attempt(attempts::other("passkey", &visitor.origin())).await?;
    let (place, device) = (site.clone(), device_of(&site, &visitor));
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        sign_in::with_passkey(ctx, tx, &place.verifiers(), proof, &device).await.map_err(Problem::from)
    };
    match Box::pin(visitor.write(&tenant, &user, work)).await? {
        Attempt::Wrong => Err(Error::FactorInvalid.into()),
        Attempt::UnknownPasskey => Err(Problem::from(Error::FactorInvalid).reason("PASSKEY_UNKNOWN")),
        Attempt::Right(outcome) => respond_to(&site, &visitor, &tenant, *outcome).await,
    }
}
