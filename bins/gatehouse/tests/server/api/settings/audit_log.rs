//! The audit log, as administrators search it.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use audit::{AuditStore, Entry, Event, events::users::UserUpdated};
use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Server, Tenant, eventually, on_both};

const LOG: &str = "/api/settings/audit-log";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn get(browser: &Browser, query: &str) -> Value {
    let answer = browser.get(&format!("{LOG}{query}"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn actions(page: &Value) -> Vec<String> {
    let entries = page["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["action"].as_str().unwrap().to_owned()).collect()
}

/// Creates users by provisioning, one by one.
fn provision(server: &Server, tenant: &Tenant, names: &[&str]) -> Vec<String> {
    let create = |name: &&str| {
        server.env.advance(std::time::Duration::from_millis(5));
        let made = tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": name }));
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["id"].as_str().unwrap().to_owned()
    };
    names.iter().map(create).collect()
}

#[test]
fn administrators_search_the_audit_log_by_each_filter() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        assert_eq!(member.get(LOG).json()["reason"], "ROLE_REQUIRED");
        let users = provision(server, &tenant, &["one", "two", "three"]);
        server.env.advance(std::time::Duration::from_millis(5));
        assert_eq!(tenant.scim.delete(&format!("/api/scim/v2/Users/{}", users[1])).status, 204);

        let page = get(&admin, "?userId=sct_none");
        assert_eq!(page, json!({ "entries": [], "nextCursor": null }));
        let by_provider = get(&admin, &format!("?userId={}", tenant.token_id));
        let created = "ACCOUNT_USER_CREATED";
        assert_eq!(actions(&by_provider), ["ACCOUNT_USER_DELETED", created, created, created]);
        let entry = &by_provider["entries"][0];
        assert!(entry["id"].as_str().unwrap().starts_with("aud_"));
        let actor = json!({ "id": tenant.token_id.as_str(), "type": "SCIM", "name": entry["actor"]["name"] });
        assert_eq!(entry["actor"], actor);
        assert!(entry["actor"]["name"].is_string(), "the actor is named after the token");
        assert_eq!((&entry["resourceType"], &entry["resourceId"]), (&json!("user"), &json!(users[1])));
        assert_eq!((&entry["ip"], entry["metadata"].is_object()), (&json!("127.0.0.1"), true));

        // Each filter, and several at once.
        let about = get(&admin, &format!("?resourceId={}", users[0]));
        assert_eq!(actions(&about), [created]);
        let deleted = get(&admin, "?action=ACCOUNT_USER_DELETED,ACCOUNT_USER_REACTIVATED");
        assert_eq!(actions(&deleted), ["ACCOUNT_USER_DELETED"]);
        let started = get(&admin, &format!("?action=ACCOUNT_SESSION_*&userId={}", ada.id));
        assert_eq!(actions(&started), ["ACCOUNT_SESSION_STARTED"]);
        assert_eq!(started["entries"][0]["actor"]["name"], "ada@example.com");
        let kinds = get(&admin, "?resourceType=session&limit=200");
        assert!(!kinds["entries"].as_array().unwrap().is_empty());
        assert!(kinds["entries"].as_array().unwrap().iter().all(|entry| entry["resourceType"] == "session"));
        let text = get(&admin, &format!("?q={}&action=ACCOUNT_USER_*", users[2].to_uppercase()));
        assert_eq!(actions(&text), [created]);
        let times: Vec<_> = by_provider["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["timestamp"].as_str().unwrap())
            .collect();
        let between = format!("?from={}&to={}&userId={}", times[2], times[0], tenant.token_id);
        assert_eq!(actions(&get(&admin, &between)), [created, created], "the end is exclusive");
        // Another tenant's audit log is not accessible.
        let other = server.tenant("other");
        let (_, stranger) = server.signed_in(&other, "eve@example.com", Role::Admin);
        assert_eq!(get(&stranger, &format!("?resourceId={}", users[0]))["entries"], json!([]));
        let program = server.write(&tenant.id, async move |ctx, tx| {
            let scopes = vec![tokens::Scope::AdminTenant];
            let new = tokens::pat::NewPat { name: "SIEM".into(), scopes, expires_in_days: None };
            Ok(tokens::pat::mint(ctx, tx, &ada.id, new).await.unwrap().1)
        });
        let pulling = server.browser().with("Authorization", &format!("Bearer {}", program.expose()));
        assert_eq!(get(&pulling, "?limit=1")["entries"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn activity_is_counted_per_day() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let counts = |query: &str| {
            let days = get(&admin, &format!("/activity{query}"))["days"].as_array().unwrap().clone();
            assert!(days.windows(2).all(|pair| pair[0]["to"] == pair[1]["from"]), "no gaps: {days:?}");
            days.iter().map(|day| day["count"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        let before = counts("");
        assert_eq!((before.len(), before[29]), (30, server.entries(&tenant).len() as u64));
        // Sessions end when the clock advances; provisioning tokens do not.
        server.env.advance(std::time::Duration::from_hours(24));
        provision(server, &tenant, &["one", "two"]);
        let (_, admin) = server.signed_in(&tenant, "bob@example.com", Role::Admin);
        let days = get(&admin, "/activity?days=2")["days"].as_array().unwrap().clone();
        let count = |day: usize| days[day]["count"].as_u64().unwrap();
        assert_eq!(count(0), before[29]);
        assert_eq!(count(0) + count(1), server.entries(&tenant).len() as u64);
        for days in ["0", "91", "x"] {
            is(&admin.get(&format!("{LOG}/activity?days={days}")), 400, "INVALID_REQUEST");
        }
    });
}

#[test]
fn cursor_is_valid_only_for_its_own_search() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let names: Vec<_> = (0..9).map(|number| format!("user-{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let users = provision(server, &tenant, &names);
        let search = format!("userId={}&action=ACCOUNT_USER_CREATED", tenant.token_id);
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = get(&admin, &format!("?{search}&limit=4{cursor}"));
            seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["resourceId"].clone()));
            provision(server, &tenant, &[&format!("late-{}", seen.len())]);
            let Some(next) = page["nextCursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        let expected: Vec<_> = users.iter().rev().map(|id| json!(id)).collect();
        assert_eq!(seen, expected, "newest first, without entries added meanwhile");
        for query in [
            format!("?userId={}&limit=4{cursor}", tenant.token_id),
            format!("?{search}&cursor=nonsense"),
            format!("?{search}{cursor}x"),
        ] {
            is(&admin.get(&format!("{LOG}{query}")), 400, "INVALID_CURSOR");
        }
        let other = server.tenant("other");
        let (_, stranger) = server.signed_in(&other, "eve@example.com", Role::Admin);
        is(&stranger.get(&format!("{LOG}?{search}{cursor}")), 400, "INVALID_CURSOR");
    });
}

#[test]
fn invalid_filters_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        for (query, begins) in [
            ("from=yesterday", "from: write a time"),
            ("to=2026-13-01T00:00:00Z", "to: write a time"),
            ("action=ACCOUNT_*_CREATED", "action: \"ACCOUNT_*_CREATED\" is neither"),
            ("action=,", "action: \"\" is neither"),
            ("limit=0", "limit: "),
            ("userId=usr_1%00", "userId: must not contain the character U+0000"),
            ("q=%00", "q: must not contain the character U+0000"),
            ("order=time", "order: "),
        ] {
            let refused = admin.get(&format!("{LOG}?{query}"));
            is(&refused, 400, "INVALID_REQUEST");
            let error = refused.json()["error"].as_str().unwrap().to_owned();
            assert!(error.starts_with(begins), "{error}");
        }
        is(&admin.get(&format!("{LOG}?q={}", "x".repeat(201))), 400, "INVALID_REQUEST");
        // Empty parameters are ignored.
        assert!(!get(&admin, "?userId=&action=&q=&from=&cursor=")["entries"].as_array().unwrap().is_empty());
        assert_eq!(get(&admin, "?action=NOTHING_*")["entries"], json!([]));
    });
}

/// Appends many large entries.
fn fill(server: &Server, tenant: &Tenant, count: usize) {
    for _ in 0..count / 500 {
        server.write(&tenant.id, async move |ctx, tx| {
            let changed = vec!["a name of something that has changed".to_owned(); 50];
            let event =
                |number| Event::new(format!("usr_{number}"), &UserUpdated { changed: changed.clone() });
            let entries: Vec<_> = (0..500).map(|number| Entry::new(ctx, event(number))).collect();
            tx.append(&entries).await
        });
    }
}

/// Returns the outcomes of all exports, as an administrator sees them.
fn finished(admin: &Browser) -> Vec<Value> {
    let page = get(admin, "?action=ACCOUNT_AUDIT_LOG_EXPORT_FINISHED");
    page["entries"].as_array().unwrap().iter().map(|entry| entry["metadata"].clone()).collect()
}

#[test]
fn export_is_complete_and_its_start_is_recorded_first() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        provision(server, &tenant, &["one", "two", "three"]);
        assert_eq!(member.get(&format!("{LOG}/export")).json()["reason"], "ROLE_REQUIRED");
        is(&admin.get(&format!("{LOG}/export?format=xml")), 400, "INVALID_REQUEST");
        is(&admin.get(&format!("{LOG}/export?from=x")), 400, "INVALID_REQUEST");
        server.env.advance(std::time::Duration::from_secs(1));

        let csv = admin.get(&format!("{LOG}/export"));
        assert_eq!(
            (csv.status, csv.header("content-type")),
            (200, "text/csv; charset=utf-8; header=present")
        );
        let day = &get(&admin, "?limit=1")["entries"][0]["timestamp"].as_str().unwrap()[..10].to_owned();
        assert_eq!(
            csv.header("content-disposition"),
            format!("attachment; filename=\"audit-log-{day}.csv\"")
        );
        assert_eq!(csv.header("x-export-formula-escaping"), "apostrophe");
        assert_eq!((csv.header("x-export-truncated"), csv.header("cache-control")), ("", "no-store"));
        let mut lines = csv.text.split_terminator("\r\n");
        let head = "id,timestamp,actorId,actorType,actorName,action,resourceType,resourceId,ip,metadata";
        assert_eq!(lines.next(), Some(head));
        // The export contains its own start; the rest equals the list.
        let first = lines.next().unwrap();
        assert!(first.contains(",USER,ada@example.com,ACCOUNT_AUDIT_LOG_EXPORTED,tenant,"), "{first}");
        assert!(first.ends_with(r#","{""format"":""csv"",""filters"":[]}""#), "{first}");
        let shown = get(&admin, "?action=ACCOUNT_USER_CREATED&limit=200");
        for entry in shown["entries"].as_array().unwrap() {
            let id = entry["id"].as_str().unwrap();
            assert_eq!(csv.text.lines().filter(|line| line.starts_with(&format!("{id},"))).count(), 1);
        }
        eventually(|| finished(&admin).len() == 1);
        let rows = csv.text.split_terminator("\r\n").count() - 1;
        assert_eq!(finished(&admin)[0], json!({ "rows": rows, "outcome": "COMPLETED" }));

        let search = format!("userId={}&action=ACCOUNT_USER_*", tenant.token_id);
        let lines = admin.get(&format!("{LOG}/export?format=ndjson&{search}"));
        assert_eq!(lines.header("content-type"), "application/x-ndjson");
        assert_eq!(lines.header("x-export-formula-escaping"), "");
        let entries: Vec<Value> =
            lines.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(json!(entries), get(&admin, &format!("?{search}"))["entries"]);
        let lines = admin.get(&format!("{LOG}/export?format=ocsf&{search}"));
        assert_eq!(
            (lines.header("content-type"), lines.header("content-disposition")),
            ("application/x-ndjson", &*format!("attachment; filename=\"audit-log-{day}.ocsf.ndjson\""))
        );
        let events: Vec<Value> = lines.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(events.len(), entries.len());
        for (event, entry) in events.iter().zip(&entries) {
            assert_eq!((&event["metadata"]["uid"], &event["class_uid"]), (&entry["id"], &json!(3001)));
            assert_eq!(event["metadata"]["tenant_uid"], json!(tenant.id));
            assert_eq!(
                (&event["unmapped"], &event["actor"]["app_uid"]),
                (&entry["metadata"], &entry["actor"]["id"])
            );
        }
        // The entry records the parameters as requested, even empty ones that are ignored.
        assert_eq!(admin.get(&format!("{LOG}/export?resourceType=group&q=")).status, 200);
        let began = get(&admin, "?action=ACCOUNT_AUDIT_LOG_EXPORTED");
        let entered = json!({ "format": "csv", "filters": ["resourceType"] });
        assert!(
            began["entries"].as_array().unwrap().iter().any(|entry| entry["metadata"] == entered),
            "{began}"
        );
        let nothing = admin.get(&format!("{LOG}/export?action=NOTHING_*"));
        assert_eq!(nothing.text, format!("{head}\r\n"));
    });
}

#[test]
fn stalled_export_stops_and_concurrent_exports_are_limited() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let admins = ["ada", "bea", "cat"]
            .map(|name| server.signed_in(&tenant, &format!("{name}@example.com"), Role::Admin).1);
        fill(server, &tenant, 8_000);
        // Two clients read only the head, so that the connection's buffers fill up.
        let stalled = |browser: &Browser| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            let cookies = format!(
                "authjs.session-token={}; as_sid={}",
                browser.cookie("authjs.session-token"),
                browser.cookie("as_sid")
            );
            write!(stream, "GET {LOG}/export HTTP/1.1\r\nHost: x\r\nCookie: {cookies}\r\n\r\n").unwrap();
            stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
            let mut byte = [0; 12];
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"HTTP/1.1 200");
            stream
        };
        let first = stalled(&admins[0]);
        let again = admins[0].get(&format!("{LOG}/export?limit=1"));
        is(&again, 429, "RATE_LIMITED");
        assert_eq!(again.header("retry-after"), "10");
        let second = stalled(&admins[1]);
        is(&admins[2].get(&format!("{LOG}/export")), 429, "RATE_LIMITED");
        // Other requests are served meanwhile, and another tenant has its own export slots.
        assert_eq!(get(&admins[2], "?limit=1")["entries"].as_array().unwrap().len(), 1);
        let other = server.tenant("other");
        let (_, eve) = server.signed_in(&other, "eve@example.com", Role::Admin);
        assert_eq!(eve.get(&format!("{LOG}/export")).status, 200);

        drop((first, second));
        eventually(|| finished(&admins[2]).len() == 2);
        for end in finished(&admins[2]) {
            assert_eq!(end["outcome"], "ABANDONED");
            assert!(end["rows"].as_u64().unwrap() < 8_000, "{end}");
        }
        let free = admins[2].get(&format!("{LOG}/export?action=ACCOUNT_SESSION_STARTED"));
        assert_eq!((free.status, free.text.split_terminator("\r\n").count()), (200, 4));
    });
}
