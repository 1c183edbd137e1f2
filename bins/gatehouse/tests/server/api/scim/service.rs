use serde_json::json;

use crate::support::on_both;

#[test]
fn the_capabilities_need_no_credential() {
    on_both(|server| {
        let answer = server.anonymous().get("/api/scim/v2/ServiceProviderConfig");
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/scim+json"));
        let config = answer.json();
        assert_eq!(config["patch"], json!({ "supported": true }));
        assert_eq!(config["filter"], json!({ "supported": true, "maxResults": 200 }));
        assert_eq!(config["bulk"], json!({ "supported": false, "maxOperations": 0, "maxPayloadSize": 0 }));
        let pagination = json!({
            "cursor": true, "index": true, "defaultPaginationMethod": "index",
            "defaultPageSize": 100, "maxPageSize": 200,
        });
        assert_eq!(config["pagination"], pagination);
        assert_eq!(config["sort"], json!({ "supported": false }));
        assert_eq!(config["etag"], json!({ "supported": false }));
    });
}

#[test]
fn schemas_and_resource_types_describe_users_and_groups() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let schemas = scim.get("/api/scim/v2/Schemas").json();
        assert_eq!(schemas["totalResults"], 3);
        for schema in schemas["Resources"].as_array().unwrap() {
            let one = scim.get(&format!("/api/scim/v2/Schemas/{}", schema["id"].as_str().unwrap()));
            assert_eq!((one.status, &one.json()), (200, schema));
        }
        let attributes = schemas["Resources"][0]["attributes"].as_array().unwrap();
        let user_name = attributes.iter().find(|attribute| attribute["name"] == "userName").unwrap();
        assert_eq!((&user_name["required"], &user_name["uniqueness"]), (&json!(true), &json!("server")));
        assert_eq!(scim.get("/api/scim/v2/Schemas/urn:nothing").status, 404);

        let types = scim.get("/api/scim/v2/ResourceTypes").json();
        assert_eq!(types["Resources"][0], scim.get("/api/scim/v2/ResourceTypes/User").json());
        assert_eq!(types["Resources"][1], scim.get("/api/scim/v2/ResourceTypes/Group").json());
        assert_eq!(types["Resources"][0]["schema"], "urn:ietf:params:scim:schemas:core:2.0:User");
        assert_eq!(scim.get("/api/scim/v2/ResourceTypes/Device").status, 404);
    });
}
