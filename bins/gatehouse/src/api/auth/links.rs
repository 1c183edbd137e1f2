//! `POST /api/auth/links/redeem`: sets a password with an invitation or reset link.

use actix_web::{post, web};
use credentials::{Salt, attempts};
use kernel::{Ctx, Email, Secret, TenantId};
use serde::Deserialize;
use sign_in::{LinkProof, RedeemableLink, check_password, find_link, parse_link};
use store::{Across, Tx};
use utoipa::ToSchema;

use super::{
    answer::{SignInAnswer, device_of, respond_to},
    password::salt_of,
};
use crate::api::{Answer, Site};
use gate::{access::Visitor, body::Json, errors::Problem};

/// The token of a link and the new password.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RedeemBody {
    /// The part of the link after `#link=`.
    token: String,
    password: String,
}

/// Set a password with a link
///
/// Redeems the link of an invitation or a password reset, once, and responds like a sign-in with a password. A user
/// with a factor still needs it.
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "The state of the sign-in.", body = SignInAnswer),
        (status = 400, description = "The password is not accepted; `error` says why."),
        (status = 401, description = "LINK_INVALID."),
        (status = 403, description = "CROSS_SITE; SSO_REQUIRED; NETWORK_POLICY_BLOCKED if the network policy blocks the address."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/links/redeem")]
pub(crate) async fn redeem_link(site: web::Data<Site>, visitor: Visitor, body: Json<RedeemBody>) -> Answer {
    let RedeemBody { token, password } = body.0;
    let _turn = visitor.in_turn().await?;
    let password = Secret::new(password);
    let (tenant, hash) = parse_link(&token)?;
    visitor.attempt(attempts::other("link", &visitor.origin())).await?;
    let now = visitor.env().now();
    let find = async move |tx: &mut Tx| find_link(tx, &hash, now).await.map_err(Problem::from);
    let found = visitor.read(&tenant, find).await?;
    let password_hash = checked_and_hashed(&site, &visitor, &tenant, &found, password).await?;
    let user = found.person.id;
    let (place, device) = (site.clone(), device_of(&site, &visitor));
    let proof = LinkProof { user: user.clone(), link: hash, password_hash };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        sign_in::with_link(ctx, tx, &place.verifiers(), proof, &device).await.map_err(Problem::from)
    };
    let outcome = visitor.write(&tenant, &user, work).await?;
    respond_to(&site, &visitor, &tenant, outcome).await
}

/// Checks a new password against the password rules and hashes it.
async fn checked_and_hashed(
    site: &Site,
    visitor: &Visitor,
    tenant: &TenantId,
    RedeemableLink { person, policy, .. }: &RedeemableLink,
    password: Secret<String>,
) -> Result<String, Problem> {
    let named = async |across: &mut Across| across.tenant(tenant).await;
    let organization = visitor.across(named).await?.map_or_else(String::new, |tenant| tenant.name);
    check_password(&password, person, &organization, policy.mfa.required)
        .map_err(|weak| Problem::invalid_request(format!("password: {weak}")))?;
    site.auth.refuse_breached("password", &password).await?;
    let salt = match person.email.as_ref().map(Email::key) {
        Some(key) => salt_of(visitor, tenant, &key).await?,
        None => Salt::random(visitor.env()),
    };
    visitor.without_slot(site.auth.hashing.hash(password, salt, tenant.clone())).await?
}
