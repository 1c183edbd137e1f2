//! `POST /api/oidc/{providerId}/backchannel-logout`: the OpenID provider ends sessions.

use actix_web::{HttpResponse, http::header, post, web};
use gate::{access::Visitor, body::Form, errors::Problem};
use kernel::{Actor, Ctx};
use oidc_rp::{KeySet, LogoutToken, Refusal, Verified};
use sign_in::sso::oidc::{TokenKind, log_out, logout_refusal_event};
use store::Tx;
use utoipa::ToSchema;

use super::{keys::TokenIssuer, provider::provider_of};
use crate::{api::Site, area_metrics};

/// The form that a provider posts.
#[derive(ToSchema)]
#[schema(as = OidcLogoutForm)]
#[expect(dead_code, reason = "read by name: for the description alone")]
struct LogoutForm {
    /// A logout token (Back-Channel Logout 1.0, section 2.4) of at most 64 KiB.
    logout_token: String,
}

/// End sessions that an OpenID provider has ended
///
/// Back-channel logout: revokes the sessions that the logout token names by `sid`, or all sessions of its `sub`. Each
/// token is consumed once.
#[utoipa::path(
    security(()),
    request_body(content = LogoutForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The sessions are revoked, or there were none."),
        (status = 400, description = "OIDC_LOGOUT_REFUSED: the audit log shows administrators the reason."),
        (status = 429, description = "Too many refused tokens from this address."),
    )
)]
#[post("/api/oidc/{providerId}/backchannel-logout")]
pub(crate) async fn oidc_backchannel_logout(
    site: web::Data<Site>,
    visitor: Visitor,
    id: web::Path<String>,
    form: Form,
) -> Result<HttpResponse, Problem> {
    let (tenant, provider) = provider_of(&visitor, &id).await?;
    let kind = TokenKind::LogoutToken;
    let issuer = TokenIssuer { site: &site, visitor: &visitor, tenant: &tenant, provider: &provider, kind };
    let token = form.only("logout_token").unwrap_or_default().to_owned();
    let ended = match examine(&issuer, token).await? {
        Ok(token) => end(&issuer, token).await?,
        Err(refusal) => Err(refusal),
    };
    area_metrics::oidc_logout(if ended.is_ok() { "ended" } else { "refused" });
    if let Err(refusal) = ended {
        // Valid tokens are not limited: a provider that ends many sessions sends them all from one address, once.
        site.saml.admit(&visitor.origin())?;
        return Err(problem(&issuer, &refusal));
    }
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).finish())
}

async fn examine(
    issuer: &TokenIssuer<'_>,
    token: String,
) -> Result<Result<Verified<LogoutToken>, Refusal>, Problem> {
    let (provider, now) = (issuer.provider.clone(), issuer.visitor.env().now());
    let token: std::sync::Arc<str> = token.into();
    let check = move |keys: &KeySet| provider.examine_logout(&token, keys, now);
    issuer.check(check, |examined| examined.as_ref().err().is_some_and(Refusal::may_be_new_key)).await
}

async fn end(
    issuer: &TokenIssuer<'_>,
    token: Verified<LogoutToken>,
) -> Result<Result<usize, Refusal>, Problem> {
    let provider = issuer.provider.clone();
    let actor = Actor::oidc(provider.id.as_str());
    let work =
        async move |ctx: &Ctx, tx: &mut Tx| Ok::<_, Problem>(log_out(ctx, tx, &provider, &token).await?);
    issuer.visitor.write_as(issuer.tenant, actor, work).await
}

fn problem(issuer: &TokenIssuer<'_>, refusal: &Refusal) -> Problem {
    let (visitor, tenant, provider) = (issuer.visitor, issuer.tenant, issuer.provider.id.as_str());
    tracing::info!(
        request_id = visitor.request_id(),
        tenant = tenant.as_str(),
        provider,
        reason = refusal.reason.as_str(),
        "a logout token was refused"
    );
    let ctx = visitor.ctx(tenant, Actor::oidc(provider));
    Problem::logout_refused().with_event_as(&ctx, logout_refusal_event(issuer.provider, refusal))
}
