//! A burst of sign-ins: hashing passwords does not delay other requests, and no sign-in is refused.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use directory::Role;
use store::testing::Kind;

use crate::support::{Browser, Server};

/// Returns the 99th percentile.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

#[test]
fn two_hundred_concurrent_sign_ins_succeed() {
    // Default request limits and the default hashing cost.
    let server = Server::start(
        Kind::Sqlite,
        &[("trusted_proxies", "127.0.0.1"), ("max_in_flight", "128"), ("password_cost", "4096,1,1")],
    );
    let tenant = server.tenant("acme");
    let people: Vec<_> =
        (0..200).map(|n| server.person(&tenant, &format!("u{n}@example.com"), Role::Member)).collect();
    let ask = || {
        let start = Instant::now();
        let answer = tenant.scim.get("/api/scim/v2/Users?count=1");
        assert_eq!(answer.status, 200, "{}", answer.text);
        start.elapsed()
    };
    let idle = p99((0..500).map(|_| ask()).collect());
    let over = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                times.push(ask());
            }
            times
        });
        let threads: Vec<_> = people
            .iter()
            .enumerate()
            .map(|(n, person)| {
                let browser = Browser::new(server.address)
                    .with("X-Forwarded-For", &format!("203.0.{}.{}", n / 250, n % 250 + 1));
                scope.spawn(move || browser.sign_in(&person.email, person.password))
            })
            .collect();
        for thread in threads {
            let answer = thread.join().unwrap();
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
        over.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    });
    println!(
        "p99 of others: {idle:?} idle, {:?} in a burst of 200 sign-ins, {} asked",
        p99(busy.clone()),
        busy.len()
    );
    assert!(busy.len() >= 10, "other requests were served meanwhile");
}
