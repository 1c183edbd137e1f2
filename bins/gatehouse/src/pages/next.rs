//! Validates the page to go to after a sign-in, to prevent open redirects.

use url::Url;

use crate::api::Site;

/// Returns where to go after a sign-in: a local path, or a URL of an origin that the operator allows.
pub(crate) fn place_after(site: &Site, asked: Option<&str>) -> String {
    local_or_of(&site.pipeline.base_url, site.saml.return_origins(), asked)
}

/// Returns the local path in `next`, or `/` if it is not local.
pub(crate) fn local(base_url: &str, next: Option<&str>) -> String {
    next.and_then(|next| resolve(base_url, next)).unwrap_or_else(|| "/".to_owned())
}

/// Returns the local path in `next`, or a URL of one of these other origins.
pub(crate) fn local_or_of(base_url: &str, origins: &[String], next: Option<&str>) -> String {
    let elsewhere = |next: &str| {
        let url = Url::parse(next).ok()?;
        let named = |origin: &String| Url::parse(origin).is_ok_and(|known| known.origin() == url.origin());
        let bare = url.username().is_empty() && url.password().is_none();
        (bare && origins.iter().any(named)).then(|| url.to_string())
    };
    next.and_then(elsewhere).unwrap_or_else(|| local(base_url, next))
}

fn resolve(base_url: &str, next: &str) -> Option<String> {
    let base = Url::parse(base_url).ok()?;
    let url = base.join(next).ok()?;
    // Browsers read a path that begins with two slashes as a host name.
    let ours = url.origin() == base.origin() && !url.path().starts_with("//");
    let place = ours.then(|| &url[url::Position::BeforePath..url::Position::AfterQuery])?;
    // A sign-in must not end on the sign-in page.
    (!place.starts_with("/auth/login")).then(|| place.to_owned())
}

/// `path?name=value&…`
pub(crate) fn address(path: &str, query: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    format!("{path}?{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_this_origin() {
        let base = "https://gate.example";
        let to = |next| local(base, Some(next));
        for ours in ["/account/security", "/account/security?tab=a%20b", "/"] {
            assert_eq!(to(ours), ours);
        }
        assert_eq!(to("https://gate.example/a?b#c"), "/a?b");
        assert_eq!(to("account/security"), "/account/security");
        for other in [
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/.//evil.example",
            "/a/..//evil.example",
            "https:evil.example",
            "http://gate.example/",
            "https://gate.example:8443/",
            "https://gate.example@evil.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "/auth/login?next=/auth/login",
        ] {
            let place = to(other);
            assert!(place == "/" || place == "/evil.example", "{other:?} leads to {place}");
        }
        assert_eq!(local(base, None), "/");
    }

    #[test]
    fn other_origins_are_allowed_only_if_configured() {
        let named = ["https://app.example".to_owned()];
        let to = |next| local_or_of("https://gate.example", &named, Some(next));
        assert_eq!(to("https://app.example/a?b#c"), "https://app.example/a?b#c");
        assert_eq!(to("/account"), "/account");
        for other in [
            "https://app.example.evil.example/",
            "https://app.example:8443/",
            "http://app.example/",
            "https://user@app.example/",
            "//app.example/",
        ] {
            assert_eq!(to(other), "/", "{other}");
        }
    }
}
