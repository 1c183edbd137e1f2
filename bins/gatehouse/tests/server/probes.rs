//! Health probes and metrics.

use serde_json::json;
use store::testing::Kind;

use crate::support::{Caller, Process, Server, ada, on_both};

#[test]
fn healthy_server_is_alive_and_ready() {
    on_both(|server| {
        let anybody = server.anonymous();
        let health = anybody.get("/healthz");
        assert_eq!((health.status, health.json()), (200, json!({ "status": "ok" })));
        let ready = anybody.get("/readyz");
        assert_eq!(ready.json(), json!({ "status": "ready", "checks": { "database": "ok" } }));
        assert_eq!((ready.status, ready.header("cache-control")), (200, "no-store"));
        assert_eq!(anybody.send("POST", "/readyz", None, "").status, 405);
    });
}

#[test]
fn server_without_its_database_is_alive_and_not_ready() {
    let server = Server::start(Kind::Postgres, &[]);
    assert_eq!(server.anonymous().get("/readyz").status, 200);
    server.lose_database();
    let ready = server.anonymous().get("/readyz");
    assert_eq!((ready.status, &ready.json()["checks"]), (503, &json!({ "database": "unavailable" })));
    assert!(!ready.text.contains("test_"), "what is wrong is for the log: {}", ready.text);
    assert_eq!(server.anonymous().get("/healthz").status, 200);
}

#[test]
fn requests_are_counted_by_route_without_personal_data() {
    on_both(|server| {
        let tenant = server.tenant("counted");
        let made = tenant.scim.post("/api/scim/v2/Users", &ada()).json();
        tenant.scim.get(&format!("/api/scim/v2/Users/{}?attributes=id", made["id"].as_str().unwrap()));
        server.anonymous().get("/no/such/path?token=scim_secret");
        let answer = server.anonymous().get("/metrics");
        assert!(answer.header("content-type").starts_with("text/plain; version=0.0.4"));
        for line in [
            r#"gatehouse_http_requests_total{method="GET",route="/api/scim/v2/Users/{id}",status="200"}"#,
            r#"gatehouse_http_requests_total{method="POST",route="/api/scim/v2/Users",status="201"}"#,
            r#"gatehouse_http_requests_total{method="-",route="-",status="404"}"#,
            r#"gatehouse_http_request_duration_seconds_bucket{method="GET",route="/api/scim/v2/Users/{id}",le="0.25"}"#,
            "gatehouse_http_requests_in_flight",
            r#"gatehouse_events_total{code="ACCOUNT_USER_CREATED"}"#,
            "gatehouse_passwords_waiting 0",
            "gatehouse_build_info{version=",
        ] {
            assert!(answer.text.contains(line), "{line} is not in\n{}", answer.text);
        }
        for secret in ["scim_", "usr_", "ten_", "such/path", "counted"] {
            assert!(!answer.text.contains(secret), "{secret} is in\n{}", answer.text);
        }
    });
}

#[test]
fn metrics_can_have_their_own_address() {
    let server = Server::start(Kind::Sqlite, &[("metrics_bind", "127.0.0.1:0")]);
    server.anonymous().get("/healthz");
    let metrics = Caller::anonymous(server.metrics_address.unwrap());
    assert!(metrics.get("/metrics").text.contains("gatehouse_http_requests_total"));
    let unknown = metrics.get("/api/scim/v2/Users");
    assert_eq!((unknown.status, unknown.header("x-content-type-options")), (404, "nosniff"));
    assert!(unknown.header("content-security-policy").contains("frame-ancestors 'none'"));
    assert_eq!(server.anonymous().get("/metrics").status, 404);
    assert_eq!(server.anonymous().get("/readyz").status, 200);
}

#[test]
fn metrics_on_the_servers_address_are_served_only_to_this_machine() {
    let server = Server::start(Kind::Sqlite, &[("trusted_proxies", "127.0.0.0/8")]);
    let anybody = server.anonymous();
    assert_eq!(anybody.get("/metrics").status, 200);
    for (name, value) in [
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "for=127.0.0.1"),
        ("X-Real-IP", "127.0.0.1"),
        ("Via", "1.1 proxy"),
    ] {
        let forwarded = anybody.with(name, value);
        let refused = forwarded.get("/metrics");
        assert_eq!((refused.status, refused.json()), (404, forwarded.get("/nothing").json()), "{name}");
        assert_eq!(forwarded.send("POST", "/metrics", None, "").status, 404, "{name}");
        assert_eq!(forwarded.get("/readyz").status, 200, "probes need no trusted address");
    }
}

#[test]
fn every_counter_starts_at_zero() {
    let process = Process::on(Kind::Sqlite, &[]);
    process.json(&["migrate"]);
    let server = process.serve();
    let text = Caller::anonymous(server.address).get("/metrics").text;
    let mut expected: Vec<String> = Vec::new();
    let mut names = Vec::new();
    for counter in gatehouse::counters::known_counters() {
        names.push(counter.name);
        match counter.label {
            None => expected.push(format!("{} 0", counter.name)),
            Some((label, values)) => {
                expected
                    .extend(values.iter().map(|value| format!("{}{{{label}=\"{value}\"}} 0", counter.name)));
            }
        }
    }
    let is_known = |line: &&str| names.iter().any(|name| line.strip_prefix(name).is_some_and(is_series));
    let mut shown: Vec<_> = text.lines().filter(is_known).map(str::to_owned).collect();
    shown.sort_unstable();
    expected.sort_unstable();
    assert_eq!(shown, expected);
    // Every counter in the code is registered, except the one of HTTP requests.
    let code = concat!(
        include_str!("../../../../crates/gate/src/meter.rs"),
        include_str!("../../src/area_metrics.rs")
    );
    for name in code.split('"').filter(|word| word.starts_with("gatehouse_") && word.ends_with("_total")) {
        let is_answers = name == "gatehouse_http_requests_total";
        assert!(is_answers || names.contains(&name), "{name} is not registered");
    }
    let described =
        r#"gatehouse_http_requests_total{method="POST",route="/api/auth/sign-in",status="200"} 0"#;
    assert!(text.contains(described), "{text}");
}

/// Returns whether the name ends here: labels or a value follow.
fn is_series(rest: &str) -> bool {
    rest.starts_with(['{', ' '])
}
