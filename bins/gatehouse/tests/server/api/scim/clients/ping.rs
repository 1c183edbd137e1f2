//! Ping: finds by userName or externalId, replaces or patches, and asks for sorting, which is ignored.

use serde_json::json;

use super::USERS;
use crate::support::on_both;

#[test]
fn ping_finds_and_patches_users() {
    on_both(|server| {
        let scim = server.tenant("acme").scim.with("Accept", "*/*");
        let made = scim.send(
            "POST",
            USERS,
            Some("application/json"),
            &json!({
                "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
                "userName": "ada", "externalId": "uid=ada,ou=people", "active": true,
                "emails": [{ "value": "ada@example.com", "type": "work" }],
            })
            .to_string(),
        );
        assert_eq!((made.status, made.header("content-type")), (201, "application/scim+json"));
        let found = scim.get(&format!("{USERS}?filter=externalId%20eq%20%22uid%3Dada%2Cou%3Dpeople%22&sortBy=userName&sortOrder=ascending"));
        assert_eq!(found.json()["totalResults"], 1);
        let path = format!("{USERS}/{}", made.json()["id"].as_str().unwrap());
        let patched = scim.with("If-Match", "W/\"7\"").operations(&path, &json!([
            { "op": "replace", "path": "emails[type eq \"work\"].value", "value": "countess@example.com" },
            { "op": "add", "path": "emails", "value": [{ "value": "ada@home.example", "type": "home" }] },
            { "op": "remove", "path": "phoneNumbers" },
        ]));
        assert_eq!(patched.status, 200, "{}", patched.text);
        assert_eq!(
            patched.json()["emails"],
            json!([
                { "value": "countess@example.com", "type": "work" }, { "value": "ada@home.example", "type": "home" },
            ])
        );
    });
}
