//! A token that removes too many users is paused until an administrator decides.

use std::{thread, time::Duration};

use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{Answer, Browser, Caller, MailServer, Server, Tenant, on_both},
};

const USERS: &str = "/api/scim/v2/Users";
const TOKENS: &str = "/api/settings/scim-tokens";
const LIMIT: &str = "/api/settings/removal-limit";

/// A tenant whose directory has provisioned users.
struct World<'s> {
    server: &'s Server,
    tenant: Tenant,
    admin: Browser,
    users: Vec<String>,
}

impl<'s> World<'s> {
    /// Creates an administrator, and users over SCIM so that the tenant has `count` active users.
    fn of_users(server: &'s Server, count: usize) -> Self {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        enrol_totp(server, &admin);
        let create = |number: usize| {
            let user = json!({ "userName": format!("user{number}@example.com"), "displayName": format!("User {number}") });
            tenant.scim.post(USERS, &user).json()["id"].as_str().unwrap().to_owned()
        };
        let users = (1..count).map(create).collect();
        // The share is that of users who are older than an hour.
        server.env.advance(Duration::from_hours(1));
        Self { server, tenant, admin, users }
    }

    fn user(&self, number: usize) -> String {
        format!("{USERS}/{}", self.users[number])
    }

    fn deactivate(&self, number: usize) -> Answer {
        deactivate(&self.tenant.scim, &self.user(number))
    }

    /// Deactivates users from the first on until the token is paused, and returns how many were deactivated.
    fn deactivate_all(&self) -> usize {
        (0..self.users.len())
            .find(|number| self.deactivate(*number).status != 200)
            .unwrap_or(self.users.len())
    }

    fn is_active(&self, number: usize) -> bool {
        self.tenant.scim.get(&self.user(number)).json()["active"] == true
    }

    /// Returns the path of the token's held removals.
    fn held_path(&self) -> String {
        let id = self.admin.get(TOKENS).json()["tokens"][0]["id"].as_str().unwrap().to_owned();
        format!("{TOKENS}/{id}/removals")
    }

    fn held(&self) -> Value {
        self.admin.get(&self.held_path()).json()
    }

    fn proved(&self) -> Browser {
        self.server.env.advance(Duration::from_mins(1));
        self.server.proved(&self.admin, "SCIM_TOKEN_MINT")
    }

    fn apply(&self) -> Answer {
        let until = self.held()["asOf"].clone();
        self.apply_until(&self.proved(), &until)
    }

    fn apply_until(&self, by: &Browser, until: &Value) -> Answer {
        by.post(&format!("{}/apply", self.held_path()), &json!({ "until": until }))
    }

    fn discard(&self) -> Answer {
        self.admin.send("POST", &format!("{}/discard", self.held_path()), None)
    }

    fn recorded(&self, action: &str) -> usize {
        self.server.entries(&self.tenant).iter().filter(|entry| entry.action == action).count()
    }
}

fn deactivate(scim: &Caller, user: &str) -> Answer {
    scim.operations(user, &json!([{ "op": "replace", "path": "active", "value": false }]))
}

fn is_paused(answer: &Answer) {
    let body = answer.json();
    assert_eq!((answer.status, &body["reason"]), (403, &json!("REMOVALS_PAUSED")), "{}", answer.text);
    assert_eq!((&body["status"], &body["code"]), (&json!("403"), &json!("FORBIDDEN")));
    assert!(body["detail"].as_str().unwrap().contains("/settings/scim"), "{body}");
}

#[test]
fn removals_above_the_limit_are_held_and_other_requests_work() {
    on_both(|server| {
        let world = World::of_users(server, 30);
        assert_eq!(world.deactivate_all(), 10);
        let scim = &world.tenant.scim;
        is_paused(&world.deactivate(10));
        is_paused(&scim.delete(&world.user(11)));
        is_paused(&scim.put(&world.user(12), &json!({ "userName": "user13@example.com", "active": false })));
        // A held change is not made in part.
        let both = json!([{ "op": "replace", "value": { "active": false, "title": "Leaver" } }]);
        is_paused(&scim.operations(&world.user(13), &both));
        assert_eq!(scim.get(&world.user(13)).json()["title"], Value::Null);
        assert!((10..29).all(|number| world.is_active(number)));
        is_paused(&scim.delete(&world.user(0)));

        let title = json!([{ "op": "replace", "path": "title", "value": "Countess" }]);
        assert_eq!(scim.operations(&world.user(10), &title).status, 200);
        let again = json!([{ "op": "replace", "path": "active", "value": true }]);
        assert_eq!(scim.operations(&world.user(0), &again).status, 200);
        assert_eq!(scim.post(USERS, &json!({ "userName": "new@example.com" })).status, 201);
        assert_eq!(deactivate(scim, &world.user(1)).status, 200, "deactivated already");
        assert_eq!(scim.delete(&format!("{USERS}/usr_06gzkadrwwt5d9z93ens6801xc")).status, 404);

        let held = world.held();
        assert!(held["pausedAt"].is_string());
        let shown: Vec<_> = held["removals"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (&one["userName"], &one["action"]))
            .collect();
        let expected = [(11, "DEACTIVATE"), (12, "DELETE"), (13, "DEACTIVATE"), (14, "DEACTIVATE")];
        let expected =
            expected.map(|(number, action)| (json!(format!("user{number}@example.com")), json!(action)));
        assert_eq!(shown, expected.iter().map(|(name, action)| (name, action)).collect::<Vec<_>>());
        assert_eq!((&held["total"], &held["removals"][0]["displayName"]), (&json!(4), &json!("User 11")));
        assert!(world.admin.get(TOKENS).json()["tokens"][0]["removalsPausedAt"].is_string());
        assert_eq!(world.recorded("ACCOUNT_REMOVALS_PAUSED"), 1, "once");
        let entry = server.entry(&world.tenant, "ACCOUNT_REMOVALS_PAUSED");
        let expected = json!({ "user": world.users[10], "removed": 10, "percent": 20, "users": 10 });
        assert_eq!(serde_json::from_str::<Value>(&entry.metadata).unwrap(), expected);
        assert_eq!(entry.actor_type, "SCIM");
    });
}

#[test]
fn list_of_held_removals_has_pages_and_belongs_to_its_tenant() {
    on_both(|server| {
        let world = World::of_users(server, 16);
        assert_eq!(world.deactivate_all(), 10);
        (11..15).for_each(|number| is_paused(&world.deactivate(number)));
        let path = world.held_path();
        let (mut cursor, mut names) = (String::new(), Vec::new());
        loop {
            let page = world.admin.get(&format!("{path}?limit=2&cursor={cursor}")).json();
            let removals = page["removals"].as_array().unwrap().clone();
            assert!(removals.len() <= 2);
            names.extend(removals.iter().map(|one| one["userId"].as_str().unwrap().to_owned()));
            let Some(next) = page["nextCursor"].as_str() else { break };
            next.clone_into(&mut cursor);
        }
        assert_eq!(names, world.users[10..15]);
        assert_eq!(world.admin.get(&format!("{path}?cursor=x")).json()["code"], "INVALID_CURSOR");

        let (_, stranger) = server.signed_in(&server.tenant("other"), "eve@example.com", Role::Admin);
        enrol_totp(server, &stranger);
        assert_eq!(stranger.get(&path).status, 404);
        assert_eq!(stranger.send("POST", &format!("{path}/discard"), None).status, 404);
        server.env.advance(Duration::from_mins(1));
        let proved = server.proved(&stranger, "SCIM_TOKEN_MINT");
        let until = json!({ "until": world.held()["asOf"] });
        assert_eq!(proved.post(&format!("{path}/apply"), &until).status, 404);
        assert_eq!(world.held()["total"], 5);
    });
}

#[test]
fn administrator_applies_held_removals_and_ends_the_pause() {
    on_both(|server| {
        let world = World::of_users(server, 30);
        let boss = server.person(&world.tenant, "boss@example.com", Role::Admin);
        let boss = format!("{USERS}/{}", boss.id);
        let (_, session) = server.signed_in(&world.tenant, "member@example.com", Role::Member);
        server.env.advance(Duration::from_hours(1));
        assert_eq!(world.deactivate_all(), 10);
        let me = session.get("/api/me").json()["id"].as_str().unwrap().to_owned();
        is_paused(&world.tenant.scim.delete(&format!("{USERS}/{me}")));
        is_paused(&world.tenant.scim.delete(&boss));
        is_paused(&world.tenant.scim.delete(&world.user(11)));
        is_paused(&world.tenant.scim.delete(&world.user(12)));
        server.disable(&world.tenant, &world.users[10].parse().unwrap());

        assert_eq!(
            world.admin.send("POST", &format!("{}/apply", world.held_path()), None).json()["code"],
            "STEP_UP_REQUIRED"
        );
        let applied = world.apply();
        assert_eq!(
            (applied.status, applied.json()),
            (200, json!({ "removed": 3, "kept": 1 })),
            "{}",
            applied.text
        );
        assert_eq!(session.get("/api/me").status, 401, "the sessions end");
        assert_eq!(world.tenant.scim.get(&world.user(11)).status, 404);
        assert_eq!(world.tenant.scim.get(&boss).json()["active"], true, "administrators stay");
        assert_eq!(
            (world.recorded("ACCOUNT_REMOVALS_APPLIED"), world.recorded("ACCOUNT_USER_DELETED")),
            (1, 3)
        );
        let held = world.held();
        assert_eq!((&held["pausedAt"], &held["total"]), (&Value::Null, &json!(0)));
        assert_eq!(world.apply().json()["reason"], "NOT_PAUSED");
        // Removals count from zero again.
        assert_eq!((13..29).find(|number| world.deactivate(*number).status != 200), Some(23));
    });
}

#[test]
fn administrator_applies_only_removals_of_the_list_that_was_shown() {
    on_both(|server| {
        let world = World::of_users(server, 60);
        assert_eq!(world.deactivate_all(), 12);
        is_paused(&world.deactivate(13));
        let shown = world.held()["asOf"].clone();
        server.env.advance(Duration::from_secs(1));
        is_paused(&world.deactivate(13));
        is_paused(&world.deactivate(14));
        is_paused(&world.tenant.scim.delete(&world.user(12)));
        let path = format!("{}/apply", world.held_path());
        assert_eq!(
            world.proved().post(&path, &json!({ "until": "yesterday" })).json()["code"],
            "INVALID_REQUEST"
        );
        let applied = world.apply_until(&world.proved(), &shown);
        assert_eq!(applied.json(), json!({ "removed": 1, "kept": 0 }), "{}", applied.text);
        assert!(
            !world.is_active(13) && world.is_active(14) && world.is_active(12),
            "a deletion was asked for later"
        );
        let left = world.held();
        assert_eq!(left["total"], 2);
        assert!(left["pausedAt"].is_string(), "others wait");
        assert_eq!(world.apply().json(), json!({ "removed": 2, "kept": 0 }));
        assert_eq!(world.held()["pausedAt"], Value::Null);
    });
}

#[test]
fn nobody_applies_the_removal_of_users_with_more_permissions() {
    on_both(|server| {
        let world = World::of_users(server, 60);
        let (me, security) = server.signed_in(&world.tenant, "sam@example.com", Role::Security);
        enrol_totp(server, &security);
        let auditor = server.person(&world.tenant, "audit@example.com", Role::Auditor);
        server.env.advance(Duration::from_hours(1));
        assert_eq!(world.deactivate_all(), 12);
        for id in [&me.id, &auditor.id] {
            is_paused(&deactivate(&world.tenant.scim, &format!("{USERS}/{id}")));
        }
        server.env.advance(Duration::from_mins(1));
        let proved = server.proved(&security, "SCIM_TOKEN_MINT");
        let applied = world.apply_until(&proved, &world.held()["asOf"]);
        assert_eq!(applied.json(), json!({ "removed": 1, "kept": 2 }), "{}", applied.text);
        assert_eq!(security.get("/api/me").status, 200, "nobody removes themselves");
    });
}

#[test]
fn directory_withdraws_a_held_removal_by_sending_the_user_as_active() {
    on_both(|server| {
        let world = World::of_users(server, 30);
        assert_eq!(world.deactivate_all(), 10);
        (11..15).for_each(|number| is_paused(&world.deactivate(number)));
        let scim = &world.tenant.scim;
        let again = json!([{ "op": "replace", "value": { "active": true } }]);
        assert_eq!(scim.operations(&world.user(11), &again).status, 200);
        let whole = json!({ "userName": "user13@example.com", "active": true });
        assert_eq!(scim.put(&world.user(12), &whole).status, 200);
        let title = json!([{ "op": "replace", "path": "title", "value": "Countess" }]);
        assert_eq!(scim.operations(&world.user(13), &title).status, 200);
        let held = world.held();
        let left: Vec<_> = held["removals"].as_array().unwrap().iter().map(|one| &one["userId"]).collect();
        assert_eq!(left, [&json!(world.users[10]), &json!(world.users[13]), &json!(world.users[14])]);
    });
}

#[test]
fn users_who_are_younger_than_an_hour_do_not_count() {
    on_both(|server| {
        let world = World::of_users(server, 30);
        let create = |number: usize| {
            let user = json!({ "userName": format!("trial{number}@example.com") });
            world.tenant.scim.post(USERS, &user).json()["id"].as_str().unwrap().to_owned()
        };
        let trial: Vec<_> = (0..20).map(create).collect();
        let delete = |id: &String| world.tenant.scim.delete(&format!("{USERS}/{id}")).status;
        assert!(trial[..15].iter().all(|id| delete(id) == 204));
        assert_eq!(world.deactivate_all(), 10);
        assert!(trial[15..].iter().all(|id| delete(id) == 204), "nor while the others are held");
    });
}

#[test]
fn token_cannot_raise_the_share_by_creating_users() {
    on_both(|server| {
        let world = World::of_users(server, 30);
        for number in 0..70 {
            let user = json!({ "userName": format!("puppet{number}@example.com") });
            assert_eq!(world.tenant.scim.post(USERS, &user).status, 201);
        }
        assert_eq!(world.deactivate_all(), 10);
    });
}

#[test]
fn discarded_removals_keep_users_and_the_limit_applies_again() {
    on_both(|server| {
        let world = World::of_users(server, 30);
        assert_eq!(world.deactivate_all(), 10);
        is_paused(&world.tenant.scim.delete(&world.user(11)));
        let discarded = world.discard();
        assert_eq!((discarded.status, discarded.json()), (200, json!({ "discarded": 2 })));
        assert!(world.is_active(10) && world.is_active(11));
        assert_eq!(world.held()["total"], 0);
        let again = world.discard();
        assert_eq!((again.status, &again.json()["reason"]), (409, &json!("NOT_PAUSED")));
        is_paused(&world.deactivate(12));
        assert_eq!(world.discard().status, 200);
        server.env.advance(Duration::from_hours(1));
        assert_eq!(world.deactivate(12).status, 200, "the removals of an hour ago do not count");
        assert_eq!(world.recorded("ACCOUNT_REMOVALS_DISCARDED"), 2);

        // A revoked token leaves nothing to decide.
        assert_eq!((13..29).find(|number| world.deactivate(*number).status != 200), Some(22));
        let path = world.held_path();
        assert_eq!(world.admin.delete(path.strip_suffix("/removals").unwrap()).status, 200);
        assert_eq!(world.admin.get(&path).status, 404);
    });
}

#[test]
fn limit_is_changed_with_a_step_up() {
    on_both(|server| {
        let world = World::of_users(server, 20);
        let usual = json!({ "enabled": true, "percent": 20, "users": 10 });
        assert_eq!(world.admin.get(LIMIT).json(), usual);
        assert_eq!(world.admin.put(LIMIT, &usual).json()["code"], "STEP_UP_REQUIRED");
        for (body, field) in [
            (json!({ "enabled": true, "percent": 0, "users": 10 }), "percent"),
            (json!({ "enabled": true, "percent": 101, "users": 10 }), "percent"),
            (json!({ "enabled": true, "percent": 1, "users": 0 }), "users"),
            (json!({ "enabled": true, "percent": 1, "users": 1_000_001 }), "users"),
        ] {
            let refused = world.proved().put(LIMIT, &body);
            assert_eq!(refused.status, 400, "{body}");
            assert!(refused.json()["error"].as_str().unwrap().starts_with(field), "{}", refused.text);
        }
        let strict = json!({ "enabled": true, "percent": 10, "users": 1 });
        assert_eq!(world.proved().put(LIMIT, &strict).json(), strict);
        assert_eq!(world.deactivate_all(), 2, "10 percent of 20 users");
        let off = json!({ "enabled": false, "percent": 10, "users": 1 });
        assert_eq!(world.proved().put(LIMIT, &off).json(), off);
        is_paused(&world.deactivate(3));
        assert_eq!(world.discard().status, 200);
        assert_eq!(world.deactivate_all(), 19);
        assert_eq!(world.proved().put(LIMIT, &off).status, 200);
        assert_eq!(world.recorded("ACCOUNT_REMOVAL_LIMIT_CHANGED"), 2, "an equal limit changes nothing");
    });
}

#[test]
fn concurrent_requests_do_not_exceed_the_limit() {
    on_both(|server| {
        let world = World::of_users(server, 60);
        let paused = thread::scope(|scope| {
            let clients: Vec<_> = (0..8)
                .map(|client| {
                    let (scim, world) = (&world.tenant.scim, &world);
                    let users: Vec<_> = (client..59).step_by(8).map(|number| world.user(number)).collect();
                    let remove = move |user: &String| {
                        if client % 2 == 0 { scim.delete(user).status } else { deactivate(scim, user).status }
                    };
                    scope.spawn(move || users.iter().map(remove).filter(|status| *status == 403).count())
                })
                .collect();
            clients.into_iter().map(|client| client.join().unwrap()).sum::<usize>()
        });
        assert_eq!(59 - paused, 12, "20 percent of 60 users");
        assert_eq!(world.held()["total"], 47);
        assert_eq!(world.recorded("ACCOUNT_REMOVALS_PAUSED"), 1);
    });
}

#[test]
fn administrators_of_connections_get_a_message() {
    let mail = MailServer::start();
    for kind in Kind::ALL {
        let server = Server::start(kind, &[("smtp_url", &format!("smtp://{}", mail.address))]);
        let world = World::of_users(&server, 20);
        server.person(&world.tenant, "security@example.com", Role::Security);
        server.person(&world.tenant, "audit@example.com", Role::Auditor);
        let group = world.tenant.scim.post(
            "/api/scim/v2/Groups",
            &json!({ "displayName": "IT", "members": [{ "value": world.users[18] }] }),
        );
        let rule = json!({ "groupId": group.json()["id"], "role": "SECURITY" });
        server.env.advance(Duration::from_mins(1));
        let proved = server.proved(&world.admin, "USER_ADMIN_CHANGE");
        assert_eq!(proved.post("/api/settings/role-rules", &rule).status, 200);
        assert_eq!(world.deactivate_all(), 10);
        let mut recipients: Vec<_> = (0..3)
            .map(|_| {
                let message = mail.mail.recv_timeout(Duration::from_secs(10)).unwrap();
                let message = message.replace("=\r\n", "").replace("=\n", "");
                for expected in
                    ["Subject: Your directory removes many users", "token test", "10 users", "/settings/scim"]
                {
                    assert!(message.contains(expected), "{expected}\n{message}");
                }
                let to = message.lines().find_map(|line| line.strip_prefix("To: ")).unwrap();
                to.trim().to_owned()
            })
            .collect();
        recipients.sort();
        assert_eq!(recipients, ["admin@example.com", "security@example.com", "user19@example.com"]);
        is_paused(&world.deactivate(11));
        assert!(mail.mail.recv_timeout(Duration::from_millis(200)).is_err(), "one message per pause");
    }
}
