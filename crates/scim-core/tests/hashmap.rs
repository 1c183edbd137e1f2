//! Runs the `hashmap` example and sends it requests as an identity provider would.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _gone = self.0.wait();
    }
}

fn send(method: &str, url: &str, body: &Value) -> Option<(u16, Value)> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let request = ureq::http::Request::builder().method(method).uri(url).body(body.to_string()).unwrap();
    let mut answer = agent.run(request).ok()?;
    let text = answer.body_mut().read_to_string().unwrap();
    Some((answer.status().as_u16(), serde_json::from_str(&text).unwrap_or_default()))
}

// Mutation tests leave out tests with this beginning at first.
#[test]
fn example_service_serves_an_identity_provider() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // Cargo builds examples next to the tests.
    let program =
        std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().join("examples/hashmap");
    let _running = Running(Command::new(program).arg(address.to_string()).spawn().unwrap());
    let root = format!("http://{address}");
    let started = Instant::now();
    let config = loop {
        match send("GET", &format!("{root}/ServiceProviderConfig"), &Value::Null) {
            Some((200, config)) => break config,
            _ => assert!(started.elapsed() < Duration::from_secs(10), "the example does not respond"),
        }
    };
    assert_eq!(config["patch"]["supported"], true);
    let (_, schemas) = send("GET", &format!("{root}/Schemas"), &Value::Null).unwrap();
    for schema in schemas["Resources"].as_array().unwrap() {
        let one = format!("{root}/Schemas/{}", schema["id"].as_str().unwrap());
        assert_eq!(send("GET", &one, &Value::Null).unwrap(), (200, schema.clone()));
    }
    assert_eq!(send("DELETE", &format!("{root}/Schemas"), &Value::Null).unwrap().0, 405);

    let users = format!("{root}/Users");
    let (status, ada) = send("POST", &users, &json!({ "userName": "ada@example.com" })).unwrap();
    assert_eq!(status, 201);
    assert_eq!(send("POST", &users, &json!({ "userName": "ADA@example.com" })).unwrap().0, 409);
    let (_, found) = send("GET", &format!("{users}?filter=userName%20sw%20%22ADA%22"), &Value::Null).unwrap();
    assert_eq!(found["Resources"], json!([ada]));
    let one = format!("{users}/{}", ada["id"].as_str().unwrap());
    let off = json!({ "Operations": [{ "op": "replace", "value": { "active": false } }] });
    assert_eq!(send("PATCH", &one, &off).unwrap().1["active"], false);
    assert_eq!(send("DELETE", &one, &Value::Null).unwrap().0, 204);
    assert_eq!(send("GET", &one, &Value::Null).unwrap().0, 404);
    assert_eq!(send("GET", &format!("{root}/Nothing"), &Value::Null).unwrap().0, 404);
}
