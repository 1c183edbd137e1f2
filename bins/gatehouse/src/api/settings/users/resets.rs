//! `POST /api/settings/users/{id}/reset-password` and `…/reset-factors`

use std::slice;

use actix_web::post;
use credentials::attempts;
use directory::{Message, Person};
use kernel::{Ctx, UserId};
use serde::Serialize;
use sign_in::reset;
use store::Tx;
use utoipa::ToSchema;

use super::act::act_on;
use crate::{
    api::{Answer, Call},
    people::{count_mails, deliver},
};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{InPerson, SupportUsers},
    step_up::{StepUp, UserAdminChange},
};

/// The reset.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasswordReset {
    /// Whether the link was sent by mail.
    sent: bool,
    /// Link to set a password. Shown once, and only if it was not sent by mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    link: Option<String>,
    /// Number of personal access tokens revoked.
    revoked_tokens: usize,
}

/// The factors are removed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FactorsReset {
    /// Number of factors removed.
    removed: usize,
    /// Number of personal access tokens revoked.
    revoked_tokens: usize,
}

/// Reset a user's password
///
/// Revokes the password, the sessions and the personal access tokens of the user at once. The link sets a new
/// password; it is valid for one hour, or for 72 hours if the user never had a password. Factors stay required.
/// Requires a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The link to set a new password.", body = PasswordReset),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has no active user with this ID."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in afterwards."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After: too many mails to the user."),
    )
)]
#[post("/api/settings/users/{id}/reset-password")]
pub(crate) async fn reset_user_password(
    call: Call<InPerson<SupportUsers>>,
    proof: StepUp<UserAdminChange>,
) -> Answer {
    let id: UserId = call.id()?;
    let by = call.caller().holder.roles.clone();
    let sent = call.site.mail.is_some();
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let act = async |tx: &mut Tx, person: &Person| {
            if let Some(email) = &person.email {
                let limits = |tenant: &_| attempts::password_reset(tenant, &email.key());
                count_mails(&site, ctx, tx, limits).await?;
            }
            Ok(reset::reset_password(ctx, tx, &id, sent).await?)
        };
        let (done, step_up) = act_on((&by, &id), &proof, &site, ctx, tx, act).await?;
        Ok::<_, Problem>(done.with(step_up))
    };
    let reset::PasswordReset { person, kind, link, revoked_tokens } = call.write(work).await?;
    let link = deliver(&call.site, &person, kind, link).await?;
    Ok(answer(&PasswordReset { sent: link.is_none(), link, revoked_tokens }))
}

/// Reset a user's factors
///
/// Removes all factors and recovery codes of a user who lost them, and revokes the user's sessions and personal
/// access tokens. The user is notified by mail, if configured, and at the next sign-in. Requires a step-up
/// (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The factors are removed.", body = FactorsReset),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in afterwards."),
    )
)]
#[post("/api/settings/users/{id}/reset-factors")]
pub(crate) async fn reset_user_factors(
    call: Call<InPerson<SupportUsers>>,
    proof: StepUp<UserAdminChange>,
) -> Answer {
    let id: UserId = call.id()?;
    let by = call.caller().holder.roles.clone();
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let act = async |tx: &mut Tx, _: &Person| Ok(reset::reset_factors(ctx, tx, &id).await?);
        let (done, step_up) = act_on((&by, &id), &proof, &site, ctx, tx, act).await?;
        Ok::<_, Problem>(done.with(step_up))
    };
    let reset::FactorsReset { person, removed, revoked_tokens } = call.write(work).await?;
    if let Some(mail) = &call.site.mail {
        // Also if this fails, the next sign-in reports the reset.
        let about = person.id.as_str();
        mail.notify(about, slice::from_ref(&person), &Message::factors_reset()).await;
    }
    Ok(answer(&FactorsReset { removed, revoked_tokens }))
}
