//! The service provider configuration (RFC 7643 §5, RFC 9865 §3).

use serde_json::{Value, json};

use crate::{DEFAULT_COUNT, MAX_COUNT};

/// Returns the document of `/ServiceProviderConfig`; `base` is the URL of the SCIM root without a trailing slash.
pub fn service_provider_config(base: &str) -> Value {
    let no = || json!({ "supported": false });
    json!({
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
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "SCIM token",
            "description": "Authorization: Bearer scim_…, issued by an administrator of the tenant",
            "specUri": "https://www.rfc-editor.org/info/rfc6750",
            "primary": true,
        }],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": format!("{base}/ServiceProviderConfig"),
        },
    })
}
