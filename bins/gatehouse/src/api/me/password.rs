//! `POST /api/me/password`

use actix_web::post;
use audit::{Audited, Event, Unaudited};
use credentials::{Factor, FactorStore, Salt, SignInStore, StoredPassword, Verdict, attempts};
use directory::Person;
use kernel::{Ctx, Email, Secret};
use serde::{Deserialize, Serialize};
use sessions::Session;
use sign_in::{Error, check_password, enrolment::check_fresh, reset};
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
    call.attempt(password_limits(&current, &call.origin())).await?;
    verify_current(&call, &current, Secret::new(current_password)).await?;
    let hash = hash_new(&call, &current.person, new).await?;
    let (signed, compared) = (call.caller().clone(), current.hash);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (_, session) = lock(tx, &signed).await?;
        let mut events = consume_if_factor(ctx, tx, &session, &proof).await?;
        // A concurrent change may have replaced the password that was verified.
        if tx.password(&session.user).await? != compared {
            return Err(Error::InvalidCredentials.into());
        }
        let changed = reset::change_password(ctx, tx, &session, &hash, revoke_tokens).await?;
        events.extend(changed.events);
        Ok::<_, Problem>(Audited::of_changes(changed.revoked_tokens, events))
    };
    let revoked_tokens = call.write(work).await?;
    Ok(answer(&Changed { changed: true, revoked_tokens }))
}

/// The user, and the password hash before the change.
struct Current {
    person: Person,
    hash: Option<String>,
    is_known_origin: bool,
}

/// Reads the current password, after checking the step-up or the time of the sign-in.
async fn read_current(call: &Call<OwnAccount>, proof: Proof) -> Result<Current, Problem> {
    let (session, origin) = (call.caller().session.clone(), call.origin());
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        if has_factor(tx, &session).await? {
            proof.require()?;
        } else {
            check_fresh(&session, ctx.now)?;
        }
        let person = directory::find_person(tx, &session.user).await?;
        let hash = tx.password(&session.user).await?;
        let is_known_origin = tx.knows_origin(&session.user, &origin).await?;
        Ok::<_, Problem>(Current { person, hash, is_known_origin })
    };
    Ok(call.read(find).await?)
}

async fn has_factor(tx: &mut Tx, session: &Session) -> Result<bool, Problem> {
    Ok(tx.factors(&session.user).await?.iter().any(Factor::is_verified))
}

/// Consumes the step-up of a user with a factor. A user without one must have signed in recently.
async fn consume_if_factor(
    ctx: &Ctx,
    tx: &mut Tx,
    session: &Session,
    proof: &Proof,
) -> Result<Vec<Event>, Problem> {
    if has_factor(tx, session).await? {
        return proof.consume(ctx, tx).await?.events();
    }
    check_fresh(session, ctx.now)?;
    Ok(Vec::new())
}

async fn verify_current(
    call: &Call<OwnAccount>,
    current: &Current,
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

/// Returns the limits on attempts at the caller's own password. They are stricter if the user never signed in from
/// this client address.
fn password_limits(current: &Current, origin: &str) -> Vec<attempts::Limit> {
    let person = &current.person;
    let key = person.email.as_ref().map_or_else(|| person.id.to_string(), Email::key);
    let mut limits = attempts::password(&key, origin);
    if !current.is_known_origin {
        limits.extend(attempts::password_by_strangers(&key));
    }
    limits
}
