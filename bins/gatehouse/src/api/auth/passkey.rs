//! `POST /api/auth/passkey/options` and `…/verify`: a passkey first, which is both factors.

use actix_web::{HttpResponse, post, web};
use audit::{Audited, Event, events::sign_in::SignInFailed};
use credentials::{
    Assertion, FactorKind, FactorStore, PendingAssertion, SignInStore, attempts, user_of_handle,
};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sessions::{Method, Standing};
use store::Tx;
use utoipa::ToSchema;

use super::{
    codes::asserted,
    enter::{Device, Proved, SignInAnswer, Step, enter, start},
    ticket,
    verify::factor_invalid,
};
use crate::api::{Site, digest::sha256};
use gate::{
    access::Visitor,
    body::{Json, answer},
    errors::Problem,
    network,
    signing_in::Held,
};

/// How long an authenticator may take to answer, in milliseconds.
const LIVES: i64 = 5 * 60_000;

/// What authenticators are asked before anybody is known.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasskeyOptions {
    /// To be sent back with the answer, within five minutes.
    challenge_id: String,
    /// PublicKeyCredentialRequestOptionsJSON.
    #[schema(value_type = Object)]
    webauthn: Value,
}

/// The answer of an authenticator.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PasskeySignInBody {
    challenge_id: String,
    #[schema(value_type = Object)]
    credential: Map<String, Value>,
}

/// A challenge, kept by the client under our signature: nothing is stored for whoever asks.
#[derive(Serialize, Deserialize)]
struct Challenge {
    until: i64,
    pending: PendingAssertion,
}

/// Begin to sign in with a passkey
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "What to ask the authenticator.", body = PasskeyOptions),
        (status = 403, description = "CROSS_SITE."),
    )
)]
#[post("/api/auth/passkey/options")]
pub(crate) async fn begin_passkey_sign_in(
    site: web::Data<Site>,
    visitor: Visitor,
) -> Result<HttpResponse, Problem> {
    let begun = site.auth.passkeys()?.begin_assertion(&[]);
    let (webauthn, pending) = begun.map_err(Problem::unforeseen)?;
    let until = visitor.env().now().plus_millis(LIVES).unix_millis();
    let challenge = serde_json::to_vec(&Challenge { until, pending });
    let challenge = challenge.map_err(Problem::unforeseen)?;
    let challenge_id = site.pipeline.keys.seal_challenge(&challenge).ok_or_else(Problem::internal)?;
    Ok(answer(&PasskeyOptions { challenge_id, webauthn }))
}

/// Finish signing in with a passkey
///
/// A passkey that has verified the person is both factors.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "How far it has come.", body = SignInAnswer),
        (status = 400, description = "A field is missing or malformed."),
        (status = 401, description = "TICKET_INVALID, FACTOR_INVALID or ACCOUNT_DISABLED."),
        (status = 403, description = "CROSS_SITE or SSO_REQUIRED; NETWORK_POLICY_BLOCKED from elsewhere."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/passkey/verify")]
pub(crate) async fn finish_passkey_sign_in(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<PasskeySignInBody>,
) -> Result<HttpResponse, Problem> {
    let PasskeySignInBody { challenge_id, credential } = body.0;
    let credential = Value::Object(credential);
    let opened =
        site.pipeline.keys.open_challenge(&challenge_id).and_then(|text| serde_json::from_slice(&text).ok());
    let Some(Challenge { until, pending }) = opened else { return Err(ticket::invalid()) };
    if visitor.env().now().unix_millis() >= until {
        return Err(ticket::invalid());
    }
    let Ok(assertion) = Assertion::read(&credential) else {
        return Err(Problem::invalid_request("credential: not the answer of an authenticator"));
    };
    let Some((tenant, user)) = assertion.user_handle().and_then(user_of_handle) else {
        return Err(factor_invalid());
    };
    visitor.attempt(attempts::other("passkey", &visitor.origin())).await?;
    let device = Device::of(&site, &visitor);
    let (place, whose, hash) = (site.clone(), user.clone(), sha256(challenge_id.as_bytes()));
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::PeopleStore::person(tx, &whose).await?;
        if !tx.spend_challenge(&hash, Timestamp::from_unix_millis(until)).await? {
            return Err(ticket::invalid());
        }
        let verified = asserted(&place, ctx, tx, &whose, &credential, &pending).await?;
        if verified != Some(true) {
            // The tenant may not even be there: then there is nobody to tell.
            let data = SignInFailed { reason: "FACTOR_INVALID", step: "WEBAUTHN" };
            let events = person.iter().map(|person| Event::new(person.id.as_str(), &data)).collect();
            return Ok(Audited::of_changes(None, events));
        }
        tx.clear_wrong_codes(&whose).await?;
        let policy = tx.sign_in_policy().await?;
        let person = person.ok_or_else(factor_invalid)?;
        if policy.requires_sso(person.break_glass) {
            return Err(Problem::sso_required());
        }
        if !person.active {
            return Err(Problem::account_disabled());
        }
        network::admit_sign_in(ctx, tx, &person).await?;
        let is_enough = policy.mfa.accepts(FactorKind::Webauthn) || !policy.mfa.required;
        let held = Held { person, policy };
        let methods = vec![Method::Passkey, Method::UserVerified];
        let proved = Proved { methods, ..Proved::default() };
        // Where passkeys do not count as a second factor, one is still owed.
        let step = if is_enough {
            enter(ctx, tx, held, proved, Standing::Full, &device).await?
        } else {
            start(&place, ctx, tx, held, proved, &device).await?
        };
        let (step, events) = step.into_parts();
        Ok(Audited::of_changes(Some(step), events))
    };
    let step: Option<Step> = Box::pin(visitor.write(&tenant, &user, work)).await?;
    step.ok_or_else(factor_invalid)?.answer(&site, &visitor, &tenant).await
}
