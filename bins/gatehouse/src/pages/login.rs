//! `/auth/login`: one page for all sign-in steps, and for invitation and reset links.

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;

use super::{frame::PageFrame, frame::draw};
use crate::api::{Site, query::query};
use gate::shape::AreaProblem;

#[derive(Template)]
#[template(path = "login.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    next: String,
    tenant: Option<String>,
    /// Whether the server can mail links to users who forgot their password.
    has_mail: bool,
    /// Explains why the user was redirected to this page.
    reason: Option<&'static str>,
    /// How to continue a sign-in that needs a second factor: with the current session (`continue`), or with the
    /// sign-in that an identity provider started (`resume`).
    goes_on: Option<&'static str>,
}

/// Explains a reason code of a redirect; `None` for unknown codes.
fn reason(code: &str) -> Option<&'static str> {
    Some(match code {
        "SESSION_REVOKED" => "This session was ended. Sign in again to continue.",
        "SIGNED_OUT" => "You are signed out.",
        "SIGNED_OUT_HERE" => {
            "You are signed out here, but your organization's identity provider did not confirm that it signed you out. \
             Close the browser to be safe."
        }
        "PASSWORD_CHANGED" => "Your password was changed.",
        "REAUTH_REQUIRED" => {
            "Sign in again to continue. This change requires a sign-in within the last five minutes."
        }
        "ACCOUNT_DISABLED" => {
            "This account is disabled. Ask an administrator of your organization to enable it."
        }
        "NOT_PROVISIONED" => {
            "There is no account with your email address. Ask an administrator to invite you."
        }
        "SSO_NOT_ALLOWED" => {
            "Your organization doesn't allow single sign-on. Sign in with your email address and password."
        }
        _ => return None,
    })
}

/// Returns whether the text can be a tenant's slug or ID. Anything else is dropped, so that links cannot put their
/// own sentences on the page.
fn is_name(tenant: &str) -> bool {
    let letters =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    (1..=64).contains(&tenant.len()) && tenant.bytes().all(letters)
}

/// Renders the sign-in page. Credentials in the request are ignored.
#[get("/auth/login")]
pub(crate) async fn login(site: web::Data<Site>, request: HttpRequest) -> Result<HttpResponse, AreaProblem> {
    let asked = |name: &str| query(&request, name);
    let page = Page {
        shell: PageFrame::new(&site, "Sign in", "login.js"),
        next: super::next::place_after(&site, asked("next").as_deref()),
        tenant: asked("tenant").filter(|tenant| is_name(tenant)),
        has_mail: site.mail.is_some(),
        reason: asked("reason").as_deref().and_then(reason),
        goes_on: ["continue", "resume"].into_iter().find(|how| asked(how).is_some()),
    };
    draw(&page).map_err(|problem| AreaProblem::of(&request, problem))
}
