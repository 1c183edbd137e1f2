//! Where a sign-in leads to: a page of ours, whatever the address says.

use url::Url;

/// The path of ours that `next` names; `/` for everything else.
pub(super) fn local(base_url: &str, next: Option<&str>) -> String {
    next.and_then(|next| resolve(base_url, next)).unwrap_or_else(|| "/".to_owned())
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
pub(super) fn address(path: &str, query: &[(&str, &str)]) -> String {
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
}
