//! Headers and the JSON that a browser reads.

use serde::Serialize;

use super::signed::SessionIdentifier;

/// Returns the value of `Secure-Session-Registration`: asks the browser to create a key and to prove it at `path`.
pub fn registration(path: &str, challenge: &str) -> String {
    format!(r#"(ES256 RS256);path="{path}";challenge="{challenge}""#)
}

/// Returns the value of `Secure-Session-Challenge`: the challenge of the session's next proof.
pub fn challenge(challenge: &str, session: &SessionIdentifier) -> String {
    format!(r#""{challenge}";id="{session}""#)
}

/// Parses the value of `Sec-Secure-Session-Id`, with or without quotes.
pub fn identifier_of(header: &str) -> Option<SessionIdentifier> {
    unquoted(header).parse().ok()
}

/// Removes the quotes of a string in a structured field (RFC 9651, section 3.3.3). Chromium sends none. The values that are
/// read here contain no characters that are escaped.
pub(super) fn unquoted(header: &str) -> &str {
    let text = header.trim();
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text)
}

/// What the browser does with the session: when it renews which cookie, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// See [`SessionIdentifier`].
    session_identifier: String,
    refresh_url: String,
    scope: Scope,
    credentials: [CookieCredential; 1],
    allowed_refresh_initiators: [&'static str; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Scope {
    include_site: bool,
    scope_specification: Vec<Excluded>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Excluded {
    #[serde(rename = "type")]
    kind: &'static str,
    domain: &'static str,
    path: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct CookieCredential {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    attributes: &'static str,
}

impl Instructions {
    /// Tells the browser to renew the cookie at `refresh_url` before it sends a request to this origin without it, except
    /// to the paths in `public`.
    ///
    /// A navigation that another site starts may cause that too. Otherwise a link there would lead to the sign-in page. Other
    /// requests of other sites cause nothing, because the cookie is `SameSite=Lax`.
    pub fn new(
        session: &SessionIdentifier,
        refresh_url: &str,
        attributes: &'static str,
        public: &[&'static str],
    ) -> Self {
        let excluded = |path: &&'static str| Excluded { kind: "exclude", domain: "*", path };
        Self {
            session_identifier: session.to_string(),
            refresh_url: refresh_url.to_owned(),
            scope: Scope { include_site: false, scope_specification: public.iter().map(excluded).collect() },
            credentials: [CookieCredential { kind: "cookie", name: session.cookie_name(), attributes }],
            allowed_refresh_initiators: ["*"],
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::{ManualEnv, TenantId};
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_and_instructions_are_those_of_the_draft() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let session = SessionIdentifier { tenant: TenantId::new(&env), thumbprint: [7; 32] };
        let text = session.to_string();
        assert_eq!(registration("/key", "a.b"), r#"(ES256 RS256);path="/key";challenge="a.b""#);
        assert_eq!(challenge("a.b", &session), format!(r#""a.b";id="{text}""#));
        assert_eq!(identifier_of(&format!("\"{text}\"")), Some(session.clone()));
        assert_eq!(identifier_of(&format!(" {text}")), Some(session.clone()));
        for odd in ["", "\"", "ten_1", ".", &format!("{text}A"), &text.replace('.', "")] {
            assert_eq!(identifier_of(odd), None, "{odd}");
        }
        let instructions = Instructions::new(&session, "/refresh", "Path=/", &["/assets"]);
        let wanted = json!({
            "session_identifier": text,
            "refresh_url": "/refresh",
            "scope": {
                "include_site": false,
                "scope_specification": [{ "type": "exclude", "domain": "*", "path": "/assets" }],
            },
            "credentials": [{ "type": "cookie", "name": "__Host-gatehouse-bound-BwcHBwcHBwcH", "attributes": "Path=/" }],
            "allowed_refresh_initiators": ["*"],
        });
        assert_eq!(serde_json::to_value(instructions).unwrap(), wanted);
    }
}
