//! Many at once.

use std::{io::Write, net::TcpStream};

use serde_json::json;

use crate::support::on_both;

const USERS: &str = "/api/scim/v2/Users";

#[test]
fn of_64_parallel_creates_one_is_new() {
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
            assert!(answers.iter().all(|(_, id)| *id == answers[0].1), "all are told of the same user");
        }
        assert_eq!(tenant.scim.get(USERS).json()["totalResults"], 50);
        let created =
            server.entries(&tenant).iter().filter(|entry| entry.action == "ACCOUNT_USER_CREATED").count();
        assert_eq!(created, 50, "one entry each");
    });
}

#[test]
fn clients_that_hang_up_leave_whole_users_or_none() {
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
        // Everything is free again: this would wait for a lock or a connection that was not given back.
        assert_eq!(tenant.scim.post(USERS, &json!({ "userName": "after" })).status, 201);
        let users = tenant.scim.get(&format!("{USERS}?count=0")).json()["totalResults"].as_u64().unwrap();
        let entries = server.entries(&tenant);
        let created = entries.iter().filter(|entry| entry.action == "ACCOUNT_USER_CREATED").count() as u64;
        assert!(
            created.abs_diff(users) <= 8,
            "a few may be between the two looks: {users} users, {created} entries"
        );
        // Names that were written can be found whole; the others can be taken.
        for number in [0, 99, 199] {
            let answer = tenant.scim.post(USERS, &json!({ "userName": format!("gone-{number}") }));
            assert!([200, 201].contains(&answer.status));
        }
    });
}
