//! The page that explains a refused SAML sign-in to users.

use actix_web::{
    HttpResponse, HttpResponseBuilder,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
};
use askama::Template;

use super::frame::PageFrame;
use crate::api::Site;
use gate::{errors::Problem, middleware::PAGE_POLICY};

#[derive(Template)]
#[template(path = "saml_refused.html")]
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
        "SAML_REFUSED" => (
            "You are not signed in",
            "Your identity provider's response was not accepted. It may have taken too long, or the sign-in \
             started in another tab or browser. Try again from the start.",
            Some("If it happens again, send this code to {}, who can find the reason."),
        ),
        "NOT_PROVISIONED" => (
            "You don't have an account",
            "Your identity provider signed you in, but no user here has your e-mail address.",
            Some("Ask {} to add you, and include this code."),
        ),
        "SSO_NOT_ALLOWED" => (
            "Sign in with your password",
            "Your organization allows only e-mail and password.",
            Some("If you have no password, ask {} for an invitation, and include this code."),
        ),
        "ACCOUNT_DISABLED" => (
            "Your account is disabled",
            "You cannot sign in.",
            Some("Ask {} to enable it, and include this code."),
        ),
        "NETWORK_POLICY_BLOCKED" => (
            "Network not allowed",
            "Your organization does not allow sign-ins from this network. Try again from the \
             office, or with its VPN.",
            Some("If this network should be allowed, ask {} and include this code."),
        ),
        "RATE_LIMITED" => (
            "Too many attempts",
            "There were too many attempts to sign in from your network. Wait a few minutes, then try again.",
            None,
        ),
        _ => (
            "You are not signed in",
            "Something went wrong. Try again in a moment.",
            Some("If it happens again, ask {} and include this code."),
        ),
    };
    RefusalText { title, happened, ask }
}

/// Responds to a user whose SAML sign-in was refused: what it means for them, and the reference to quote to an
/// administrator. It reveals no more than the error code.
pub(crate) fn saml_refused(
    site: &Site,
    status: StatusCode,
    code: &str,
    reference: Option<&str>,
    organisation: Option<&str>,
) -> HttpResponse {
    let words = words(code);
    let of = organisation.unwrap_or("your organization");
    let shell = PageFrame::new(site, words.title, "saml-refused.js");
    let page = Page { shell, words, administrator: format!("an administrator of {of}"), code, reference };
    let Ok(text) = page.render() else { return Problem::internal().envelope() };
    HttpResponseBuilder::new(status)
        .insert_header((header::CONTENT_SECURITY_POLICY, PAGE_POLICY))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
        .content_type("text/html; charset=utf-8")
        .body(text)
}
