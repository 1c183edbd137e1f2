//! `POST /api/settings/users/{id}/reset-password` and `…/reset-factors`

use actix_web::{HttpResponse, post, web};
use kernel::{Ctx, UserId};
use serde::Serialize;
use sign_in::reset;
use store::Tx;
use utoipa::ToSchema;

use crate::{
    api::{Site, lockout::Lockout},
    people,
};
use gate::{
    access::Access,
    body::answer,
    errors::Problem,
    permissions::AdministerInPerson,
    step_up::{StepUp, UserAdminChange},
};

/// A reset has begun.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasswordReset {
    /// Whether the link was sent by mail.
    sent: bool,
    /// Where the person sets a password; shown once, and only where it was not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    link: Option<String>,
    /// How many personal access tokens of the person were revoked.
    revoked_tokens: usize,
}

/// Factors are gone.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FactorsReset {
    /// How many there were.
    removed: usize,
    /// How many personal access tokens of the person were revoked.
    revoked_tokens: usize,
}

/// Let a person set a new password
///
/// The old password, the person's sessions and personal access tokens end at once. The link sets a new password: it is good
/// for an hour, or 72 hours for who never had one. A factor is still asked for. Needs a fresh proof (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The link was made.", body = PasswordReset),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has no active person of this id."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in any more."),
    )
)]
#[post("/api/settings/users/{id}/reset-password")]
pub(crate) async fn reset_user_password(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<UserAdminChange>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let sent = site.mail.is_some();
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_about(ctx, tx, &id).await?;
        let person = directory::find_person(tx, &id).await?;
        let lockout = Lockout::before_act_on(&person, &place, ctx, tx).await?;
        let done = reset::reset_password(ctx, tx, &id, sent).await?;
        lockout.after(ctx, tx).await?;
        Ok::<_, Problem>(done.with(spending.events()?))
    };
    let reset::PasswordReset { person, kind, link, revoked_tokens } = access.write(work).await?;
    let link = people::deliver(&site, &person, kind, link).await?;
    Ok(answer(&PasswordReset { sent: link.is_none(), link, revoked_tokens }))
}

/// Take a person's factors away
///
/// All factors and recovery codes, for somebody who has lost every one; the person's sessions and personal access tokens end.
/// The person is told by mail, where that is configured, and at the next sign-in. Needs a fresh proof (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "They are gone.", body = FactorsReset),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in any more."),
    )
)]
#[post("/api/settings/users/{id}/reset-factors")]
pub(crate) async fn reset_user_factors(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<UserAdminChange>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_about(ctx, tx, &id).await?;
        let person = directory::find_person(tx, &id).await?;
        let lockout = Lockout::before_act_on(&person, &place, ctx, tx).await?;
        let done = reset::reset_factors(ctx, tx, &id).await?;
        lockout.after(ctx, tx).await?;
        Ok::<_, Problem>(done.with(spending.events()?))
    };
    let reset::FactorsReset { person, removed, revoked_tokens } = access.write(work).await?;
    if let (Some(mail), Some(email)) = (&site.mail, &person.email)
        && let Err(error) = mail.send_factors_reset(email).await
    {
        // It is done, and told at the next sign-in in any case.
        tracing::warn!(%error, user = %person.id, "the mail about a reset of factors could not be sent");
    }
    Ok(answer(&FactorsReset { removed, revoked_tokens }))
}
