//! A token for dry runs answers as if, and changes nothing.

use std::{collections::BTreeMap, time::Duration};

use directory::Role;
use serde_json::{Value, json};
use tokens::NewScimToken;

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{Answer, Browser, Caller, Server, Tenant, on_both},
};

const USERS: &str = "/api/scim/v2/Users";
const GROUPS: &str = "/api/scim/v2/Groups";
const TOKENS: &str = "/api/settings/scim-tokens";

/// An administrator and a token for dry runs.
struct DryRun {
    admin: Browser,
    id: String,
    scim: Caller,
}

impl DryRun {
    fn of(server: &Server, tenant: &Tenant) -> Self {
        let (_, admin) = server.signed_in(tenant, "admin@example.com", Role::Admin);
        enrol_totp(server, &admin);
        server.env.advance(Duration::from_mins(1));
        let proved = server.proved(&admin, "SCIM_TOKEN_MINT");
        let made = proved.post(TOKENS, &json!({ "name": "Entra", "dryRun": true })).json();
        let token = made["token"].as_str().unwrap();
        assert!(token.starts_with("dryrun_"), "older servers refuse it");
        assert_eq!(made["dryRun"], true);
        Self { admin, id: made["id"].as_str().unwrap().to_owned(), scim: server.anonymous().bearer(token) }
    }

    fn result(&self) -> Value {
        let answer = self.admin.get(&format!("{TOKENS}/{}/dry-run", self.id));
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }
}

/// Creates a token for dry runs without an administrator.
fn mint(server: &Server, tenant: &Tenant) -> String {
    server.write(&tenant.id, async |ctx, tx| {
        let new = NewScimToken { name: "Entra".into(), create_conflict: false, dry_run: true };
        let (_, raw) = tokens::mint(ctx, tx, new).await.unwrap();
        Ok(raw.expose().to_owned())
    })
}

/// Numbers that look random but are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % count as u64).unwrap()
    }

    fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A directory that gives resources the names `user#0`, `group#0`, … in the order in which it learns their IDs.
struct Directory<'c> {
    scim: &'c Caller,
    ids: BTreeMap<String, String>,
}

impl Directory<'_> {
    /// Returns the ID of a name.
    fn id(&self, name: &str) -> String {
        self.ids
            .iter()
            .find(|(_, known)| *known == name)
            .map_or_else(|| name.to_owned(), |(id, _)| id.clone())
    }

    /// Sends a request with names instead of IDs, and returns the answer with names instead of IDs and without times.
    fn ask(&mut self, (method, path, body): &(&str, String, Option<Value>)) -> (u16, Value) {
        let with_ids = |text: &str| {
            let mut words = text.to_owned();
            let mut names: Vec<_> = self.ids.values().collect();
            names.sort_by_key(|name| std::cmp::Reverse(name.len()));
            for name in names {
                words = words.replace(name.as_str(), &self.id(name));
            }
            words
        };
        let text = body.as_ref().map(|body| with_ids(&body.to_string())).unwrap_or_default();
        let kind = body.as_ref().map(|_| "application/scim+json");
        let answer: Answer = self.scim.send(method, &with_ids(path), kind, &text);
        let mut shown = if answer.text.is_empty() { Value::Null } else { answer.json() };
        self.learn(&shown);
        self.normalise(&mut shown);
        (answer.status, shown)
    }

    fn learn(&mut self, answer: &Value) {
        let resources = answer["Resources"].as_array().cloned().unwrap_or_default();
        for resource in resources.iter().chain([answer]) {
            let Some(id) = resource["id"].as_str() else { continue };
            let kind = if id.starts_with("usr_") { "user" } else { "group" };
            let count = self.ids.values().filter(|name| name.starts_with(kind)).count();
            self.ids.entry(id.to_owned()).or_insert_with(|| format!("{kind}#{count}"));
        }
    }

    fn normalise(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for (id, name) in &self.ids {
                    *text = text.replace(id, name);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.normalise(value)),
            Value::Object(members) => {
                members.retain(|name, _| !["created", "lastModified", "nextCursor"].contains(&name.as_str()));
                members.values_mut().for_each(|value| self.normalise(value));
            }
            _ => {}
        }
    }
}

/// Makes up a request of a directory that knows some users and groups.
fn request(dice: &mut Dice) -> (&'static str, String, Option<Value>) {
    let name = format!("{}@example.com", dice.one_of(&["ada", "ben", "cyd", "dan", "eve", "Ada", "fay"]));
    let user = format!("user#{}", dice.below(7));
    let group = format!("group#{}", dice.below(3));
    let title = dice.one_of(&["Clerk", "Pilot", "Smith"]);
    let active = dice.below(2) == 0;
    match dice.below(15) {
        0 | 1 => ("POST", USERS.into(), Some(json!({ "userName": name, "title": title }))),
        2 => {
            let emails = json!([{ "value": format!("{title}@corp.example"), "primary": true }]);
            let body = json!({ "userName": name, "emails": emails, "active": active });
            ("PUT", format!("{USERS}/{user}"), Some(body))
        }
        3 => {
            let change = json!([{ "op": "replace", "path": "active", "value": active }]);
            ("PATCH", format!("{USERS}/{user}"), Some(json!({ "Operations": change })))
        }
        4 => {
            let change = json!([{ "op": "replace", "value": { "title": title, "userName": name } }]);
            ("PATCH", format!("{USERS}/{user}"), Some(json!({ "Operations": change })))
        }
        5 => ("DELETE", format!("{USERS}/{user}"), None),
        6 => {
            let members = json!([{ "value": user }, { "value": format!("user#{}", dice.below(7)) }]);
            let name = dice.one_of(&["Staff", "staff", "Board", "Guests"]);
            ("POST", GROUPS.into(), Some(json!({ "displayName": name, "members": members })))
        }
        7 | 8 => {
            let op = dice.one_of(&["add", "remove", "replace"]);
            let change = json!([{ "op": op, "path": "members", "value": [{ "value": user }] }]);
            ("PATCH", format!("{GROUPS}/{group}"), Some(json!({ "Operations": change })))
        }
        9 => ("DELETE", format!("{GROUPS}/{group}"), None),
        10 => ("GET", format!("{USERS}/{user}"), None),
        11 => ("GET", format!("{GROUPS}/{group}"), None),
        12 => {
            let filter = dice.one_of(&[
                "title eq \"pilot\"",
                "userName sw \"a\"",
                "active eq false",
                "not (emails pr)",
                "groups.value pr",
            ]);
            let body = json!({ "filter": filter, "count": 3, "startIndex": dice.below(3) });
            ("POST", format!("{USERS}/.search"), Some(body))
        }
        13 => ("GET", format!("{GROUPS}?count=2&startIndex={}", dice.below(3)), None),
        _ => {
            ("POST", "/api/scim/v2/.search".into(), Some(json!({ "count": 5, "startIndex": dice.below(4) })))
        }
    }
}

/// Provisions the same users and groups in each tenant.
fn provision(directory: &mut Directory<'_>) {
    for name in ["ada", "ben", "cyd", "dan"] {
        let user = json!({ "userName": format!("{name}@example.com"), "externalId": name });
        assert_eq!(directory.ask(&("POST", USERS.into(), Some(user))).0, 201);
    }
    for (name, members) in
        [("Staff", json!([{ "value": "user#0" }, { "value": "user#1" }])), ("Board", json!([]))]
    {
        let group = json!({ "displayName": name, "members": members });
        assert_eq!(directory.ask(&("POST", GROUPS.into(), Some(group))).0, 201);
    }
}

#[test]
fn dry_run_answers_like_real_changes_and_changes_nothing() {
    on_both(|server| {
        for seed in 0..12 {
            let (real, dry) = (server.tenant(&format!("real{seed}")), server.tenant(&format!("dry{seed}")));
            let mut provisioned = BTreeMap::new();
            for tenant in [&real, &dry] {
                let mut directory = Directory { scim: &tenant.scim, ids: BTreeMap::new() };
                provision(&mut directory);
                provisioned.insert(tenant.id.to_string(), directory.ids);
            }
            let simulating = server.anonymous().bearer(&mint(server, &dry));
            let everything = |scim: &Caller| {
                [format!("{USERS}?count=200"), format!("{GROUPS}?count=200")].map(|path| scim.get(&path).text)
            };
            let (before, entries) = (everything(&dry.scim), server.entries(&dry).len());

            let mut directories = [
                Directory { scim: &real.scim, ids: provisioned[real.id.as_str()].clone() },
                Directory { scim: &simulating, ids: provisioned[dry.id.as_str()].clone() },
            ];
            let (mut dice, mut changed) = (Dice(seed), 0);
            for step in 0..60 {
                let request = request(&mut dice);
                let [made, simulated] = directories.each_mut().map(|directory| directory.ask(&request));
                assert_eq!(made, simulated, "seed {seed}, step {step}: {request:?}");
                changed += usize::from(request.0 != "GET" && made.0 < 300);
            }
            assert!(changed > 10, "the sequence changes something");
            assert_eq!(everything(&dry.scim), before);
            assert_eq!(server.entries(&dry).len(), entries, "nothing happened");
        }
    });
}

#[test]
fn result_names_what_would_change() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let mut directory = Directory { scim: &tenant.scim, ids: BTreeMap::new() };
        provision(&mut directory);
        let ids: Vec<_> = (0..4).map(|number| directory.id(&format!("user#{number}"))).collect();
        let (staff, board) = (directory.id("group#0"), directory.id("group#1"));
        let run = DryRun::of(server, &tenant);
        let empty = run.result();
        assert_eq!((&empty["changes"], &empty["deleted"]), (&json!([]), &json!(0)));

        let off = json!([{ "op": "replace", "value": { "active": false, "title": "Leaver" } }]);
        assert_eq!(run.scim.operations(&format!("{USERS}/{}", ids[0]), &off).status, 200);
        assert_eq!(run.scim.delete(&format!("{USERS}/{}", ids[1])).status, 204);
        let title = |value: &str| json!([{ "op": "replace", "path": "title", "value": value }]);
        assert_eq!(run.scim.operations(&format!("{USERS}/{}", ids[2]), &title("Pilot")).status, 200);
        let new = run.scim.post(USERS, &json!({ "userName": "new@example.com" })).json();
        let gone = run.scim.post(USERS, &json!({ "userName": "gone@example.com" })).json();
        assert_eq!(run.scim.delete(&format!("{USERS}/{}", gone["id"].as_str().unwrap())).status, 204);
        let join = json!([{ "op": "add", "path": "members", "value": [{ "value": ids[3] }, { "value": new["id"] }] }]);
        assert_eq!(run.scim.operations(&format!("{GROUPS}/{staff}"), &join).status, 200);
        let leave = json!([{ "op": "remove", "path": format!("members[value eq \"{}\"]", ids[3]) }]);
        assert_eq!(run.scim.operations(&format!("{GROUPS}/{staff}"), &leave).status, 200);
        assert_eq!(run.scim.delete(&format!("{GROUPS}/{board}")).status, 204);

        let change = |kind: &str, id: &str, name: &str, action: &str, attributes: &[&str], added: u32| {
            json!({
                "resourceType": kind, "id": id, "name": name, "action": action,
                "attributes": attributes, "membersAdded": added, "membersRemoved": 0,
            })
        };
        let expected = json!({
            "created": 1, "updated": 2, "reactivated": 0, "deactivated": 1, "deleted": 2,
            "exceedsRemovalLimit": false, "isFull": false,
            "changes": [
                change("User", &ids[1], "ben@example.com", "DELETE", &[], 0),
                change("Group", &board, "Board", "DELETE", &[], 0),
                change("User", &ids[0], "ada@example.com", "DEACTIVATE", &["title"], 0),
                change("User", new["id"].as_str().unwrap(), "new@example.com", "CREATE", &[], 0),
                change("User", &ids[2], "cyd@example.com", "UPDATE", &["title"], 0),
                change("Group", &staff, "Staff", "UPDATE", &[], 1),
            ],
        });
        assert_eq!(run.result(), expected);

        // The real directory made one of the changes meanwhile.
        assert_eq!(tenant.scim.operations(&format!("{USERS}/{}", ids[2]), &title("Pilot")).status, 200);
        assert_eq!(run.result()["updated"], 1);
        let entry = server.entry(&tenant, "ACCOUNT_SCIM_TOKEN_CREATED");
        assert!(entry.metadata.contains(r#""dryRun":true"#), "{}", entry.metadata);

        let (_, stranger) = server.signed_in(&server.tenant("other"), "eve@example.com", Role::Admin);
        assert_eq!(stranger.get(&format!("{TOKENS}/{}/dry-run", run.id)).status, 404);
        assert_eq!(
            run.admin.get(&format!("{TOKENS}/{}/dry-run", tenant.token_id)).status,
            404,
            "not a dry run"
        );
        assert_eq!(run.admin.delete(&format!("{TOKENS}/{}", run.id)).status, 200);
        assert_eq!(run.admin.get(&format!("{TOKENS}/{}/dry-run", run.id)).status, 404);
        assert_eq!(run.scim.get(USERS).status, 401);
    });
}

#[test]
fn dry_run_warns_of_removals_above_the_limit_and_is_bounded() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let create = |number: usize| {
            let user = json!({ "userName": format!("user{number}@example.com") });
            tenant.scim.post(USERS, &user).json()["id"].as_str().unwrap().to_owned()
        };
        let users: Vec<_> = (0..30).map(create).collect();
        let run = DryRun::of(server, &tenant);
        let delete = |id: &String| run.scim.delete(&format!("{USERS}/{id}")).status;
        assert!(users[..10].iter().all(|id| delete(id) == 204));
        assert_eq!(run.result()["exceedsRemovalLimit"], false);
        assert_eq!(delete(&users[10]), 204, "a dry run is not paused");
        assert_eq!(run.result()["exceedsRemovalLimit"], true);

        // A tenant has five tokens for dry runs.
        server.env.advance(Duration::from_mins(1));
        let more = || {
            server.env.advance(Duration::from_mins(1));
            server
                .proved(&run.admin, "SCIM_TOKEN_MINT")
                .post(TOKENS, &json!({ "name": "More", "dryRun": true }))
        };
        assert!((0..4).all(|_| more().status == 200));
        assert_eq!(more().json()["code"], "CONFLICT");

        // Most of the changes at once, as memberships.
        let group = json!({ "displayName": "Staff", "members": users[11..].iter().map(|id| json!({ "value": id })).collect::<Vec<_>>() });
        let groups = (0..49).map(|number| {
            let mut group = group.clone();
            group["displayName"] = json!(format!("Group {number}"));
            run.scim.post(&format!("{GROUPS}?excludedAttributes=members"), &group).status
        });
        assert!(groups.into_iter().all(|status| status == 201));
        assert_eq!(run.result()["isFull"], false);
        let full = run.scim.post(GROUPS, &json!({ "displayName": "One more", "members": group["members"] }));
        assert_eq!((full.status, &full.json()["scimType"]), (400, &json!("tooMany")), "{}", full.text);
        let search = json!({ "filter": "displayName eq \"One more\"" });
        assert_eq!(run.scim.post(&format!("{GROUPS}/.search"), &search).json()["totalResults"], 0);
        let count = (0..40).take_while(|number| {
            run.scim.post(USERS, &json!({ "userName": format!("new{number}") })).status == 201
        });
        assert_eq!(count.count(), 1_000 - 11 - 49 * 20);
        assert_eq!(run.result()["isFull"], true);
    });
}
