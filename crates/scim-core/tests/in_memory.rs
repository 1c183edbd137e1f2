//! Runs the `in_memory` example and sends it requests as an identity provider would.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// Cargo builds examples next to the tests.
fn program() -> PathBuf {
    std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().join("examples/in_memory")
}

/// Sends a request with a token. Returns the status, the header `WWW-Authenticate` and the body.
fn send(method: &str, url: &str, token: &str, body: &Value) -> (u16, String, Value) {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let request = ureq::http::Request::builder().method(method).uri(url).header("Authorization", token);
    let mut answer = agent.run(request.body(body.to_string()).unwrap()).unwrap();
    let challenge = answer.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
    let text = answer.body_mut().read_to_string().unwrap();
    let body = serde_json::from_str(&text).unwrap_or_default();
    (answer.status().as_u16(), challenge.unwrap_or_default(), body)
}

// Mutation tests leave out tests with this beginning at first.
#[test]
fn example_service_serves_users_and_groups_to_the_owner_of_the_token() {
    let mut command = Command::new(program());
    command.arg("127.0.0.1:0").env("SCIM_TOKEN", "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0").stdout(Stdio::piped());
    let mut running = Running(command.spawn().unwrap());
    let mut said = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let root = format!("{}/scim/v2", said.trim().strip_prefix("listening on ").unwrap());
    let users = format!("{root}/Users");
    for token in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV1",
        "Basic c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0",
    ] {
        let (status, challenge, body) = send("GET", &users, token, &Value::Null);
        assert_eq!((status, challenge.as_str(), &body["status"]), (401, "Bearer", &json!("401")), "{token}");
    }
    let send = |method: &str, url: &str, body: &Value| {
        let (status, _, body) = send(method, url, "bearer c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", body);
        (status, body)
    };
    let (status, ada) = send("POST", &users, &json!({ "userName": "ada@example.com" }));
    assert_eq!(status, 201);
    let member = json!({ "displayName": "Staff", "members": [{ "value": ada["id"] }] });
    let (status, staff) = send("POST", &format!("{root}/Groups"), &member);
    assert_eq!(status, 201);
    let one = format!("{users}/{}", ada["id"].as_str().unwrap());
    assert_eq!(send("GET", &one, &Value::Null).1["groups"][0]["value"], staff["id"]);
    let wrong = json!({ "Operations": [
        { "op": "replace", "path": "active", "value": false },
        { "op": "replace", "path": "userName", "value": "" },
    ] });
    assert_eq!(send("PATCH", &one, &wrong).0, 400);
    assert_eq!(send("GET", &one, &Value::Null).1["active"], true, "a refused request changes nothing");
    assert_eq!(send("DELETE", &one, &Value::Null).0, 204);
}

#[test]
fn example_service_does_not_start_without_a_token() {
    for (token, problem) in
        [(None, "SCIM_TOKEN: is not set"), (Some("secret"), "SCIM_TOKEN: a bearer token has")]
    {
        let mut command = Command::new(program());
        command.env_remove("SCIM_TOKEN").stdout(Stdio::null());
        let output = command.envs(token.map(|token| ("SCIM_TOKEN", token))).output().unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(problem), "{said}");
    }
}
