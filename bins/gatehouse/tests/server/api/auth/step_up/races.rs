//! Concurrent requests on two instances: exactly the allowed number succeeds.

use directory::Role;

use super::{
    super::{
        enrolment::enrol_totp,
        races::{at_once, with_status},
    },
    answer_with, challenge, consume,
};
use crate::support::{Answer, Browser, code, on_both};

const SEAL: &str = "PAYROLL_SEAL";
const TOKENS: usize = 40;
const AT_ONCE: usize = 64;

#[test]
fn each_step_up_token_is_consumed_once_by_64_concurrent_requests() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let tokens: Vec<_> = (0..TOKENS).map(|_| server.proof(&browser, SEAL)).collect();
        let cookies = browser.cookies.borrow().clone();
        // All threads use the tokens in the same order without waiting for each other.
        let mut answers: Vec<Vec<(u16, String)>> = Vec::new();
        server.second(|second| {
            answers = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..AT_ONCE)
                    .map(|index| {
                        let address = if index % 2 == 0 { server.address } else { second };
                        let (tokens, cookies) = (&tokens, cookies.clone());
                        scope.spawn(move || {
                            let browser = Browser::new(address);
                            *browser.cookies.borrow_mut() = cookies;
                            let seen = |answer: Answer| (answer.status, answer.text);
                            tokens.iter().map(|token| seen(consume(&browser, token, SEAL))).collect()
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
        });
        for token in 0..TOKENS {
            let of_token: Vec<_> = answers.iter().map(|answers| &answers[token]).collect();
            assert_eq!(of_token.iter().filter(|(status, _)| *status == 200).count(), 1, "{of_token:?}");
            let others = of_token.iter().filter(|(status, _)| *status != 200);
            for (status, text) in others {
                assert!(*status == 401 && text.contains("ALREADY_USED"), "{status} {text}");
            }
        }
        let consumed =
            server.entries(&tenant).iter().filter(|entry| entry.action == "ACCOUNT_STEPUP_CONSUMED").count();
        assert_eq!(consumed, TOKENS);
    });
}

#[test]
fn concurrent_wrong_codes_do_not_exceed_the_limit() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, session) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        enrol_totp(server, &session);
        // The maximum number of open challenges per session. Together they would accept more wrong codes than the
        // session may try.
        let asked: Vec<_> = (0..5).map(|_| challenge(&session, SEAL).json()).collect();
        let cookies = session.cookies.borrow().clone();
        let answers = at_once(server, AT_ONCE, |browser, index| {
            browser.cookies.replace(cookies.clone());
            answer_with(browser, &asked[index % 5], "TOTP", "000000")
        });
        let evaluated = answers.iter().filter(|answer| answer.json()["code"] == "FACTOR_INVALID").count();
        assert_eq!(evaluated, 10);
        // The others met the limit, or a challenge that five wrong codes had closed.
        assert_eq!(with_status(&answers, 401) + with_status(&answers, 429), AT_ONCE);
    });
}

#[test]
fn code_used_concurrently_for_sign_in_and_step_up_works_for_one() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let cookies = browser.cookies.borrow().clone();
        let tickets: Vec<_> = (0..3)
            .map(|_| server.browser().sign_in(&ada.email, ada.password).json()["ticket"].clone())
            .collect();
        let asked: Vec<_> = (0..3).map(|_| challenge(&browser, SEAL).json()).collect();
        let now = code(&secret, server, 1);
        let answers = at_once(server, 6, |browser, index| {
            if let Some(ticket) = tickets.get(index) {
                return browser.verify(ticket, "TOTP", &now);
            }
            *browser.cookies.borrow_mut() = cookies.clone();
            answer_with(browser, &asked[index - 3], "TOTP", &now)
        });
        assert_eq!((with_status(&answers, 200), with_status(&answers, 401)), (1, 5), "{answers:?}");
    });
}
