//! Concurrent requests.

use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::support::on_both;

const USERS: &str = "/api/scim/v2/Users";

#[test]
fn concurrent_creates_of_one_user_create_it_once() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        for round in 0..50 {
            let body =
                json!({ "userName": format!("ada-{round}"), "emails": [format!("ada-{round}@x.example")] });
            let mut answers: Vec<(u16, String)> = std::thread::scope(|scope| {
                let ask = || {
                    let answer = tenant.scim.post(USERS, &body);
                    (answer.status, answer.json()["id"].as_str().unwrap_or_default().to_owned())
                };
                let threads: Vec<_> = (0..64).map(|_| scope.spawn(ask)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            answers.sort();
            assert_eq!(answers.iter().filter(|(status, _)| *status == 201).count(), 1, "round {round}");
            assert_eq!(answers.iter().filter(|(status, _)| *status == 200).count(), 63, "round {round}");
            assert!(answers.iter().all(|(_, id)| *id == answers[0].1), "all responses name the same user");
        }
        assert_eq!(tenant.scim.get(USERS).json()["totalResults"], 50);
        let created =
            server.entries(&tenant).iter().filter(|entry| entry.action == "ACCOUNT_USER_CREATED").count();
        assert_eq!(created, 50, "one audit entry per user");
    });
}

#[test]
fn disconnecting_clients_leave_complete_users_or_none() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        for number in 0..200 {
            let body = format!(r#"{{"userName":"gone-{number}"}}"#);
            let request = format!(
                "POST {USERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                tenant.token,
                body.len()
            );
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            drop(stream);
        }
        // All locks and connections are free again; otherwise this would wait.
        assert_eq!(tenant.scim.post(USERS, &json!({ "userName": "after" })).status, 201);
        // Some requests may still be running: wait until two reads of the audit log are equal.
        let created = || {
            let entries = server.entries(&tenant);
            entries.iter().filter(|entry| entry.action == "ACCOUNT_USER_CREATED").count()
        };
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let before = created();
            let users = tenant.scim.get(&format!("{USERS}?count=0")).json()["totalResults"].clone();
            if before == created() {
                assert_eq!(users, json!(before), "users and audit entries match");
                break;
            }
            assert!(Instant::now() < deadline, "writes do not end");
        }
        // A created user can be found completely; the other names are free.
        for number in [0, 99, 199] {
            let answer = tenant.scim.post(USERS, &json!({ "userName": format!("gone-{number}") }));
            assert!([200, 201].contains(&answer.status));
        }
    });
}
