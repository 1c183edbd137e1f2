//! Concurrent attempts: exactly the allowed number succeeds.

use std::sync::Barrier;

use directory::Role;
use serde_json::Value;

use super::enrolment::{codes, enrol_totp};
use crate::support::{Answer, Browser, Server, code, on_both};

/// Sends the same request from this many threads, half of them to a second instance.
pub(crate) fn at_once(
    server: &Server,
    many: usize,
    send: impl Fn(&Browser, usize) -> Answer + Sync,
) -> Vec<Answer> {
    let mut answers = Vec::new();
    server.second(|second| {
        let barrier = Barrier::new(many);
        answers = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..many)
                .map(|index| {
                    let address = if index % 2 == 0 { server.address } else { second };
                    let (barrier, send) = (&barrier, &send);
                    scope.spawn(move || {
                        let browser = Browser::new(address);
                        barrier.wait();
                        send(&browser, index)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
    });
    answers
}

pub(super) fn with_status(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[test]
fn concurrent_use_of_one_code_signs_in_once() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let recovery = codes(&browser);
        let tickets: Vec<Value> = (0..8)
            .map(|_| server.browser().sign_in(&ada.email, ada.password).json()["ticket"].clone())
            .collect();
        let now = code(&secret, server, 1);
        let answers = at_once(server, 4, |browser, index| browser.verify(&tickets[index], "TOTP", &now));
        assert_eq!((with_status(&answers, 200), with_status(&answers, 401)), (1, 3), "{answers:?}");
        let answers = at_once(server, 4, |browser, index| {
            browser.verify(&tickets[4 + index], "RECOVERY_CODE", &recovery[0])
        });
        assert_eq!((with_status(&answers, 200), with_status(&answers, 401)), (1, 3), "{answers:?}");
        // One ticket yields one session.
        let ticket = server.browser().sign_in(&ada.email, ada.password).json()["ticket"].clone();
        let answers = at_once(server, 4, |browser, index| {
            browser.verify(&ticket, "RECOVERY_CODE", &recovery[1 + index])
        });
        assert_eq!(with_status(&answers, 200), 1, "{answers:?}");
    });
}

#[test]
fn concurrent_guesses_do_not_exceed_the_limit() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let answers = at_once(server, 64, |browser, _| browser.sign_in(&ada.email, "wrong"));
        assert_eq!((with_status(&answers, 401), with_status(&answers, 429)), (10, 54));
    });
}
