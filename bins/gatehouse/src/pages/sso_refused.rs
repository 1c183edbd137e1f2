//! The page that explains a refused sign-in through an identity provider to users.

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use askama::Template;

use super::frame::{PageFrame, draw_as};
use crate::api::Site;
use gate::{errors::Problem, middleware::PAGE_POLICY};

#[derive(Template)]
#[template(path = "sso_refused.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    words: RefusalText,
    /// Description of the administrator to ask.
    administrator: String,
    code: &'a str,
    reference: Option<&'a str>,
}

/// The explanation of an error code.
struct RefusalText {
    title: &'static str,
    happened: &'static str,
    /// What an administrator can do; `None` if no administrator is needed.
    ask: Option<&'static str>,
}

fn words(code: &str) -> RefusalText {
    let (title, happened, ask) = match code {
        "SAML_REFUSED" | "OIDC_REFUSED" => (
            "You are not signed in",
            "The response of your organization's identity provider was not accepted. The sign-in may have taken too \
             long, or it was started in another tab or browser. Try again from the beginning.",
            Some("If it happens again, give this code to {}. It identifies the cause."),
        ),
        "NOT_PROVISIONED" => (
            "You have no account here",
            "Your organization's identity provider confirmed who you are, but there is no account with your email \
             address.",
            Some("Ask {} to add you, and give them this code."),
        ),
        "SSO_NOT_ALLOWED" => (
            "Sign in with your password",
            "Your organization doesn't allow single sign-on. Sign in with your email address and password.",
            Some("If you have no password, ask {} for a link to set one, and give them this code."),
        ),
        "ACCOUNT_DISABLED" => (
            "Your account is disabled",
            "You cannot sign in with a disabled account.",
            Some("Ask {} to enable it, and give them this code."),
        ),
        "NETWORK_POLICY_BLOCKED" => (
            "Your network is not allowed",
            "Your organization's network policy blocks sign-ins from your network. Try again from the office or \
             through its VPN.",
            Some("If you need access from here, ask {} to allow your network, and give them this code."),
        ),
        "SAML_LOGOUT_REFUSED" => (
            "You may still be signed in",
            "The logout message of your organization's identity provider was not accepted. Sign out here, and close the \
             browser.",
            Some("If it happens again, give this code to {}. It identifies the cause."),
        ),
        "SESSION_REVOKED" => (
            "You are signed out",
            "Your organization's identity provider ended your session during the sign-in. Sign in again.",
            None,
        ),
        "RATE_LIMITED" => (
            "Too many attempts",
            "There were too many sign-in attempts from your network. Wait a few minutes, then try again.",
            None,
        ),
        _ => (
            "You are not signed in",
            "Something went wrong during the sign-in. Try again in a moment.",
            Some("If it happens again, give this code to {}."),
        ),
    };
    RefusalText { title, happened, ask }
}

/// Responds to a user whose sign-in through an identity provider was refused: what it means for them, and the reference to quote to an
/// administrator. It reveals no more than the error code.
pub(crate) fn sso_refused(
    site: &Site,
    status: StatusCode,
    code: &str,
    reference: Option<&str>,
    organization: Option<&str>,
) -> HttpResponse {
    let words = words(code);
    let of = organization.unwrap_or("your organization");
    let shell = PageFrame::new(site, words.title, "sso-refused.js");
    let page = Page { shell, words, administrator: format!("an administrator of {of}"), code, reference };
    let Ok(mut answer) = draw_as(status, &page) else { return Problem::internal().envelope() };
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    answer
}
