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
            "What your organisation's sign-in service sent was not accepted. It may have taken too long, or \
             been begun in another tab or browser: try again, from the beginning.",
            Some("If it happens again, ask {} and quote this: it leads them to the reason."),
        ),
        "NOT_PROVISIONED" => (
            "You have no account here",
            "Your organisation's sign-in service says who you are, but nobody here has your e-mail address.",
            Some("Ask {} to add you, and quote this."),
        ),
        "SSO_NOT_ALLOWED" => (
            "Sign in with your password",
            "Your organisation takes e-mail and password here, and no single sign-on.",
            Some("If you have no password, ask {} for one, and quote this."),
        ),
        "ACCOUNT_DISABLED" => (
            "Your account is disabled",
            "You are known here, but may not sign in.",
            Some("Only {} can change that. Quote this when you ask."),
        ),
        "NETWORK_POLICY_BLOCKED" => (
            "Not from this network",
            "Your organisation does not allow signing in from the network that you are in. Try again from the \
             office, or with its VPN.",
            Some("If you should be allowed in from here, ask {} and quote this."),
        ),
        "RATE_LIMITED" => (
            "Too many attempts",
            "There were too many attempts to sign in from your network. Wait a few minutes, then try again.",
            None,
        ),
        _ => (
            "You are not signed in",
            "Something went wrong on the way. Try again in a moment.",
            Some("If it happens again, ask {} and quote this."),
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
    let of = organisation.unwrap_or("your organisation");
    let shell = PageFrame::new(site, words.title, "saml-refused.js");
    let page = Page { shell, words, administrator: format!("an administrator of {of}"), code, reference };
    let Ok(text) = page.render() else { return Problem::internal().envelope() };
    HttpResponseBuilder::new(status)
        .insert_header((header::CONTENT_SECURITY_POLICY, PAGE_POLICY))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
        .content_type("text/html; charset=utf-8")
        .body(text)
}
