//! One SCIM token replaces the members of a large group on many connections, to delay changes of other tenants.

use std::{
    fmt::Write,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Caller, Process, ada, copied_user};

const USERS: &str = "/api/scim/v2/Users";
const GROUPS: &str = "/api/scim/v2/Groups";
/// Users of the attacker. With many more, the change would exceed its time limit in an unoptimized build.
const MANY: usize = 2_500;
/// More than the requests that two workers process under sustained load.
const CONNECTIONS: usize = 48;
/// Duration of the attack.
const LASTS: Duration = Duration::from_secs(8);

/// Returns the body of a group with every second user, starting at this one.
fn half(first: usize) -> Value {
    let members: Vec<_> = (1 + first..=MANY).step_by(2).map(|n| json!({ "value": copied_user(n) })).collect();
    json!({ "displayName": "everybody", "members": members })
}

fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

#[test]
fn other_tenants_are_served_during_large_group_changes() {
    for kind in Kind::ALL {
        let process = Process::on(kind, &[("GATEHOUSE_WORKERS", "2")]);
        let (attackers, neighbours) = (process.tenant("attacker"), process.tenant("neighbour"));
        let server = process.serve();
        let anybody = Caller::anonymous(server.address);
        let (attacker, neighbour) = (anybody.bearer(&attackers), anybody.bearer(&neighbours));
        let user = neighbour.post(USERS, &ada()).json()["id"].as_str().unwrap().to_owned();
        let user = format!("{USERS}/{user}");
        assert_eq!(attacker.post(USERS, &json!({ "userName": "heavy" })).status, 201);
        process.copy_heavy_user(MANY);
        let group = attacker.post(GROUPS, &json!({ "displayName": "everybody" })).json();
        let group = format!("{GROUPS}/{}?excludedAttributes=members", group["id"].as_str().unwrap());

        let mut reads: Vec<_> = (0..200).map(|_| served(&neighbour, &user, None).unwrap()).collect();
        let mut writes: Vec<_> =
            (0..50).map(|n| served(&neighbour, USERS, Some(&named("calm", n))).unwrap()).collect();
        let mut report = format!("on {kind:?}: p99 calm {:?} and {:?}", p99(&mut reads), p99(&mut writes));

        let (over, changed) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let refused = thread::scope(|scope| {
            for connection in 0..CONNECTIONS {
                let (attacker, group, over, changed) = (&attacker, &group, &over, &changed);
                scope.spawn(move || {
                    let body = half(connection % 2);
                    while !over.load(Ordering::Relaxed) {
                        let answer = attacker.put(group, &body);
                        assert!([200, 429, 503].contains(&answer.status), "{}", answer.text);
                        changed.fetch_add(usize::from(answer.status == 200), Ordering::Relaxed);
                    }
                });
            }
            let start = Instant::now();
            let mut one_of_each = || {
                reads.push(served(&neighbour, &user, None)?);
                writes.push(served(&neighbour, USERS, Some(&named("busy", writes.len())))?);
                Ok::<_, String>(())
            };
            let mut done = Ok(());
            while start.elapsed() < LASTS && done.is_ok() {
                done = one_of_each();
            }
            over.store(true, Ordering::Relaxed);
            done.err()
        });
        assert_eq!(refused, None, "on {kind:?} the neighbour was refused");
        let changed = changed.into_inner();
        write!(
            report,
            ", under attack {:?} of {} and {:?}; {changed} changes of the attacker",
            p99(&mut reads),
            reads.len(),
            p99(&mut writes)
        )
        .unwrap();
        println!("{report}");
        assert!(changed > 0, "the attack did nothing");
    }
}

fn named(prefix: &str, number: usize) -> Value {
    json!({ "userName": format!("{prefix}{number}") })
}

/// Returns the duration of another tenant's request, or how it was refused. With a body it creates a user.
fn served(neighbour: &Caller, path: &str, body: Option<&Value>) -> Result<Duration, String> {
    let start = Instant::now();
    let answer = match body {
        Some(body) => neighbour.post(path, body),
        None => neighbour.get(path),
    };
    let took = start.elapsed();
    if answer.status < 300 { Ok(took) } else { Err(format!("{}: {}", answer.status, answer.text)) }
}
