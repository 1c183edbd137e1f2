//! `POST /api/auth/links/redeem`: an invitation or a reset becomes a password.

use actix_web::{HttpResponse, post, web};
use audit::{
    Audited, Event,
    events::{credentials::PasswordChanged, sign_in::SessionsRevoked},
};
use credentials::{Salt, SignInStore, attempts};
use directory::LinkStore;
use kernel::{Ctx, Secret, UserId};
use serde::Deserialize;
use sessions::{Method, SessionStore};
use store::{Across, Tx};
use tokens::{RawToken, TokenKind};
use utoipa::ToSchema;

use super::{
    enter::{Device, Proved, SignInAnswer, Step, start},
    sign_in::salt_of,
};
use crate::{api::Site, people};
use gate::{
    access::Visitor,
    body::Json,
    errors::{Code, Problem},
    network,
    signing_in::hold,
};

/// A link and the password to set.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RedeemBody {
    /// What stands in the link after `#`.
    token: String,
    password: String,
}

/// 401: whatever is wrong with a link.
fn invalid() -> Problem {
    let message = "this link was used, has ended, or is no longer valid for this account; ask an administrator for another";
    Problem::new(Code::LinkInvalid, message)
}

/// Set a password by a link
///
/// Redeems an invitation or a reset, once, and goes on as after a password: an existing factor is asked for.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "How far it has come.", body = SignInAnswer),
        (status = 400, description = "The password is not taken; `error` says why."),
        (status = 401, description = "LINK_INVALID."),
        (status = 403, description = "CROSS_SITE or SSO_REQUIRED; NETWORK_POLICY_BLOCKED from elsewhere."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/links/redeem")]
pub(crate) async fn redeem_link(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<RedeemBody>,
) -> Result<HttpResponse, Problem> {
    let RedeemBody { token, password } = body.0;
    let _turn = visitor.in_turn().await?;
    let password = Secret::new(password);
    let raw =
        RawToken::parse(&token).ok().and_then(|raw| raw.of_kind(TokenKind::Link)).ok_or_else(invalid)?;
    visitor.attempt(attempts::other("link", &visitor.origin())).await?;
    let (tenant, hash) = (raw.tenant().clone(), *raw.hash().as_bytes());
    let now = visitor.env().now();
    let find = async move |tx: &mut Tx| {
        let Some(link) = tx.link(&hash).await?.filter(|link| now < link.expires_at()) else {
            return Ok(None);
        };
        let person = directory::PeopleStore::person(tx, &link.user).await?;
        let person = person.filter(|person| link.is_for(person));
        let policy = tx.sign_in_policy().await?;
        Ok::<_, Problem>(person.map(|person| (link, person, policy)))
    };
    let Some((link, person, policy)) = visitor.read(&tenant, find).await? else { return Err(invalid()) };
    if policy.requires_sso(person.break_glass) {
        return Err(Problem::sso_required());
    }
    let named = async |across: &mut Across| across.tenant(&tenant).await;
    let organization = visitor.across(named).await?.map_or_else(String::new, |tenant| tenant.name);
    people::check_password(&password, &person, &organization, policy.mfa.required)
        .map_err(|weak| Problem::invalid_request(format!("password: {weak}")))?;
    let salt = match &person.email {
        Some(email) => salt_of(&visitor, &tenant, &person.id, &email.key()).await?,
        None => Salt::random(visitor.env()),
    };
    let hashed = visitor.aside(site.auth.hashing.hash(password, salt, tenant.clone())).await??;
    let device = Device::of(&site, &visitor);
    let place = site.clone();
    let (user, whose) = (link.user.clone(), link.user);
    let work =
        async move |ctx: &Ctx, tx: &mut Tx| redeem(&place, ctx, tx, &whose, &hash, &hashed, &device).await;
    let step: Step = visitor.write(&tenant, &user, work).await?;
    step.answer(&site, &visitor, &tenant).await
}

async fn redeem(
    site: &web::Data<Site>,
    ctx: &Ctx,
    tx: &mut Tx,
    user: &UserId,
    hash: &[u8; 32],
    hashed: &str,
    device: &Device,
) -> Result<Audited<Step>, Problem> {
    let held = hold(tx, user).await?;
    network::admit_sign_in(ctx, tx, &held.person).await?;
    // Hashing took its time: the address or the role may be another one by now.
    directory::redeem_link(ctx, tx, &held.person, hash).await?.ok_or_else(invalid)?;
    tx.set_password(user, hashed, ctx.now).await?;
    let ended = tx.revoke_sessions(user, ctx.now, None).await?;
    let proved = Proved { methods: vec![Method::Password], by_link: true, ..Proved::default() };
    let (step, mut events) = start(site, ctx, tx, held, proved, device).await?.into_parts();
    events.push(Event::new(user.as_str(), &PasswordChanged { by: "LINK" }));
    if ended > 0 {
        events.push(Event::new(user.as_str(), &SessionsRevoked { count: ended, why: "PASSWORD_CHANGED" }));
    }
    Ok(Audited::of_changes(step, events))
}
