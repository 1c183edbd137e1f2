//! What the service says about itself (RFC 7643 §5 and §6).

use serde_json::{Value, json};

use crate::{
    MAX_COUNT,
    schema::{ENTERPRISE_USER, USER},
};

/// The document of `/ServiceProviderConfig`; `base` is the address of the SCIM root without a final slash.
pub fn service_provider_config(base: &str) -> Value {
    let no = || json!({ "supported": false });
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "patch": { "supported": true },
        "bulk": { "supported": false, "maxOperations": 0, "maxPayloadSize": 0 },
        "filter": { "supported": true, "maxResults": MAX_COUNT },
        "changePassword": no(),
        "sort": no(),
        "etag": no(),
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "SCIM token",
            "description": "Authorization: Bearer scim_…, minted by the tenant's administrator",
            "specUri": "https://www.rfc-editor.org/info/rfc6750",
            "primary": true,
        }],
        "meta": {
            "resourceType": "ServiceProviderConfig",
            "location": format!("{base}/ServiceProviderConfig"),
        },
    })
}

/// The one resource type of `/ResourceTypes` so far.
pub fn user_resource_type(base: &str) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
        "id": "User",
        "name": "User",
        "endpoint": "/Users",
        "description": "A person of the tenant",
        "schema": USER.id,
        "schemaExtensions": [{ "schema": ENTERPRISE_USER.id, "required": false }],
        "meta": { "resourceType": "ResourceType", "location": format!("{base}/ResourceTypes/User") },
    })
}
