//! `POST /api/auth/setup`: creates the first tenant and its administrator.

use actix_web::{post, web};
use credentials::{PasswordContext, attempts, check_new_password};
use directory::{NewTenant, Tenant, Tier};
use kernel::{Actor, Ctx, Email, Secret};
use serde::Deserialize;
use sign_in::{SetUp, SetUpError};
use store::{Across, Tx};
use utoipa::ToSchema;

use super::{
    answer::{SignInAnswer, device_of, respond_to},
    password::salt_of,
};
use crate::api::{Answer, Site, openapi::values};
use gate::{access::Visitor, body::Json, errors::Problem};

/// The token of the setup link, the first tenant and its administrator.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SetupBody {
    /// The part of the link after `#token=`.
    token: String,
    /// Name of the tenant.
    #[schema(value_type = values::PersonText)]
    name: String,
    /// Short name of the tenant. It cannot be changed.
    #[schema(value_type = values::Slug)]
    slug: String,
    /// Email address of the administrator.
    #[schema(value_type = values::EmailAddress)]
    email: String,
    /// Password of the administrator: at least 15 characters.
    #[schema(value_type = values::NewPassword)]
    password: String,
}

/// Set up the server
///
/// Creates the first tenant and its administrator with the link that the server prints when it starts without an
/// administrator, and responds like a sign-in with a password. The link works for 24 hours, until an administrator
/// exists. `gatehouse setup` prints a new one.
#[utoipa::path(
    operation_id = "set_up",
    security(()),
    responses(
        (status = 200, description = "The state of the sign-in.", body = SignInAnswer),
        (status = 400, description = "A field is malformed, or the password is not accepted; `error` says why."),
        (status = 401, description = "LINK_INVALID: the link has expired, or an administrator exists."),
        (status = 403, description = "CROSS_SITE."),
        (status = 409, description = "uniqueness: another tenant has this slug."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/setup")]
pub(crate) async fn set_up(site: web::Data<Site>, visitor: Visitor, body: Json<SetupBody>) -> Answer {
    let SetupBody { token, name, slug, email, password } = body.0;
    let _turn = visitor.in_turn().await?;
    let (token, password) = (Secret::new(token), Secret::new(password));
    visitor.attempt(attempts::other("setup", &visitor.origin())).await?;
    let look = async |across: &mut Across| across.has_administrator().await;
    if visitor.across(look).await? || !site.pipeline.keys.accepts_setup(token.expose(), visitor.env().now()) {
        return Err(SetUpError::LinkInvalid.into());
    }
    let email: Email =
        email.trim().parse().map_err(|error| Problem::invalid_request(format!("email: {error}")))?;
    let tenant = Tenant::new(visitor.env(), NewTenant { slug, name, tier: Tier::Standard })?;
    let context = PasswordContext { names: &[email.as_str(), &tenant.name], factor_enforced: false };
    check_new_password(&password, &context)
        .map_err(|weak| Problem::invalid_request(format!("password: {weak}")))?;
    site.auth.refuse_breached("password", &password).await?;
    let id = tenant.id.clone();
    let salt = salt_of(&visitor, &id, &email.key()).await?;
    let password_hash = visitor.without_slot(site.auth.hashing.hash(password, salt, id.clone())).await??;
    let (place, device) = (site.clone(), device_of(&site, &visitor));
    let new = SetUp { tenant, email, password_hash };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        sign_in::set_up(ctx, tx, &place.verifiers(), new, &device).await.map_err(Problem::from)
    };
    let outcome = visitor.write_as(&id, Actor::system("setup"), work).await?;
    respond_to(&site, &visitor, &id, outcome).await
}
