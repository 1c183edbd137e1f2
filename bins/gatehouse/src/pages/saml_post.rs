//! The page with the form that posts a SAML message to an identity provider and submits itself.

use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
};
use askama::Template;
use url::Url;

use super::{frame::PageFrame, frame::draw};
use crate::api::Site;
use gate::{errors::Problem, middleware::PAGE_POLICY};

/// Why a form is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostPurpose {
    /// The user signs in at the identity provider.
    SignIn,
    /// The user signs out there, or the identity provider continues a logout.
    Logout,
}

#[derive(Template)]
#[template(path = "saml_post.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    is_logout: bool,
    name: &'a str,
    action: &'a str,
    fields: &'a [(&'a str, &'a str)],
}

/// Builds a page that posts these fields to `action`, a URL of the identity provider `name`. The page's policy forbids
/// posting to another origin at a sign-in. A logout continues with redirects to services that only the identity provider knows,
/// and some browsers apply the policy to them.
pub(crate) fn saml_post(
    site: &Site,
    purpose: PostPurpose,
    name: &str,
    action: &str,
    fields: &[(&str, &str)],
) -> Result<HttpResponse, Problem> {
    let policy = sends_to(action, purpose)
        .ok_or_else(|| Problem::unexpected("the URL of the identity provider is invalid"))?;
    let title = format!("Redirecting to {name}");
    let shell = PageFrame::new(site, &title, "saml-post.js");
    let mut answer = draw(&Page { shell, is_logout: purpose == PostPurpose::Logout, name, action, fields })?;
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(answer)
}

/// Returns the usual content security policy, with `form-action` restricted to the origin of this URL, or at a logout to
/// this origin and those with https.
fn sends_to(action: &str, purpose: PostPurpose) -> Option<HeaderValue> {
    let origin = Url::parse(action).ok()?.origin();
    let more = match purpose {
        PostPurpose::SignIn => "",
        PostPurpose::Logout => " 'self' https:",
    };
    let usual = PAGE_POLICY;
    let usual = usual.to_str().ok()?;
    let named =
        usual.replace("form-action 'self'", &format!("form-action {}{more}", origin.ascii_serialization()));
    (origin.is_tuple() && named != usual).then(|| HeaderValue::from_str(&named).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_restricted_to_the_identity_providers_origin() {
        let of =
            |action, purpose| sends_to(action, purpose).map(|policy| policy.to_str().unwrap().to_owned());
        let policy = |action| of(action, PostPurpose::SignIn);
        let named = policy("https://idp.example:8443/sso?a=b;c").unwrap();
        assert!(named.contains("; form-action https://idp.example:8443;"), "{named}");
        assert!(named.contains("script-src 'self'") && !named.contains("form-action 'self'"));
        assert!(policy("https://münchen.example/").unwrap().contains("https://xn--mnchen-3ya.example;"));
        let logout = of("http://localhost:9/slo", PostPurpose::Logout).unwrap();
        assert!(logout.contains("; form-action http://localhost:9 'self' https:;"), "{logout}");
        for none in ["", "/sso", "javascript:alert(1)", "data:text/html,x"] {
            assert_eq!(policy(none), None, "{none}");
        }
    }
}
