//! `POST /api/me/password`

use actix_web::post;
use audit::{Audited, Unaudited};
use credentials::{Salt, SignInStore, StoredPassword, Verdict};
use directory::Person;
use kernel::{Ctx, Email, Secret};
use serde::{Deserialize, Serialize};
use sign_in::{
    Error, check_password,
    own_password::{self, CurrentPassword, PasswordReplacement, needs_step_up},
};
use store::Tx;
use utoipa::ToSchema;

use super::locked::{Proof, lock};
use crate::api::{Answer, Call, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::OwnAccount,
};

/// The current and the new password.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PasswordBody {
    current_password: String,
    #[schema(value_type = values::NewPassword)]
    new_password: String,
    /// Whether to revoke your personal access tokens as well.
    #[serde(default)]
    revoke_tokens: bool,
}

/// The change succeeded.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Changed {
    changed: bool,
    /// Number of personal access tokens revoked, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revoked_tokens: Option<usize>,
}

/// Change your password
///
/// Users with a factor need a step-up (`ACCOUNT_SECURITY_CHANGE`); others need a sign-in within the last five
/// minutes. Revokes the user's other sessions. Personal access tokens stay valid unless `revokeTokens` is true.
#[utoipa::path(
    security(("sessionCookie" = [])),
    request_body = PasswordBody,
    responses(
        (status = 200, description = "The password is changed.", body = Changed),
        (status = 400, description = "The new password is not accepted; `error` says why."),
        (status = 401, description = "STEP_UP_REQUIRED; REAUTH_REQUIRED; INVALID_CREDENTIALS if the current password is wrong."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/me/password")]
pub(crate) async fn change_password(
    call: Call<OwnAccount>,
    proof: Proof,
    body: Result<Json<PasswordBody>, Problem>,
) -> Answer {
    let current = read_current(&call, proof.clone()).await?;
    // Check the step-up before reporting any error of the body.
    let PasswordBody { current_password, new_password, revoke_tokens } = body?.0;
    let new = Secret::new(new_password);
    let organization = call.own_tenant().await?.name;
    check_password(&new, &current.person, &organization, call.caller().holder.policy.mfa.required)
        .map_err(|weak| Problem::invalid_request(format!("newPassword: {weak}")))?;
    call.site.auth.refuse_breached("newPassword", &new).await?;
    call.attempt(current.limits(&call.origin())).await?;
    verify_current(&call, &current, Secret::new(current_password)).await?;
    let hash = hash_new(&call, &current.person, new).await?;
    let replacement = PasswordReplacement { compared: current.hash, hash, revoke_tokens };
    let signed = call.caller().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (_, session) = lock(tx, &signed).await?;
        let mut events = Vec::new();
        if needs_step_up(ctx, tx, &session).await? {
            events = proof.consume(ctx, tx).await?.events()?;
        }
        let changed = own_password::change(ctx, tx, &session, &replacement).await?;
        events.extend(changed.events);
        Ok::<_, Problem>(Audited::of_changes(changed.revoked_tokens, events))
    };
    let revoked_tokens = call.write(work).await?;
    Ok(answer(&Changed { changed: true, revoked_tokens }))
}

/// Reads the current password, after checking the step-up or the time of the sign-in.
async fn read_current(call: &Call<OwnAccount>, proof: Proof) -> Result<CurrentPassword, Problem> {
    let (session, origin) = (call.caller().session.clone(), call.origin());
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        if needs_step_up(ctx, tx, &session).await? {
            proof.require()?;
        }
        Ok::<_, Problem>(CurrentPassword::read(tx, &session, &origin).await?)
    };
    Ok(call.read(find).await?)
}

async fn verify_current(
    call: &Call<OwnAccount>,
    current: &CurrentPassword,
    password: Secret<String>,
) -> Result<(), Problem> {
    let stored =
        current.hash.iter().map(|hash| StoredPassword { tenant: call.tenant().clone(), hash: hash.clone() });
    let verdicts =
        call.without_slot(call.site.auth.hashing.verify(password, None, stored.collect())).await??;
    match verdicts.first() {
        Some(Verdict::Right { .. }) => Ok(()),
        _ => Err(Error::InvalidCredentials.into()),
    }
}

/// Hashes the new password with the salt of the sign-in address.
async fn hash_new(
    call: &Call<OwnAccount>,
    person: &Person,
    password: Secret<String>,
) -> Result<String, Problem> {
    let (key, random) = (person.email.as_ref().map(Email::key), Salt::random(call.env()));
    let salt = async move |_: &Ctx, tx: &mut Tx| {
        let salt = match key {
            Some(key) => tx.password_salt(&key, random).await?,
            None => random,
        };
        Ok::<_, Problem>(Audited::without(salt, Unaudited::StepTaken))
    };
    let salt = call.write(salt).await?;
    call.without_slot(call.site.auth.hashing.hash(password, salt, call.tenant().clone())).await?
}
