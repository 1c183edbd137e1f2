use serde_json::{Value, json};

use super::USERS;
use crate::support::{ada, on_both};

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

fn names(user: &Value) -> Vec<&str> {
    user.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn client_selects_the_returned_attributes() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        let mut body = ada();
        body[ENTERPRISE] = json!({ "department": "Engines", "costCenter": "7" });
        let made = scim.post(USERS, &body).json();
        let path = format!("{USERS}/{}", made["id"].as_str().unwrap());
        let read = |query: &str| scim.get(&format!("{path}?{query}")).json();

        let user = read("attributes=USERNAME,name.givenName,emails.value");
        assert_eq!(names(&user), ["schemas", "id", "userName", "name", "emails"]);
        assert_eq!(user["name"], json!({ "givenName": "Ada" }));
        assert_eq!(user["emails"], json!([{ "value": "ada@example.com" }]));
        assert_eq!(names(&read("attributes=shoeSize")), ["schemas", "id"]);
        assert_eq!(names(&read("attributes=meta.created")), ["schemas", "id", "meta"]);
        assert_eq!(
            read(&format!("attributes={ENTERPRISE}:department"))[ENTERPRISE],
            json!({ "department": "Engines" })
        );
        assert_eq!(read(&format!("attributes={ENTERPRISE}"))[ENTERPRISE], made[ENTERPRISE]);

        let user = read("excludedAttributes=emails,name.familyName,id,schemas,meta");
        assert_eq!(names(&user), ["schemas", "id", "externalId", "userName", "active", "name", ENTERPRISE]);
        assert_eq!(user["name"], json!({ "givenName": "Ada" }));
        let user = read(&format!("excludedAttributes={ENTERPRISE}:department,emails.type"));
        assert_eq!(
            (&user[ENTERPRISE], &user["emails"][0]["type"]),
            (&json!({ "costCenter": "7" }), &Value::Null)
        );
        assert_eq!(read("attributes="), made, "an empty list selects everything");
        assert_eq!(
            read("attributes=emails.display").get("emails"),
            None,
            "an absent attribute is not returned"
        );
        let user = read("excludedAttributes=name.givenName,name.familyName");
        assert_eq!(user.get("name"), None);
        let many = "id,userName,shoeSize,".repeat(40_000);
        let chosen = scim.post(&format!("{USERS}/.search"), &json!({ "attributes": many })).json();
        assert_eq!(chosen["Resources"][0].as_object().unwrap().len(), 3, "repeated names count once");

        let list =
            scim.get(&format!("{USERS}?attributes=userName&filter=name.givenName+eq+%22ada%22")).json();
        assert_eq!(names(&list["Resources"][0]), ["schemas", "id", "userName"]);
        let changed =
            scim.put(&format!("{path}?attributes=title"), &json!({ "userName": "ada", "title": "x" }));
        assert_eq!(names(&changed.json()), ["schemas", "id", "title"]);
        let made = scim.post(&format!("{USERS}?excludedAttributes=meta"), &json!({ "userName": "bob" }));
        assert_eq!(names(&made.json()), ["schemas", "id", "userName", "active"]);
    });
}
