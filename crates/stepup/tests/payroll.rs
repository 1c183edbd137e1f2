//! Tests the example web service.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    io::{BufRead, BufReader},
    path::Path,
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

/// Sends a request. Returns the status, the `WWW-Authenticate` header and the body.
fn post(url: &str, token: Option<&str>, body: &Value) -> (u16, String, Value) {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let mut request = ureq::http::Request::builder().method("POST").uri(url);
    if let Some(token) = token {
        request = request.header("X-StepUp-Token", token);
    }
    let request = request.header("Content-Type", "application/json").body(body.to_string()).unwrap();
    let mut answer = agent.run(request).unwrap();
    let challenge = answer.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
    let text = answer.body_mut().read_to_string().unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (answer.status().as_u16(), challenge.unwrap_or_default(), body)
}

// Mutation tests leave out tests with this beginning at first.
#[test]
fn example_service_seals_only_after_a_step_up() {
    // Cargo builds examples next to the tests.
    let program =
        std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().join("examples/payroll");
    let mut running = Running(Command::new(program).stdout(Stdio::piped()).spawn().unwrap());
    let mut said = String::new();
    BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let base = said.trim().strip_prefix("listening on ").unwrap().to_owned();
    let seal = |token: Option<&str>| post(&format!("{base}/payroll/seal"), token, &json!({}));

    let (status, challenge, refusal) = seal(None);
    assert_eq!((status, challenge.as_str()), (401, "StepUp purpose=PAYROLL_SEAL"));
    assert_eq!((&refusal["code"], &refusal["purpose"]), (&json!("STEP_UP_REQUIRED"), &json!("PAYROLL_SEAL")));
    assert_eq!(seal(Some("nonsense")).2["reason"], "MALFORMED");

    let (_, _, asked) =
        post(&format!("{base}/step-up/challenge-options"), None, &json!({ "purpose": "PAYROLL_SEAL" }));
    let answer = |code: &str| {
        let body = json!({ "challengeId": asked["challengeId"], "factor": "TOTP", "code": code });
        post(&format!("{base}/step-up/verify"), None, &body)
    };
    assert_eq!(answer("654321").2["code"], "FACTOR_INVALID");
    let token = answer("123456").2["token"].as_str().unwrap().to_owned();
    let (status, _, sealed) = seal(Some(&token));
    assert_eq!((status, sealed), (200, json!("sealed by user 42\n")));
    assert_eq!(seal(Some(&token)).2["reason"], "ALREADY_USED");
}
