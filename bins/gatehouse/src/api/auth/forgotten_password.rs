//! `POST /api/auth/forgotten-password`: mails a link to a user who forgot the password.

use actix_web::{HttpResponse, post, web};
use credentials::attempts;
use directory::Message;
use kernel::{Actor, Ctx, Email};
use serde::{Deserialize, Serialize};
use sign_in::reset;
use store::{Across, AddressUser, Tx};
use utoipa::ToSchema;

use crate::{
    api::{Answer, Site, openapi::values},
    mail::Mail,
};
use gate::{
    access::Visitor,
    body::Json,
    errors::{Code, Problem},
};

/// The sign-in address of the user.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ForgottenPasswordBody {
    /// Slug or ID of the tenant, if known. Otherwise each tenant with this address sends a message.
    tenant: Option<String>,
    /// Email address of the user.
    #[schema(value_type = values::EmailAddress)]
    email: String,
}

/// The request is accepted.
#[derive(Serialize, ToSchema)]
struct Accepted {
    accepted: bool,
}

/// Ask for a new password
///
/// Mails a link to set a new password, valid for one hour, if the address belongs to a user with a password who
/// may use it. The answer does not depend on that: the server looks the address up after it has answered. The password
/// stays valid until the link is used. Needs mail (`smtp_url`).
#[utoipa::path(
    security(()),
    responses(
        (status = 202, description = "A message is sent if the address belongs to a user.", body = Accepted),
        (status = 400, description = "A field is missing or malformed."),
        (status = 403, description = "CROSS_SITE."),
        (status = 409, description = "CONFLICT: mail is not configured on this server."),
        (status = 429, description = "Too many attempts: 5 per hour and address, 20 in 5 minutes per client address."),
    )
)]
#[post("/api/auth/forgotten-password")]
pub(crate) async fn forgotten_password(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<ForgottenPasswordBody>,
) -> Answer {
    let ForgottenPasswordBody { tenant, email } = body.0;
    let email: Email =
        email.trim().parse().map_err(|error| Problem::invalid_request(format!("email: {error}")))?;
    if site.mail.is_none() {
        let message =
            "This server cannot send mail. Ask an administrator of your organization for a reset link.";
        return Err(Problem::new(Code::Conflict, message.to_owned()));
    }
    visitor.attempt(attempts::forgotten_password(&email.key(), &visitor.origin())).await?;
    visitor.in_background(async move |visitor| {
        if let Err(problem) = send_links(&site, &visitor, &email, tenant.as_deref()).await {
            tracing::warn!(cause = ?problem, "cannot send links to a user who forgot the password");
        }
    });
    Ok(HttpResponse::Accepted().json(Accepted { accepted: true }))
}

async fn send_links(
    site: &Site,
    visitor: &Visitor,
    email: &Email,
    tenant: Option<&str>,
) -> Result<(), Problem> {
    let Some(mail) = &site.mail else { return Ok(()) };
    let key = email.key();
    let look = async |across: &mut Across| {
        let tenant = match tenant {
            None => None,
            Some(name) => match across.tenant_named(name).await? {
                None => return Ok(Vec::new()),
                Some(tenant) => Some(tenant.id),
            },
        };
        across.users_of_address(&key, tenant.as_ref()).await
    };
    for one in visitor.across(look).await? {
        if let Err(problem) = send_link(site, visitor, mail, &one).await {
            tracing::warn!(
                tenant = one.tenant.as_str(), user = one.user.as_str(), cause = ?problem,
                "cannot send a link to a user who forgot the password"
            );
        }
    }
    Ok(())
}

async fn send_link(site: &Site, visitor: &Visitor, mail: &Mail, to: &AddressUser) -> Result<(), Problem> {
    let user = to.user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        reset::forgotten_password(ctx, tx, &user).await.map_err(Problem::from)
    };
    let made = visitor.write_as(&to.tenant, Actor::system("forgotten-password"), work).await?;
    let Some((person, link)) = made else { return Ok(()) };
    let address = reset::link_url(&site.pipeline.base_url, &link);
    let Some(email) = &person.email else { return Ok(()) };
    let message = Message::forgotten_password(&to.tenant_name, &address);
    mail.send(email, message).await.map_err(|error| Problem::unavailable().because(&error.to_string()))
}
