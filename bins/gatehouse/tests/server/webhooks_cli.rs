//! `gatehouse webhooks listen`, and instances with different roles.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use serde_json::{Value, json};
use store::testing::Kind;
use webhooks::verify::{ReceiverSecrets, verify};

use crate::support::{Caller, Process, Sink, eventually};

/// Killed at the end of the test.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

#[test]
fn listen_forwards_signed_events_to_a_local_program() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let sink = Sink::start();
    let words = ["webhooks", "listen", "--forward", &sink.url("/in"), "--events", "ACCOUNT_USER_*", "--json"];
    let mut child = process.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let _listening = Listening(child);
    let mut printed = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let first = printed.next().unwrap();
    assert_eq!((&first["tenant"], &first["forward"]), (&json!("acme"), &json!(sink.url("/in"))));
    let secret = first["secret"].as_str().unwrap();
    let scim = Caller::anonymous(server.address).bearer(&token);
    scim.post("/api/scim/v2/Groups", &json!({ "displayName": "Engines" }));
    scim.post("/api/scim/v2/Users", &json!({ "userName": "bob@example.com" }));
    let forwarded = printed.next().unwrap();
    let received = sink.await_received("/in", 1).remove(0);
    assert_eq!((&forwarded["type"], &forwarded["httpStatus"]), (&json!("ACCOUNT_USER_CREATED"), &json!(204)));
    assert_eq!(forwarded["id"], received.json()["id"]);
    let (time, signature) = (received.header("x-service-timestamp"), received.header("x-service-signature"));
    let now = kernel::Env::now(&kernel::SystemEnv::default()).unix_millis() / 1000;
    let secrets = ReceiverSecrets::new([secret]).unwrap();
    assert_eq!(verify(&secrets, time, signature, received.body.as_bytes(), now), Ok(()));
    assert_eq!(sink.received("/in").len(), 1, "events of groups are not forwarded");
    for (words, expected) in [
        (&["--forward", "localhost:3000"][..], "--forward: "),
        (&["--forward", "http://localhost:1", "--tenant", "nobody"], "--tenant: unknown tenant nobody"),
        (&["--forward", "http://localhost:1", "--secret", "whsec_x"], "--secret: expected whsec_"),
    ] {
        let (status, problem) = process.refused(&[&["webhooks", "listen"], words].concat());
        assert!(status == 1 && problem.contains(expected), "{problem}");
    }
}

#[test]
fn listen_says_if_no_server_seals_events() {
    let process = Process::on(Kind::Sqlite, &[]);
    process.tenant("acme");
    let words = ["webhooks", "listen", "--forward", "http://127.0.0.1:9/"];
    let mut child = process.command(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let _listening = Listening(child);
    let said = said.next().unwrap().unwrap();
    assert!(said.contains("gatehouse serve"), "{said}");
}

#[test]
fn api_instance_serves_and_worker_instance_delivers() {
    for kind in Kind::ALL {
        let settings =
            [("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8"), ("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true")];
        let mut process = Process::on(kind, &settings);
        let token = process.tenant("acme");
        let of = ["--tenant", "acme", "--email", "ada@example.com"];
        process.json(&[&["user", "create", "--role", "ADMIN"][..], &of].concat());
        let minted =
            process.json(&[&["token", "pat", "--name", "x", "--scopes", "admin:tenant"][..], &of].concat());
        process.set("GATEHOUSE_ROLE", "api");
        let api = process.serve();
        let sink = Sink::start();
        let admin = Caller::anonymous(api.address).bearer(minted["token"].as_str().unwrap());
        let new =
            json!({ "name": "x", "url": sink.url("/in"), "eventFilters": ["ACCOUNT_USER_*"] }).to_string();
        let made = admin.send("POST", "/api/settings/webhooks", Some("application/json"), &new);
        assert_eq!(made.status, 200, "{}", made.text);
        // The secret was shown once and is not stored.
        let secret = made.json()["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap().to_owned();
        if kind == Kind::Sqlite {
            let bytes = std::fs::read_dir(process.path().join("data"))
                .unwrap()
                .map(|file| std::fs::read(file.unwrap().path()).unwrap());
            let raw = data_encoding::BASE64.decode(secret.as_bytes()).unwrap();
            for bytes in bytes {
                let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
                assert!(!holds(secret.as_bytes()) && !holds(&raw));
            }
        }
        let scim = Caller::anonymous(api.address).bearer(&token);
        assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "bob@example.com" })).status, 201);
        let path = format!("/api/settings/webhooks/{}/deliveries", made.json()["id"].as_str().unwrap());
        assert_eq!(admin.get(&path).json()["deliveries"][0]["status"], "PENDING");
        assert!(sink.received("/in").is_empty());
        process.set("GATEHOUSE_ROLE", "worker");
        let worker = process.serve();
        sink.await_received("/in", 1);
        eventually(|| admin.get(&path).json()["deliveries"][0]["status"] == "SUCCEEDED");
        assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "eve@example.com" })).status, 201);
        sink.await_received("/in", 2);
        let there = Caller::anonymous(worker.address);
        assert_eq!(
            (there.get("/readyz").status, there.get("/api/developers/openapi.json").status),
            (200, 404)
        );
    }
}
