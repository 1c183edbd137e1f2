//! `POST /api/me/password`

use actix_web::{HttpResponse, post, web};
use audit::{Audited, Event, Unaudited, events::credentials::PasswordChanged};
use credentials::{Factor, FactorStore, Salt, SignInStore, StoredPassword, Verdict, attempts};
use kernel::{Ctx, Email, Secret};
use serde::{Deserialize, Serialize};
use sign_in::{Error, check_password, end_other_sessions, enrolment::check_fresh, reset};
use store::Tx;
use utoipa::ToSchema;

use super::locked::{Proof, lock};
use crate::api::{Site, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::OwnAccount,
};

/// The password there is, and the one there is to be.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PasswordBody {
    current_password: String,
    #[schema(value_type = values::NewPassword)]
    new_password: String,
    /// Whether one's personal access tokens are revoked as well.
    #[serde(default)]
    revoke_tokens: bool,
}

/// Something has changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Changed {
    changed: bool,
    /// How many personal access tokens were revoked, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    revoked_tokens: Option<usize>,
}

/// Change one's own password
///
/// With a second factor it needs a fresh proof (`ACCOUNT_SECURITY_CHANGE`), without one a sign-in within five
/// minutes. The person's other sessions end. Personal access tokens stay valid unless `revokeTokens` is true.
#[utoipa::path(
    tag = "Profile",
    security(("sessionCookie" = [])),
    request_body = PasswordBody,
    responses(
        (status = 200, description = "It is changed.", body = Changed),
        (status = 400, description = "The new password is not taken; `error` says why."),
        (status = 401, description = "STEP_UP_REQUIRED, REAUTH_REQUIRED; INVALID_CREDENTIALS: the current one is wrong."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/me/password")]
pub(crate) async fn change_password(
    site: web::Data<Site>,
    access: Access<OwnAccount>,
    proof: Proof,
    body: Result<Json<PasswordBody>, Problem>,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let (session, shown, origin) = (signed.session.clone(), proof.clone(), access.origin());
    let look = async move |ctx: &Ctx, tx: &mut Tx| {
        let has_factor = tx.factors(&session.user).await?.iter().any(Factor::is_verified);
        if has_factor {
            shown.ask()?;
        } else {
            check_fresh(&session, ctx.now)?;
        }
        let person = directory::find_person(tx, &session.user).await?;
        let kept = tx.password(&session.user).await?;
        let known = tx.knows_origin(&session.user, &origin).await?;
        Ok::<_, Problem>((person, kept, known))
    };
    let (person, kept, known) = access.read(look).await?;
    // A proof is asked for before anything is said about the body.
    let PasswordBody { current_password, new_password, revoke_tokens } = body?.0;
    let (current, new) = (Secret::new(current_password), Secret::new(new_password));
    let organization = access.own_tenant().await?.name;
    check_password(&new, &person, &organization, signed.holder.policy.mfa.required)
        .map_err(|weak| Problem::invalid_request(format!("newPassword: {weak}")))?;
    access.attempt(password_limits(&person, known, &access.origin())).await?;
    let stored =
        kept.iter().map(|hash| StoredPassword { tenant: access.tenant().clone(), hash: hash.clone() });
    let verdicts = access.aside(site.auth.hashing.verify(current, None, stored.collect())).await??;
    if !matches!(verdicts.first(), Some(Verdict::Right { .. })) {
        return Err(Error::InvalidCredentials.into());
    }
    let (key, random) = (person.email.as_ref().map(Email::key), Salt::random(access.env()));
    let salt = async move |_: &Ctx, tx: &mut Tx| {
        let salt = match key {
            Some(key) => tx.password_salt(&key, random).await?,
            None => random,
        };
        Ok::<_, Problem>(Audited::without(salt, Unaudited::StepTaken))
    };
    let salt = access.write(salt).await?;
    let hashed = access.aside(site.auth.hashing.hash(new, salt, access.tenant().clone())).await??;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (_, session) = lock(tx, &signed).await?;
        let mut events = Vec::new();
        if tx.factors(&session.user).await?.iter().any(Factor::is_verified) {
            events = proof.spend(ctx, tx).await?.events()?;
        } else {
            check_fresh(&session, ctx.now)?;
        }
        // Another change may have been first: then this one was not asked about the password there is.
        if tx.password(&session.user).await? != kept {
            return Err(Error::InvalidCredentials.into());
        }
        tx.set_password(&session.user, &hashed, ctx.now).await?;
        events.push(Event::new(session.user.as_str(), &PasswordChanged { by: "SELF" }));
        events.extend(end_other_sessions(ctx, tx, &session, "PASSWORD_CHANGED").await?);
        let mut revoked_tokens = None;
        if revoke_tokens {
            let revoked = reset::revoke_tokens(ctx, tx, &session.user).await?;
            revoked_tokens = Some(revoked.len());
            events.extend(revoked);
        }
        Ok::<_, Problem>(Audited::of_changes(revoked_tokens, events))
    };
    let revoked_tokens = access.write(work).await?;
    Ok(answer(&Changed { changed: true, revoked_tokens }))
}

/// The limits on attempts at one's own password, from an address that has signed the user in before, or not.
fn password_limits(person: &directory::Person, is_known: bool, origin: &str) -> Vec<attempts::Limit> {
    let key = person.email.as_ref().map_or_else(|| person.id.to_string(), Email::key);
    let mut limits = attempts::password(&key, origin);
    if !is_known {
        limits.extend(attempts::password_by_strangers(&key));
    }
    limits
}
