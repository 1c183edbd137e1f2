//! The service provider configuration (RFC 7643 §5, RFC 9865 §3).

use serde_json::{Value, json};

use crate::{DEFAULT_COUNT, MAX_COUNT};

/// What a host says about itself in `/ServiceProviderConfig`. The default names OAuth bearer tokens.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// The URL of the host's documentation.
    pub documentation_uri: Option<String>,
    /// How clients authenticate. The first is the preferred one.
    pub authentication_schemes: Vec<AuthenticationScheme>,
}

/// A way to authenticate (RFC 7643 §5).
#[derive(Debug, Clone)]
pub struct AuthenticationScheme {
    /// `oauthbearertoken`, `httpbasic` or another type of RFC 7643 §5.
    pub kind: String,
    /// Name for people.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// The URL of the specification.
    pub spec_uri: Option<String>,
}

impl AuthenticationScheme {
    /// A bearer token (RFC 6750) with this name and description.
    pub fn bearer(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            kind: "oauthbearertoken".to_owned(),
            name: name.into(),
            description: description.into(),
            spec_uri: Some("https://www.rfc-editor.org/info/rfc6750".to_owned()),
        }
    }
}

impl Default for ProviderConfig {
    fn default() -> Self {
        let bearer = AuthenticationScheme::bearer("Bearer token", "Authorization: Bearer …");
        Self { documentation_uri: None, authentication_schemes: vec![bearer] }
    }
}

/// Returns the document of `/ServiceProviderConfig`; `base` is the URL of the SCIM root without a trailing slash.
pub fn service_provider_config(base: &str, config: &ProviderConfig) -> Value {
    let no = || json!({ "supported": false });
    let schemes = config.authentication_schemes.iter().enumerate();
    let scheme = |(number, scheme): (usize, &AuthenticationScheme)| {
        let mut shown =
            json!({ "type": scheme.kind, "name": scheme.name, "description": scheme.description });
        if let Some(members) = shown.as_object_mut() {
            members.extend(scheme.spec_uri.iter().map(|uri| ("specUri".to_owned(), uri.as_str().into())));
            members.insert("primary".into(), (number == 0).into());
        }
        shown
    };
    let mut document = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "patch": { "supported": true },
        // authentik rejects the document without these two numbers.
        "bulk": { "supported": false, "maxOperations": 0, "maxPayloadSize": 0 },
        "filter": { "supported": true, "maxResults": MAX_COUNT },
        "changePassword": no(),
        "sort": no(),
        "etag": no(),
        "pagination": {
            "cursor": true,
            "index": true,
            "defaultPaginationMethod": "index",
            "defaultPageSize": DEFAULT_COUNT,
            "maxPageSize": MAX_COUNT,
        },
        "authenticationSchemes": schemes.map(scheme).collect::<Value>(),
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": format!("{base}/ServiceProviderConfig"),
        },
    });
    if let (Some(members), Some(uri)) = (document.as_object_mut(), &config.documentation_uri) {
        members.insert("documentationUri".into(), uri.as_str().into());
    }
    document
}
