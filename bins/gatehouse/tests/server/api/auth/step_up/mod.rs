//! Step-up: the flow, each statement of the threat model, and concurrent use.

mod flow;
mod races;
mod refusals;
mod remote;

use serde_json::{Value, json};

use crate::support::{Answer, Browser, Server, code};

pub(super) const TOKEN: &str = "X-StepUp-Token";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn invalid(answer: &Answer, reason: &str) {
    is(answer, 401, "STEP_UP_INVALID");
    assert_eq!(answer.json()["reason"], reason, "{}", answer.text);
}

fn challenge(browser: &Browser, purpose: &str) -> Answer {
    browser.post("/api/auth/step-up/challenge-options", &json!({ "purpose": purpose }))
}

fn answer_with(browser: &Browser, challenge: &Value, factor: &str, code: &str) -> Answer {
    let body = json!({ "challengeId": challenge["challengeId"], "factor": factor, "code": code });
    browser.post("/api/auth/step-up/verify", &body)
}

/// Gets a step-up token with the code that an app shows half a minute after the last one.
fn token(server: &Server, browser: &Browser, secret: &str, purpose: &str) -> String {
    server.env.advance(std::time::Duration::from_secs(30));
    let asked = challenge(browser, purpose).json();
    let answer = answer_with(browser, &asked, "TOTP", &code(secret, server, 0));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["token"].as_str().unwrap().to_owned()
}

fn consume(browser: &Browser, token: &str, purpose: &str) -> Answer {
    browser.with(TOKEN, token).post("/api/auth/step-up/consume", &json!({ "purpose": purpose }))
}

fn status(browser: &Browser, purpose: &str) -> Value {
    browser.get(&format!("/api/auth/step-up/status?purpose={purpose}")).json()
}
