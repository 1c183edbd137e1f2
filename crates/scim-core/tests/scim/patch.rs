//! PATCH as defined by RFC 7644 §3.5.2 and as clients send it.

use scim_core::{
    Error, Group, GroupDraft, MemberChanges, Patch, User, UserDraft,
    schema::{GROUPS, USERS},
};
use serde_json::{Value, json};

use crate::ctx;

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

fn ada() -> User {
    let body = json!({
        "userName": "ada",
        "externalId": "1",
        "title": "Countess",
        "name": { "givenName": "Ada", "familyName": "Lovelace" },
        "emails": [
            { "value": "ada@work.example", "type": "work", "primary": true },
            { "value": "ada@home.example", "type": "home" },
        ],
        ENTERPRISE: { "department": "Engines", "manager": { "value": "usr_9" } },
    });
    User::new(&ctx(), UserDraft::read(&body).unwrap()).unwrap()
}

fn patched(user: &User, operations: Value) -> Result<User, Error> {
    user.patched(&Patch::read(&USERS, &json!({ "Operations": operations }))?)
}

/// Returns Ada after these operations, as JSON without the service's own attributes.
fn after(operations: Value) -> Value {
    let mut json = patched(&ada(), operations.clone())
        .unwrap_or_else(|error| panic!("{operations}: {error}"))
        .into_json("");
    for made in ["schemas", "id", "meta"] {
        json.as_object_mut().unwrap().remove(made);
    }
    json
}

fn refusal(operations: Value) -> (&'static str, String) {
    let error = patched(&ada(), operations).unwrap_err();
    (error.scim_type().unwrap().as_str(), error.to_string())
}

#[test]
fn single_values_are_set_merged_and_removed() {
    let user = after(json!([
        { "op": "replace", "path": "title", "value": "Baroness" },
        { "op": "add", "path": "nickName", "value": "A" },
        { "op": "replace", "path": "name", "value": { "givenName": "Augusta" } },
        { "op": "remove", "path": "externalId" },
        { "op": "replace", "path": format!("{ENTERPRISE}:department"), "value": "Looms" },
        { "op": "remove", "path": format!("{ENTERPRISE}:manager") },
    ]));
    assert_eq!(user["title"], "Baroness");
    assert_eq!(user["nickName"], "A");
    assert_eq!(user["name"], json!({ "givenName": "Augusta", "familyName": "Lovelace" }), "merged");
    assert_eq!(user["externalId"], Value::Null);
    assert_eq!(user[ENTERPRISE], json!({ "department": "Looms" }));
    let user = after(
        json!([{ "op": "remove", "path": "name.givenName" }, { "op": "remove", "path": "NAME.familyname" }]),
    );
    assert_eq!(user["name"], Value::Null, "an empty object is removed");
    assert_eq!(after(json!([{ "op": "remove", "path": ENTERPRISE }]))[ENTERPRISE], Value::Null);
}

#[test]
fn variants_of_names_and_values_are_accepted() {
    let entra_default = json!([
        { "op": "Replace", "path": "active", "value": "False" },
        { "op": "Add", "path": "emails[type eq \"other\"].value", "value": "ada@other.example" },
        { "op": "Replace", "path": "phoneNumbers[type eq \"mobile\"].value", "value": "+44 1" },
        { "op": "Add", "path": "addresses[type eq \"work\"].streetAddress", "value": "1 Main St" },
        { "op": "Add", "path": "addresses[type eq \"work\"].locality", "value": "London" },
        { "op": "Add", "path": format!("{ENTERPRISE}:manager"), "value": "usr_7" },
        { "op": "Replace", "path": "displayName", "value": [{ "$ref": null, "value": "Ada L." }] },
    ]);
    let user = after(entra_default);
    assert_eq!(user["active"], false);
    assert_eq!(user["emails"][2], json!({ "type": "other", "value": "ada@other.example" }));
    assert_eq!(user["phoneNumbers"], json!([{ "type": "mobile", "value": "+44 1" }]));
    let address = json!([{ "type": "work", "streetAddress": "1 Main St", "locality": "London" }]);
    assert_eq!(user["addresses"], address, "sub-attributes of one filter belong to one value");
    assert_eq!(user[ENTERPRISE]["manager"], json!({ "value": "usr_7" }));
    assert_eq!(user["displayName"], "Ada L.");

    let entra_2020 = json!([{ "op": "replace", "value": {
        "name.givenName": "Augusta",
        "emails[type eq \"work\"].value": "augusta@work.example",
        format!("{ENTERPRISE}:department"): "Looms",
        ENTERPRISE: { "costCenter": "7" },
        "active": false,
        "id": "usr_1", "meta": {}, "schemas": [], "groups": [], "shoeSize": 7, "not a path[": 1, "password": "x",
    } }]);
    let user = after(entra_2020);
    assert_eq!(user["name"]["givenName"], "Augusta");
    assert_eq!(
        user["emails"][0],
        json!({ "value": "augusta@work.example", "type": "work", "primary": true })
    );
    assert_eq!(user[ENTERPRISE]["department"], "Looms");
    assert_eq!(user[ENTERPRISE]["costCenter"], "7");
    assert_eq!(user["active"], false);
    assert!(!user.to_string().contains("shoeSize") && !user.to_string().contains("password"));

    let onelogin = json!([{ "op": "replace", "value": { "title": null, "nickName": null } }]);
    assert_eq!(after(onelogin)["title"], Value::Null);
}

#[test]
fn multi_valued_attributes_are_added_replaced_and_removed() {
    let user = after(json!([{ "op": "add", "path": "emails", "value": [
        { "value": "ADA@home.example", "type": "HOME", "display": "h" },
        { "value": "new@x.example", "primary": true },
    ] }]));
    let expected = json!([
        { "value": "ada@work.example", "type": "work", "primary": false },
        { "value": "ADA@home.example", "type": "HOME", "display": "h" },
        { "value": "new@x.example", "primary": true },
    ]);
    assert_eq!(user["emails"], expected, "the existing value is updated, and only one value is primary");

    let user = after(json!([{ "op": "replace", "path": "emails", "value": { "value": "only@x.example" } }]));
    assert_eq!(user["emails"], json!([{ "value": "only@x.example" }]));
    let user = after(
        json!([{ "op": "replace", "path": "emails[type eq \"HOME\"]", "value": { "value": "h@x.example" } }]),
    );
    assert_eq!(
        user["emails"][1],
        json!({ "type": "HOME", "value": "h@x.example" }),
        "the value is replaced as a whole"
    );
    let user =
        after(json!([{ "op": "add", "path": "emails[type eq \"home\"]", "value": { "display": "h" } }]));
    assert_eq!(user["emails"][1], json!({ "value": "ada@home.example", "type": "home", "display": "h" }));
    let user = after(json!([{ "op": "replace", "path": "emails[type eq \"home\"].primary", "value": true }]));
    assert_eq!(user["emails"][0]["primary"], false);
    assert_eq!(user["emails"][1]["primary"], true);

    let home = json!([{ "value": "ada@work.example", "type": "work", "primary": true }]);
    for path in
        ["emails[type eq \"home\"]", "emails[type eq \"home\"].value", "emails[not (primary eq true)]"]
    {
        assert_eq!(after(json!([{ "op": "remove", "path": path }]))["emails"], home, "{path}");
    }
    let listed = json!([{ "op": "Remove", "path": "emails", "value": [{ "value": "ADA@home.example" }] }]);
    assert_eq!(after(listed)["emails"], home);
    assert_eq!(after(json!([{ "op": "remove", "path": "emails" }]))["emails"], Value::Null);
    assert_eq!(after(json!([{ "op": "replace", "path": "emails", "value": [] }]))["emails"], Value::Null);
    assert_eq!(
        after(json!([{ "op": "remove", "path": "phoneNumbers[type eq \"fax\"]" }]))["phoneNumbers"],
        Value::Null
    );
}

#[test]
fn values_differ_by_value_or_type() {
    let phone = |value: &str, kind: &str| json!({ "value": value, "type": kind });
    let (work, mobile, other) = (phone("+44 1", "work"), phone("+44 1", "mobile"), phone("+44 2", "work"));
    let add = |value: &Value| json!({ "op": "add", "path": "phoneNumbers", "value": value });
    let user = after(json!([add(&work), add(&mobile), add(&other), add(&work)]));
    assert_eq!(user["phoneNumbers"], json!([work, mobile, other]));
}

#[test]
fn a_value_with_only_a_type_is_removed() {
    let add = |value: Value| json!({ "op": "add", "path": "addresses", "value": value });
    let remove = json!({ "op": "remove", "path": "addresses[type eq \"work\"].locality" });
    for bare in [
        json!({ "type": "work", "locality": "London" }),
        json!({ "type": "work", "primary": true, "locality": "London" }),
    ] {
        assert_eq!(after(json!([add(bare.clone()), remove]))["addresses"], Value::Null, "{bare}");
    }
    let full = json!({ "type": "work", "locality": "London", "country": "GB" });
    let left = json!([{ "type": "work", "country": "GB" }]);
    assert_eq!(after(json!([add(full), remove]))["addresses"], left);
}

#[test]
fn one_value_replaces_those_that_match() {
    let (home, value) = ("emails[type eq \"home\"]", "emails[type eq \"home\"].value");
    let set = |op: &str, path: &str, value: &Value| json!([{ "op": op, "path": path, "value": value }]);
    let new = json!({ "value": "new@x.example", "type": "home" });
    let user = after(set("replace", home, &json!([new])));
    assert_eq!(user["emails"][1], new, "a list of one");
    assert_eq!(after(set("replace", value, &json!([new])))["emails"][1], new);
    for path in [home, value] {
        assert_eq!(refusal(set("replace", path, &json!([new, new]))).0, "invalidValue", "{path}");
        for gone in [set("remove", path, &new), set("replace", path, &Value::Null)] {
            let left = json!([{ "value": "ada@work.example", "type": "work", "primary": true }]);
            assert_eq!(after(gone.clone())["emails"], left, "{gone}");
        }
    }
}

#[test]
fn an_extension_must_be_an_object() {
    let one = json!([{ "op": "add", "path": ENTERPRISE, "value": [{ "costCenter": "7" }] }]);
    let expected = json!({ "costCenter": "7", "department": "Engines", "manager": { "value": "usr_9" } });
    assert_eq!(after(one)[ENTERPRISE], expected);
    for value in [json!("x"), json!([]), json!(7), json!([{}, {}])] {
        let named = json!([{ "op": "replace", "path": ENTERPRISE, "value": value }]);
        assert_eq!(refusal(named).0, "invalidValue", "{value}");
        assert_eq!(refusal(json!([{ "op": "add", "value": { ENTERPRISE: value } }])).0, "invalidValue");
    }
    assert_eq!(
        after(json!([{ "op": "replace", "path": ENTERPRISE, "value": null }]))[ENTERPRISE],
        Value::Null
    );
}

#[test]
fn a_value_created_from_its_filter_may_be_primary() {
    let path = "emails[type eq \"other\" and primary eq true].value";
    let user = after(json!([{ "op": "replace", "path": path, "value": "new@x.example" }]));
    assert_eq!(user["emails"][0]["primary"], false);
    assert_eq!(user["emails"][2], json!({ "type": "other", "primary": true, "value": "new@x.example" }));
}

#[test]
fn a_patch_with_too_much_work_is_refused() {
    let long = "x".repeat(2000);
    let many: Vec<_> = (0..100).map(|n| json!({ "formatted": format!("{long}{n}") })).collect();
    let terms = vec!["formatted co \"~\""; 64].join(" or ");
    let mut operations = vec![json!({ "op": "add", "path": "addresses", "value": many })];
    operations.extend(vec![json!({ "op": "remove", "path": format!("addresses[{terms}]") }); 4]);
    assert_eq!(refusal(json!(operations)).1, "user: send at most 65536 bytes of attributes");
    operations.push(operations[1].clone());
    assert_eq!(refusal(json!(operations)).1, "Operations: send at most 256 comparisons in one request");
}

#[test]
fn user_may_be_too_large_between_two_changes() {
    let long = "x".repeat(2000);
    let many: Vec<_> = (0..40).map(|n| json!({ "formatted": format!("{long}{n}") })).collect();
    let add = json!({ "op": "add", "path": "addresses", "value": many });
    let remove = json!({ "op": "remove", "path": "addresses" });
    assert_eq!(after(json!([add, remove]))["addresses"], Value::Null);
    assert_eq!(refusal(json!([add])).1, "user: send at most 65536 bytes of attributes");
}

#[test]
fn changes_of_one_user_are_limited() {
    let title = |count: usize| vec![json!({ "op": "replace", "path": "title", "value": "x" }); count];
    assert_eq!(after(json!(title(256)))["title"], "x");
    assert_eq!(refusal(json!(title(257))).1, "Operations: send at most 256 changes in one request");
    let name = vec![json!({ "op": "replace", "path": "displayName", "value": "x" }); 257];
    assert!(Patch::read(&GROUPS, &json!({ "Operations": name })).is_ok());
}

#[test]
fn last_value_of_active_counts() {
    let set = |value: bool| json!({ "op": "replace", "path": "active", "value": value });
    let title = json!({ "op": "replace", "path": "title", "value": "true" });
    for (operations, activates) in [
        (vec![set(true)], true),
        (vec![set(false)], false),
        (vec![set(false), set(true), title.clone()], true),
        (vec![set(true), set(false)], false),
        (vec![json!({ "op": "remove", "path": "active" })], false),
        (vec![title], false),
    ] {
        let patch = Patch::read(&USERS, &json!({ "Operations": operations })).unwrap();
        assert_eq!(patch.activates(), activates, "{operations:?}");
    }
}

#[test]
fn a_patch_without_effect_leaves_the_user_unchanged() {
    let user = ada();
    for operations in [
        json!([{ "op": "replace", "value": { "active": true, "title": "Countess" } }]),
        json!([{ "op": "add", "path": "emails", "value": [{ "value": "ada@home.example", "type": "home" }] }]),
        json!([{ "op": "replace", "path": "emails[type eq \"work\"].value", "value": "ada@work.example" }]),
        json!([{ "op": "remove", "path": "nickName" }, { "op": "remove", "path": "emails[type eq \"fax\"].value" }]),
        json!([{ "op": "replace", "value": { "active": null, "userName": null } }]),
        json!([{ "op": "replace", "path": "shoeSize", "value": 7 }, { "op": "add", "path": "password", "value": "x" }]),
        json!([{ "op": "add", "path": "urn:x:y:User:shoeSize", "value": 7 }, { "op": "add", "path": "shoes[size eq 7].name", "value": 7 }]),
    ] {
        assert_eq!(patched(&user, operations.clone()).unwrap(), user, "{operations}");
    }
}

#[test]
fn invalid_patches_are_refused() {
    for (operations, scim_type, part) in [
        (
            json!([{ "op": "replace", "path": "emails[type ne \"fax\" and value co \"x@\"].value", "value": "a@b" }]),
            "noTarget",
            "Operations[0].path",
        ),
        (
            json!([{ "op": "add", "path": "emails[type eq \"fax\" or type eq \"x\"].value", "value": "a@b" }]),
            "noTarget",
            "no value matches",
        ),
        (json!([{ "op": "remove" }]), "noTarget", "is required"),
        (json!([{ "op": "remove", "path": "userName" }]), "mutability", "userName"),
        (json!([{ "op": "replace", "path": "userName", "value": null }]), "mutability", "userName"),
        (json!([{ "op": "remove", "path": "active" }]), "mutability", "active"),
        (json!([{ "op": "replace", "path": "id", "value": "x" }]), "mutability", "id"),
        (json!([{ "op": "replace", "path": "meta.created", "value": "x" }]), "mutability", "meta.created"),
        (json!([{ "op": "add", "path": "groups", "value": [{ "value": "x" }] }]), "mutability", "groups"),
        (json!([{ "op": "replace", "path": "userName", "value": " " }]), "invalidValue", "userName"),
        (json!([{ "op": "replace", "path": "active", "value": "maybe" }]), "invalidValue", "active"),
        (json!([{ "op": "add", "path": "name", "value": "Ada" }]), "invalidValue", "name"),
        (json!([{ "op": "add", "path": "title" }]), "invalidValue", "Operations[0].value"),
        (json!([{ "op": "add", "value": "x" }]), "invalidValue", "Operations[0].value"),
        (
            json!([{ "op": "replace", "path": "emails[type eq \"work\"].value", "value": "ada" }]),
            "invalidValue",
            "email address",
        ),
        (
            json!([{ "op": "add", "path": "emails[type eq", "value": "x" }]),
            "invalidFilter",
            "expected a value",
        ),
        (
            json!([{ "op": "add", "path": "emails[shoe eq \"x\"].value", "value": "x" }]),
            "invalidFilter",
            "shoe",
        ),
        (json!([{ "op": "add", "path": "", "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "add", "path": "\"abc", "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "add", "path": "x".repeat(70_000), "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "add", "path": "title x", "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "add", "path": "name..x", "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "add", "path": "title[value eq \"x\"]", "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "add", "path": "emails[type eq \"x\"]value", "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "add", "path": 7, "value": "x" }]), "invalidPath", "path"),
        (json!([{ "op": "move", "path": "title" }]), "invalidSyntax", "op"),
        (json!(["x"]), "invalidSyntax", "Operations[0]"),
        (json!([]), "invalidSyntax", "must not be empty"),
        (
            json!(vec![json!({ "op": "add", "path": "title", "value": "x" }); 257]),
            "invalidSyntax",
            "at most 256",
        ),
        (json!([{ "op": "add", "path": "roles", "value": vec!["x"; 101] }]), "invalidValue", "at most 100"),
    ] {
        let (given, text) = refusal(operations.clone());
        assert_eq!((given, text.contains(part)), (scim_type, true), "{operations}: {text}");
    }
    assert!(Patch::read(&USERS, &json!({})).is_err());
    assert!(Patch::read(&USERS, &json!([])).is_err());
    let late = json!([{ "op": "replace", "path": "title", "value": "x" }, { "op": "replace", "path": "active", "value": 7 }]);
    assert!(patched(&ada(), late).is_err(), "a failing operation leaves the user unchanged");
    let odd = json!({ "SCHEMAS": 7, "operations": [{ "OP": "ADD", "Path": "title", "VALUE": "x" }] });
    assert!(ada().patched(&Patch::read(&USERS, &odd).unwrap()).is_ok());
}

#[test]
fn group_members_are_added_and_removed() {
    let ctx = ctx();
    let group = Group::new(&ctx, &GroupDraft::read(&json!({ "displayName": "Engines" })).unwrap()).unwrap();
    let ids: Vec<_> = (0..3).map(|_| kernel::UserId::new(&*ctx.env)).collect();
    let [a, b, c] = [&ids[0], &ids[1], &ids[2]];
    let members = |operations: Value| {
        let patch = Patch::read(&GROUPS, &json!({ "Operations": operations })).unwrap();
        group.patched(&patch)
    };
    let rename = json!([{ "op": "replace", "path": "displayName", "value": "Looms" }]);
    assert!(members(rename).unwrap().1.is_empty());
    for (op, value) in
        [("add", json!([{ "value": a }])), ("remove", json!([{ "value": a }])), ("replace", json!([]))]
    {
        let changes = members(json!([{ "op": op, "path": "members", "value": value }])).unwrap().1;
        assert!(!changes.is_empty(), "{op}");
    }
    let (after, changes) = members(json!([
        { "op": "Add", "path": "members", "value": [{ "$ref": null, "value": a }, { "Value": b, "display": "x" }] },
        { "op": "Remove", "path": "members", "value": [{ "value": b }, { "value": "nobody" }] },
        { "op": "remove", "path": format!("members[value eq \"{c}\"]") },
        { "op": "replace", "value": { "id": "x", "displayName": "Looms", "externalId": "7" } },
    ]))
    .unwrap();
    assert_eq!((after.display_name.as_str(), after.external_id.as_deref()), ("Looms", Some("7")));
    let set = |ids: &[&kernel::UserId]| ids.iter().map(|id| (*id).clone()).collect();
    let nobody = &"nobody".parse().unwrap();
    assert_eq!(changes, MemberChanges { replace: false, join: set(&[a]), leave: set(&[b, c, nobody]) });
    let (_, changes) = members(json!([
        { "op": "replace", "path": "members", "value": [{ "value": a }] },
        { "op": "add", "value": { "members": [{ "value": b }] } },
        { "op": "remove", "path": format!("members[value eq \"{a}\" or value eq \"{c}\"]") },
    ]))
    .unwrap();
    assert_eq!(changes, MemberChanges::exactly(set(&[b])));
    assert_eq!(
        members(json!([{ "op": "remove", "path": "members" }])).unwrap().1,
        MemberChanges::exactly(set(&[]))
    );
    for (operations, scim_type) in [
        (json!([{ "op": "add", "path": "members", "value": [{ "value": " " }] }]), "invalidValue"),
        (json!([{ "op": "add", "path": "members", "value": [7] }]), "invalidValue"),
        (json!([{ "op": "remove", "path": "members[type eq \"User\"]" }]), "invalidFilter"),
        (json!([{ "op": "replace", "path": "members.value", "value": "x" }]), "mutability"),
        (json!([{ "op": "remove", "path": "displayName" }]), "mutability"),
        (json!([{ "op": "replace", "path": "displayName", "value": "" }]), "invalidValue"),
    ] {
        let error = members(operations.clone()).unwrap_err();
        assert_eq!(error.scim_type().unwrap().as_str(), scim_type, "{operations}: {error}");
    }
}
