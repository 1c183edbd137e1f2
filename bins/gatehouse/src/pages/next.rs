//! Where a sign-in leads to: a page of ours, whatever the address says.

use url::Url;

use crate::api::Site;

/// Where a sign-in leads to that was to go there: a place of ours, or of an origin that the operator has named.
pub(crate) fn place_after(site: &Site, asked: Option<&str>) -> String {
    local_or_of(&site.pipeline.base_url, site.saml.return_origins(), asked)
}

/// The path of ours that `next` names; `/` for everything else.
pub(crate) fn local(base_url: &str, next: Option<&str>) -> String {
    next.and_then(|next| resolve(base_url, next)).unwrap_or_else(|| "/".to_owned())
}

/// The same, or an address of one of these other origins.
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
    // A path that begins with two slashes would be read as the name of a host.
    let ours = url.origin() == base.origin() && !url.path().starts_with("//");
    let place = ours.then(|| &url[url::Position::BeforePath..url::Position::AfterQuery])?;
    // Signing in leads out of signing in.
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
    fn only_places_of_ours_are_gone_to() {
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
    fn other_origins_are_gone_to_only_if_they_are_named() {
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
