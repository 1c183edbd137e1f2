//! Filters over HTTP: their operators and limits.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Caller, ada, on_both};

const USERS: &str = "/api/scim/v2/Users";

fn search(scim: &Caller, filter: &str) -> (u16, Value) {
    let answer = scim.post(&format!("{USERS}/.search"), &json!({ "filter": filter }));
    (answer.status, answer.json())
}

#[test]
fn every_filter_operator_works() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        scim.post(USERS, &ada());
        scim.post(USERS, &json!({ "userName": "bob", "active": false, "title": "Builder" }));
        for (filter, expected) in [
            ("userName co \"example\"", vec!["Ada@Example.com"]),
            ("userName sw \"B\"", vec!["bob"]),
            ("userName ew \".COM\"", vec!["Ada@Example.com"]),
            ("userName gt \"ad\" and userName lt \"b\"", vec!["Ada@Example.com"]),
            ("userName ge \"BOB\"", vec!["bob"]),
            ("userName le \"ada@example.com\"", vec!["Ada@Example.com"]),
            ("title pr", vec!["bob"]),
            ("title ne \"builder\"", vec!["Ada@Example.com"]),
            ("not (title pr) and active eq true", vec!["Ada@Example.com"]),
            ("name.familyName eq \"LOVELACE\" or active eq false", vec!["Ada@Example.com", "bob"]),
            ("emails[type eq \"work\" and value co \"@example\"]", vec!["Ada@Example.com"]),
            ("emails[type eq \"home\" and value co \"@example\"]", vec![]),
            ("emails[type eq \"work\"].value eq \"ada@example.com\"", vec!["Ada@Example.com"]),
            ("meta.lastModified gt \"2020-01-01T00:00:00Z\"", vec!["Ada@Example.com", "bob"]),
            ("meta.created lt \"2020-01-01T00:00:00Z\"", vec![]),
        ] {
            let (status, list) = search(&scim, filter);
            assert_eq!(status, 200, "{filter}: {list}");
            let mut names: Vec<_> = list["Resources"].as_array().unwrap().iter().collect();
            names.sort_by_key(|user| user["userName"].to_string());
            let names: Vec<_> = names.iter().map(|user| user["userName"].as_str().unwrap()).collect();
            assert_eq!(names, expected, "{filter}");
        }
        // In a URL, with + for a space and names in any case, as Entra sends it.
        let found =
            scim.get(&format!("{USERS}?filter=Emails[Type+eq+%22work%22].Value+EQ+%22ada%40example.com%22"));
        assert_eq!(found.json()["totalResults"], 1);
    });
}

#[test]
fn nested_and_long_filters_are_accepted() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        scim.post(USERS, &ada());
        let nots = format!("{}active eq true{}", "not (".repeat(30), ")".repeat(30));
        assert_eq!(search(&scim, &nots).1["totalResults"], 1);
        let nots = format!("{}active eq true{}", "not (".repeat(31), ")".repeat(31));
        assert_eq!(search(&scim, &nots).1["totalResults"], 0);
        let mut terms: Vec<_> = (0..49).map(|n| format!("userName eq \"nobody-{n}\"")).collect();
        terms.push("userName eq \"ada@example.com\"".into());
        assert_eq!(search(&scim, &terms.join(" or ")).1["totalResults"], 1);
        assert_eq!(search(&scim, &terms.join(" and ")).1["totalResults"], 0);
    });
}

#[test]
fn hostile_filters_are_refused_at_once() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        scim.get(USERS);
        for (name, filter) in [
            ("10,000 parentheses", "(".repeat(10_000)),
            ("10,000 nots", format!("{}active eq true", "not (".repeat(10_000))),
            ("5,000 terms", vec!["active eq true"; 5_000].join(" or ")),
            ("1 MB", format!("title eq \"{}\"", "x".repeat(1_000_000))),
            ("1 MB of brackets", "emails[".repeat(140_000)),
        ] {
            let started = Instant::now();
            let (status, body) = search(&scim, &filter);
            let took = started.elapsed();
            assert_eq!((status, &body["scimType"]), (400, &json!("invalidFilter")), "{name}: {body}");
            // The benchmark measures the target of 5 ms; here a slow machine must not fail.
            assert!(took < Duration::from_millis(500), "{name} took {took:?}");
        }
    });
}

#[test]
fn filter_too_long_for_a_url_is_refused_by_the_http_layer() {
    on_both(|server| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let filter = "%28".repeat(200_000);
        let _refused = write!(stream, "GET {USERS}?filter={filter} HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut answer = Vec::new();
        let _closed = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1);
        assert!(matches!(status, Some("414" | "431")), "{answer:.200}");
    });
}

#[test]
fn cursor_pages_cover_a_filtered_list() {
    on_both(|server| {
        let scim = server.tenant("acme").scim;
        for n in 0..7 {
            scim.post(USERS, &json!({ "userName": format!("u{n}"), "active": n % 3 != 0 }));
        }
        let page = |cursor: &str| scim.get(&format!("{USERS}?filter=active+eq+true&count=2&cursor={cursor}"));
        let first = page("").json();
        assert_eq!(
            (&first["totalResults"], &first["itemsPerPage"], &first["startIndex"]),
            (&json!(4), &json!(2), &Value::Null)
        );
        let second = page(first["nextCursor"].as_str().unwrap()).json();
        assert_eq!((&second["totalResults"], second["Resources"].as_array().unwrap().len()), (&json!(4), 2));
        assert_eq!(second["nextCursor"], Value::Null, "there are no more");
        assert_ne!(first["Resources"], second["Resources"]);
        let other = scim.get(&format!("{USERS}?cursor={}", first["nextCursor"].as_str().unwrap()));
        assert_eq!(
            (other.status, &other.json()["scimType"]),
            (400, &json!("invalidCursor")),
            "a cursor of another query"
        );
    });
}
