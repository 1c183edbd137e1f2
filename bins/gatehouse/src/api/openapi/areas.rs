//! The area of each operation, used as its tag.

/// Path prefixes and their tags; the first match counts.
const AREAS: [(&str, &str); 28] = [
    ("/api/auth/step-up", "Step-up"),
    ("/api/auth", "Sign-in"),
    ("/api/developers", "Discovery"),
    ("/api/me/factors", "Factors"),
    ("/api/me/recovery-codes", "Factors"),
    ("/api/me/sessions", "Sessions"),
    ("/api/me/tokens", "Tokens"),
    ("/api/me", "Profile"),
    ("/api/oidc", "OpenID Connect"),
    ("/api/people", "People"),
    ("/.well-known/ssf-configuration", "Shared signals"),
    ("/.well-known/webhooks", "Webhooks"),
    ("/api/ssf", "Shared signals"),
    ("/api/saml", "SAML"),
    ("/api/scim", "SCIM"),
    ("/api/settings/audit-log", "Audit log"),
    ("/api/settings/domains", "Single sign-on"),
    ("/api/settings/log-streams", "Log streams"),
    ("/api/settings/oidc-providers", "Single sign-on"),
    ("/api/settings/removal-limit", "Removals"),
    ("/api/settings/role", "Roles"),
    ("/api/settings/saml-providers", "Single sign-on"),
    ("/api/settings/scim-tokens/{id}/removals", "Removals"),
    ("/api/settings/signals", "Shared signals"),
    ("/api/settings/sso-connections", "Single sign-on"),
    ("/api/settings/users/{id}/saml-subjects", "Single sign-on"),
    ("/api/settings/webhooks", "Webhooks"),
    ("/api/settings", "Settings"),
];

/// Returns the tag of the operations at this path.
pub(super) fn tag(path: &str) -> Option<&'static str> {
    AREAS.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, tag)| *tag)
}
