use serde_json::{Value, json};

use crate::support::{Caller, Tenant, on_both};

const USERS: &str = "/api/scim/v2/Users";
const GROUPS: &str = "/api/scim/v2/Groups";

/// Creates users with these names and returns their IDs in order.
fn people(scim: &Caller, names: &[&str]) -> Vec<String> {
    let mut ids: Vec<_> = names
        .iter()
        .map(|name| scim.post(USERS, &json!({ "userName": name })).json()["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

fn group(tenant: &Tenant, name: &str, members: &[String]) -> String {
    let members: Vec<_> = members.iter().map(|id| json!({ "value": id })).collect();
    let made = tenant.scim.post(GROUPS, &json!({ "displayName": name, "members": members }));
    assert_eq!(made.status, 201, "{}", made.text);
    format!("{GROUPS}/{}", made.json()["id"].as_str().unwrap())
}

fn members(group: &Value) -> Vec<String> {
    let members = group["members"].as_array().into_iter().flatten();
    members.map(|member| member["value"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn new_group_is_returned_in_full() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ids = people(&tenant.scim, &["ada"]);
        let body = json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
            "DisplayName": "Engines",
            "externalId": "00g1",
            "members": [{ "value": ids[0], "display": "Ada" }],
            "shoeSize": 7,
        });
        let made = tenant.scim.post(GROUPS, &body);
        insta::allow_duplicates! {
            insta::assert_snapshot!(made.shown(), @r#"201 {"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"id":"[id]","externalId":"00g1","displayName":"Engines","members":[{"value":"[id]","type":"User","$ref":"[base]/api/scim/v2/Users/[id]"}],"meta":{"resourceType":"Group","created":[time],"lastModified":[time],"location":"[base]/api/scim/v2/Groups/[id]"}}"#);
        }
        let path = made.header("location").split_once("/api").map(|(_, path)| format!("/api{path}")).unwrap();
        assert_eq!(tenant.scim.get(&path).json(), made.json());
        let user = tenant.scim.get(&format!("{USERS}/{}", ids[0])).json();
        let expected = json!([{
            "value": made.json()["id"], "$ref": made.header("location"), "display": "Engines", "type": "direct",
        }]);
        assert_eq!(user["groups"], expected);
        assert_eq!(server.entry(&tenant, "ACCOUNT_GROUP_CREATED").metadata, r#"{"members":1}"#);
        let joined = server.entry(&tenant, "ACCOUNT_GROUP_UPDATED").metadata;
        assert_eq!(joined, format!(r#"{{"changed":["members"],"joined":["{}"],"left":[]}}"#, ids[0]));
        assert_eq!(tenant.scim.post(GROUPS, &json!({ "displayName": "ENGINES" })).status, 409);
        assert_eq!(
            server.tenant("globex").scim.post(GROUPS, &json!({ "displayName": "Engines" })).status,
            201
        );
    });
}

#[test]
fn errors_name_the_attribute() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let foreign = people(&server.tenant("globex").scim, &["eve"]);
        let mine = people(&tenant.scim, &["ada"]);
        let path = group(&tenant, "Engines", &mine);
        for (body, scim_type, part) in [
            (json!([]), "invalidSyntax", "describes a group"),
            (json!({}), "invalidValue", "displayName: is required"),
            (json!({ "displayName": " " }), "invalidValue", "displayName: must not be blank"),
            (json!({ "displayName": "x", "members": [{ "value": "nobody" }] }), "invalidValue", "members"),
            (json!({ "displayName": "x", "members": [{ "value": foreign[0] }] }), "invalidValue", "members"),
        ] {
            for answer in [tenant.scim.post(GROUPS, &body), tenant.scim.put(&path, &body)] {
                let problem = answer.json();
                assert_eq!(
                    (answer.status, &problem["scimType"]),
                    (400, &json!(scim_type)),
                    "{body}: {problem}"
                );
                assert!(problem["detail"].as_str().unwrap().contains(part), "{problem}");
            }
        }
        let looms = group(&tenant, "Looms", &[]);
        let taken = json!([{ "op": "replace", "path": "displayName", "value": "ENGINES" }]);
        for answer in [
            tenant.scim.operations(&looms, &taken),
            tenant.scim.put(&looms, &json!({ "displayName": "engines" })),
        ] {
            assert_eq!((answer.status, &answer.json()["scimType"]), (409, &json!("uniqueness")));
            assert!(answer.json()["detail"].as_str().unwrap().starts_with("displayName: "));
        }
        let unknown = json!([{ "op": "add", "path": "members", "value": [{ "value": mine[0] }, { "value": foreign[0] }] }]);
        assert_eq!(tenant.scim.operations(&path, &unknown).status, 400);
        assert_eq!(tenant.scim.get(GROUPS).json()["totalResults"], 2, "refused changes are not stored");
        assert_eq!(members(&tenant.scim.get(&path).json()), mine);
    });
}

#[test]
fn members_are_added_and_removed() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ids = people(&tenant.scim, &["ada", "bob", "cat"]);
        let path = group(&tenant, "Engines", &ids[..1]);
        let before = tenant.scim.get(&path).json();
        let entries = server.entries(&tenant).len();
        let again = json!([{ "op": "add", "path": "members", "value": [{ "value": ids[0] }] }]);
        assert_eq!(
            tenant.scim.operations(&path, &again).json(),
            before,
            "lastModified does not change either"
        );
        assert_eq!(server.entries(&tenant).len(), entries);

        let patched = tenant.scim.operations(
            &path,
            &json!([
                { "op": "add", "path": "members", "value": [{ "value": ids[1] }, { "value": ids[2] }] },
                { "op": "remove", "path": format!("members[value eq \"{}\"]", ids[0]) },
                { "op": "replace", "path": "displayName", "value": "Looms" },
            ]),
        );
        assert_eq!((patched.status, members(&patched.json())), (200, ids[1..].to_vec()));
        assert_eq!(patched.json()["displayName"], "Looms");
        assert_eq!(tenant.scim.get(&path).json(), patched.json());
        let short = tenant.scim.operations(&format!("{path}?excludedAttributes=members"), &again);
        assert_eq!((short.status, &short.json()["members"]), (200, &Value::Null));

        let put = tenant.scim.put(&path, &json!({ "displayName": "Looms", "members": [ids[0]] }));
        assert_eq!(members(&put.json()), ids[..1]);
        let put = tenant.scim.put(&path, &json!({ "displayName": "Looms" }));
        assert_eq!(members(&put.json()), Vec::<String>::new());
        let user = tenant.scim.get(&format!("{USERS}/{}", ids[0])).json();
        assert_eq!(user["groups"], Value::Null);

        assert_eq!(tenant.scim.delete(&path).status, 204);
        server.entry(&tenant, "ACCOUNT_GROUP_DELETED");
        assert_eq!((tenant.scim.get(&path).status, tenant.scim.delete(&path).status), (404, 404));
    });
}

#[test]
fn groups_are_listed_and_found() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let scim = &tenant.scim;
        let empty = scim.get(GROUPS).json();
        assert_eq!((&empty["totalResults"], &empty["Resources"]), (&json!(0), &json!([])));
        let ids = people(scim, &["ada", "bob"]);
        let engines = group(&tenant, "Engines", &ids);
        group(&tenant, "Looms", &ids[..1]);
        let find = |query: &str| scim.get(&format!("{GROUPS}?{query}")).json();
        let total = |filter: &str| {
            find(&format!("filter={}", filter.replace(' ', "+").replace('"', "%22")))["totalResults"].clone()
        };
        assert_eq!(total("displayName eq \"ENGINES\""), 1);
        assert_eq!(total(&format!("members.value eq \"{}\"", ids[0])), 2);
        assert_eq!(total(&format!("members[value eq \"{}\"]", ids[1])), 1);
        let id = engines.rsplit('/').next().unwrap();
        assert_eq!(total(&format!("id eq \"{id}\" and members eq \"{}\"", ids[1])), 1, "as Entra asks");
        assert_eq!(total("externalId pr"), 0);
        let all = find("count=10");
        assert_eq!(
            all["Resources"].as_array().unwrap().iter().map(|one| members(one).len()).sum::<usize>(),
            3
        );
        let bare = find("excludedAttributes=members");
        assert!(bare["Resources"].as_array().unwrap().iter().all(|one| one["members"].is_null()));
        let page = find("startIndex=2&count=1");
        assert_eq!((&page["totalResults"], page["Resources"].as_array().unwrap().len()), (&json!(2), 1));
        let found =
            scim.post(&format!("{GROUPS}/.search"), &json!({ "filter": "displayName sw \"l\"" })).json();
        assert_eq!(found["Resources"][0]["displayName"], "Looms");
        let of = scim.get(&format!("{USERS}?filter=groups.display+eq+%22looms%22")).json();
        assert_eq!((&of["totalResults"], &of["Resources"][0]["id"]), (&json!(1), &json!(ids[0])));
    });
}

#[test]
fn thousands_of_members_are_changed_in_one_request() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let names: Vec<_> = (0..3_000).map(|n| format!("u{n}")).collect();
        let ids: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = names
                .chunks(375)
                .map(|names| {
                    let scim = &tenant.scim;
                    scope.spawn(move || people(scim, &names.iter().map(String::as_str).collect::<Vec<_>>()))
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let path = group(&tenant, "Everybody", &[]);
        let values: Vec<_> = ids.iter().map(|id| json!({ "value": id })).collect();
        let join = json!([{ "op": "add", "path": "members", "value": values }]);
        let answer = tenant.scim.operations(&format!("{path}?excludedAttributes=members"), &join);
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(members(&tenant.scim.get(&path).json()).len(), 3_000);
        // Okta removes members with one operation each.
        let leave: Vec<_> = ids[..1_000]
            .iter()
            .map(|id| json!({ "op": "remove", "path": format!("members[value eq \"{id}\"]") }))
            .collect();
        assert_eq!(
            tenant.scim.operations(&format!("{path}?excludedAttributes=members"), &json!(leave)).status,
            200
        );
        assert_eq!(members(&tenant.scim.get(&path).json()).len(), 2_000);
        let entries = server.entries(&tenant);
        let named: usize = entries
            .iter()
            .filter(|entry| entry.action == "ACCOUNT_GROUP_UPDATED")
            .map(|entry| serde_json::from_str::<Value>(&entry.metadata).unwrap())
            .map(|data| data["joined"].as_array().unwrap().len() + data["left"].as_array().unwrap().len())
            .sum();
        assert_eq!(named, 4_000, "the audit log lists every member");
    });
}
