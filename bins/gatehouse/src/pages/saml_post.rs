//! The page with the form that posts a SAML request to an identity provider and submits itself.

use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
};
use askama::Template;
use url::Url;

use super::{frame::PageFrame, frame::draw};
use crate::api::Site;
use gate::{errors::Problem, middleware::PAGE_POLICY};

#[derive(Template)]
#[template(path = "saml_post.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    name: &'a str,
    action: &'a str,
    fields: &'a [(&'a str, &'a str)],
}

/// Builds a page that posts these fields to `action`, a URL of the identity provider `name`. The page's policy
/// forbids posting to any other origin.
pub(crate) fn saml_post(
    site: &Site,
    name: &str,
    action: &str,
    fields: &[(&str, &str)],
) -> Result<HttpResponse, Problem> {
    let policy = sends_to(action)
        .ok_or_else(|| Problem::unexpected("the single sign-on URL of the identity provider is invalid"))?;
    let title = format!("Redirecting to {name}");
    let shell = PageFrame::new(site, &title, "saml-post.js");
    let mut answer = draw(&Page { shell, name, action, fields })?;
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(answer)
}

/// Returns the usual content security policy, with `form-action` restricted to the origin of this URL.
fn sends_to(action: &str) -> Option<HeaderValue> {
    let origin = Url::parse(action).ok()?.origin();
    let usual = PAGE_POLICY;
    let usual = usual.to_str().ok()?;
    let named = usual.replace("form-action 'self'", &format!("form-action {}", origin.ascii_serialization()));
    (origin.is_tuple() && named != usual).then(|| HeaderValue::from_str(&named).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_restricted_to_the_identity_providers_origin() {
        let policy = |action| sends_to(action).map(|policy| policy.to_str().unwrap().to_owned());
        let named = policy("https://idp.example:8443/sso?a=b;c").unwrap();
        assert!(named.contains("; form-action https://idp.example:8443;"), "{named}");
        assert!(named.contains("script-src 'self'") && !named.contains("form-action 'self'"));
        assert!(policy("https://münchen.example/").unwrap().contains("https://xn--mnchen-3ya.example;"));
        for none in ["", "/sso", "javascript:alert(1)", "data:text/html,x"] {
            assert_eq!(policy(none), None, "{none}");
        }
    }
}
