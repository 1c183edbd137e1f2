//! Sessions that are bound to a key of the browser.

use std::time::Duration;

use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use super::passkeys::enrol;
use crate::support::{Answer, Browser, Device, Person, Server, Tenant, authenticator};

const SETTINGS: [(&str, &str); 2] = [("base_url", "https://gate.example"), ("device_bound_sessions", "true")];
const BOUND: &str = "__Host-gatehouse-bound-";
const REGISTRATION: &str = "secure-session-registration";

struct World<'s> {
    server: &'s Server,
    tenant: Tenant,
    ada: Person,
}

fn on_both(test: impl Fn(&World<'_>)) {
    for kind in Kind::ALL {
        let server = Server::start(kind, &SETTINGS);
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        test(&World { server: &server, tenant, ada });
    }
}

impl World<'_> {
    fn sign_in(&self, browser: &Browser) -> Answer {
        let answer = browser.sign_in(&self.ada.email, self.ada.password);
        assert_eq!(answer.json()["status"], "SIGNED_IN", "{}", answer.text);
        answer
    }

    /// Returns a browser whose session is bound, after the grace.
    fn bound(&self) -> (Browser, Device) {
        let (browser, mut device) = (self.server.browser(), Device::new());
        let answer = device.register(&browser, &self.sign_in(&browser));
        assert_eq!(answer.status, 200, "{}", answer.text);
        self.advance(30);
        (browser, device)
    }

    fn advance(&self, seconds: u64) {
        self.server.env.advance(Duration::from_secs(seconds));
    }

    /// Returns the payloads of the audit entries of refused cookies.
    fn refusals(&self) -> Vec<Value> {
        let entries = self.server.entries(&self.tenant);
        let refused = entries.iter().filter(|entry| entry.action == "ACCOUNT_SESSION_COOKIE_REFUSED");
        refused.map(|entry| serde_json::from_str(&entry.metadata).unwrap()).collect()
    }
}

fn status(browser: &Browser) -> u16 {
    browser.get("/api/me").status
}

/// Deletes the cookie of the bound session, as if it had expired.
fn expire(browser: &Browser) {
    browser.cookies.borrow_mut().retain(|name, _| !name.starts_with(BOUND));
}

/// Returns another browser with the same cookies.
fn copied(browser: &Browser) -> Browser {
    browser.with("X-Copy", "1")
}

#[test]
fn copied_cookies_are_useless_after_ten_minutes() {
    on_both(|world| {
        let (browser, mut device) = (world.server.browser(), Device::new());
        let signed_in = world.sign_in(&browser);
        assert!(
            signed_in.header(REGISTRATION).starts_with("(ES256 RS256);path=\"/api/auth/device-session\";")
        );
        let unbound = copied(&browser);
        let bound = device.register(&browser, &signed_in);
        let instructions = bound.json();
        assert_eq!(instructions["refresh_url"], "/api/auth/device-session/refresh");
        let name = instructions["credentials"][0]["name"].as_str().unwrap();
        assert!(name.starts_with(BOUND) && !browser.cookie(name).is_empty(), "{name}");
        let attributes = bound.cookie_attributes(BOUND);
        for attribute in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=570"] {
            assert!(attributes.contains(attribute), "{attribute} in {attributes}");
        }
        assert_eq!(status(&unbound), 200, "requests that were on their way");
        world.advance(30);
        assert_eq!((status(&browser), status(&unbound)), (200, 401));
        let page = unbound.with("Accept", "text/html").get("/account/security");
        assert_eq!(page.header("location"), "/auth/login?next=%2Faccount%2Fsecurity");

        let stolen = copied(&browser);
        world.advance(569);
        assert_eq!((status(&browser), status(&stolen)), (200, 200));
        world.advance(1);
        assert_eq!((status(&browser), status(&stolen)), (401, 401));
        assert_eq!(device.refresh(&browser).status, 200);
        assert_eq!((status(&browser), status(&stolen)), (200, 401));
        world.server.second_with(&SETTINGS, |address| {
            assert_eq!((status(&browser.at(address)), status(&stolen.at(address))), (200, 401));
        });
        let reasons: Vec<_> = world.refusals().iter().map(|data| data["reason"].clone()).collect();
        assert!(reasons.contains(&json!("NO_COOKIE")) && reasons.contains(&json!("EXPIRED")), "{reasons:?}");
        assert_eq!(
            world.server.entry(&world.tenant, "ACCOUNT_SESSION_BOUND").actor_id,
            world.ada.id.as_str()
        );
    });
}

#[test]
fn a_cookie_is_renewed_only_with_the_key_and_a_new_challenge() {
    on_both(|world| {
        let (browser, mut device) = world.bound();
        let asked = device.send(&browser, None);
        assert_eq!(
            (asked.status, &asked.json()["reason"]),
            (403, &json!("PROOF_REQUIRED")),
            "{}",
            asked.text
        );
        let challenge = device.challenge.clone();
        let proof = device.proof(&challenge);
        world.advance(1);
        assert_eq!(device.send(&browser, Some(&proof)).status, 200);
        assert_eq!(device.send(&browser, Some(&proof)).status, 403, "the proof is used");
        assert_eq!(device.refresh(&browser).status, 200, "the next challenge came with the refusal");

        world.advance(15 * 60);
        assert_eq!(device.refresh(&browser).status, 403, "the challenge has expired");
        assert_eq!(device.refresh(&browser).status, 200);

        // A browser sends no cookies if a link on another site leads here.
        let cross_site = world.server.browser().with("Origin", "https://other.example");
        world.advance(1);
        assert_eq!(device.refresh(&cross_site).status, 200);
        assert!(cross_site.cookies.borrow().keys().any(|name| name.starts_with(BOUND)));

        let mut other = Device::new();
        other.session.clone_from(&device.session);
        assert_eq!(other.send(&browser, None).status, 403);
        world.advance(1);
        assert_eq!(other.refresh(&browser).status, 401, "another key");
        assert_eq!(world.refusals().last().unwrap()["reason"], "WRONG_KEY");

        let (second, mut second_device) = world.bound();
        assert_eq!(
            device.answer(&browser, &second_device.challenge.clone()).status,
            403,
            "of another session"
        );
        let identifier = device.session.clone();
        for odd in ["", "x", "ten_1.x", &format!("{identifier}A")] {
            odd.clone_into(&mut device.session);
            assert_eq!(device.send(&browser, None).status, 401, "{odd}");
        }
        device.session = identifier;
        for odd in ["", "x", "a.b.c", "e30.e30."] {
            assert_eq!(device.send(&browser, Some(odd)).status, 401, "{odd}");
        }
        assert_eq!(second.post("/api/auth/sign-out", &json!({})).status, 200);
        world.advance(1);
        assert_eq!(second_device.refresh(&second).status, 401, "the session has ended");
    });
}

#[test]
fn a_session_is_bound_once_and_only_right_after_sign_in() {
    on_both(|world| {
        let (browser, mut device) = (world.server.browser(), Device::new());
        let signed_in = world.sign_in(&browser);
        let late = world.sign_in(&world.server.browser());
        assert_eq!(device.register(&browser, &signed_in).status, 200);
        assert_eq!(Device::new().register(&browser, &signed_in).status, 401, "bound already");
        assert_eq!(device.register(&browser, &late).status, 401, "the key of another session");
        let proof = device.proof(&device.challenge);
        let sent = browser.with("Secure-Session-Response", &proof);
        assert_eq!(sent.post("/api/auth/device-session", &json!({})).status, 401, "another challenge");
        assert_eq!(browser.post("/api/auth/device-session", &json!({})).status, 401, "no proof");
        world.advance(120);
        assert_eq!(Device::new().register(&world.server.browser(), &late).status, 401, "too late");
        // Only sign-ins ask for a key. Otherwise a thief of the cookie could bind the session.
        for answer in
            [browser.post("/api/me/sessions/heartbeat", &json!({})), browser.get("/account/security")]
        {
            assert_eq!((answer.status, answer.header(REGISTRATION)), (200, ""));
        }
        assert!(browser.get("/account/security").text.contains("bound to the device"));
    });
}

#[test]
fn a_session_stays_bound_when_it_gets_another_id_and_ends_without_its_cookie() {
    on_both(|world| {
        let (browser, mut device) = world.bound();
        let before = browser.cookie("as_sid");
        let mut authenticator = authenticator();
        "https://gate.example".clone_into(&mut authenticator.origin);
        let enrolled = enrol(&browser, &mut authenticator);
        assert_eq!((enrolled.status, enrolled.header(REGISTRATION)), (200, ""), "{}", enrolled.text);
        assert_ne!(browser.cookie("as_sid"), before);
        assert_eq!(status(&browser), 200);
        world.advance(1);
        assert_eq!(device.refresh(&browser).status, 200);

        let kept = copied(&browser);
        expire(&browser);
        assert_eq!(status(&browser), 401);
        let answer = browser.post("/api/auth/sign-out", &json!({}));
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.cookie_attributes(BOUND).contains("Max-Age=0"));
        assert_eq!(status(&kept), 401, "the session has ended");
        let answer = world.server.browser().sign_in(&world.ada.email, world.ada.password);
        assert_eq!(answer.json()["status"], "MFA_REQUIRED");
        assert_eq!(answer.header(REGISTRATION), "", "the sign-in is not complete");
    });
}

#[test]
fn a_browser_with_two_bound_sessions_keeps_their_cookies_apart() {
    on_both(|world| {
        let (browser, mut first) = world.bound();
        // A sign-in through an identity provider starts without the cookies of the previous session, which stays.
        let (elsewhere, mut second) = world.bound();
        for (name, value) in elsewhere.cookies.borrow().iter() {
            browser.set(name, value);
        }
        world.advance(1);
        assert_eq!((first.refresh(&browser).status, second.refresh(&browser).status), (200, 200));
        assert_eq!(status(&browser), 200);
        // The browser forgets a session that has ended without a request.
        world.advance(13 * 3600);
        assert_eq!(first.refresh(&browser).status, 403, "the challenge has expired");
        assert_eq!(first.refresh(&browser).status, 401, "the session is idle");
    });
}

#[test]
fn copied_cookies_get_no_challenge_to_bind_the_session() {
    on_both(|world| {
        let browser = world.server.browser();
        world.sign_in(&browser);
        let continued = browser.post("/api/auth/sign-in/continue", &json!({}));
        assert_eq!(continued.json()["status"], "SIGNED_IN", "{}", continued.text);
        assert_eq!(continued.header(REGISTRATION), "");
        let mut authenticator = authenticator();
        "https://gate.example".clone_into(&mut authenticator.origin);
        let enrolled = enrol(&browser, &mut authenticator);
        assert_eq!((enrolled.status, enrolled.header(REGISTRATION)), (200, ""));
    });
}

#[test]
fn a_bound_session_creates_no_tokens_long_after_its_sign_in() {
    on_both(|world| {
        let (browser, mut device) = world.bound();
        let read = json!({ "name": "CI", "scopes": ["read:profile"] });
        assert_eq!(browser.post("/api/me/tokens", &read).status, 200);
        world.advance(11 * 60);
        assert_eq!(device.refresh(&browser).status, 200);
        let late = browser.post("/api/me/tokens", &read);
        assert_eq!((late.status, &late.json()["code"]), (401, &json!("REAUTH_REQUIRED")), "{}", late.text);
    });
}

#[test]
fn browsers_without_bound_sessions_see_no_change_and_the_setting_turns_them_off() {
    on_both(|world| {
        let browser = world.server.browser();
        world.sign_in(&browser);
        world.advance(3600);
        assert_eq!(status(&browser), 200);

        let (browser, mut device) = world.bound();
        expire(&browser);
        assert_eq!(status(&browser), 401);
        world.server.second_with(&SETTINGS[..1], |address| {
            let (other, fresh) = (browser.at(address), Browser::new(address));
            assert_eq!(status(&other), 200, "no cookie is required");
            let challenge = device.challenge.clone();
            assert_eq!(device.answer(&other, &challenge).status, 404, "the browser forgets the session");
            assert_eq!(other.post("/api/auth/device-session", &json!({})).status, 404);
            assert_eq!(world.sign_in(&fresh).header(REGISTRATION), "");
            let cleared = fresh.post("/api/auth/sign-out", &json!({})).cookies();
            assert!(!cleared.is_empty() && cleared.iter().all(|cookie| !cookie.name().starts_with(BOUND)));
        });
    });
}
