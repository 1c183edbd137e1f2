//! Runs all cases of the table concurrently.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use tokio::{task::JoinSet, time::Instant};
use webhooks::client::{
    AddressGuard, Answer, Client,
    Failure::{self, Blocked, Timeout},
    SystemResolver,
    UrlError::TooLong,
};

use crate::{
    receiver::{
        Receiver,
        Step::{self, Send},
    },
    support::{Names, PATIENT, SHORT, Trap, client_of, local_client, unused},
    table::{
        Outcome::{self, Fails, Literal, Refused, Status},
        TABLE,
        Try::{self, Get, Name, NeverTaken, Nobody, NotTls, Post, SilentNames, Tls, UnknownName, Url},
    },
};

/// The clients: patient ones, and ones with a short time limit.
struct Clients {
    /// Allow loopback and unencrypted http.
    local: [Client; 2],
    /// Allow only global addresses; `row-{number}.test` resolves to the addresses in the table.
    strict: [Client; 2],
    /// The same, with the system's resolver.
    system: Client,
}

impl Clients {
    fn new() -> Self {
        let names = || {
            TABLE.iter().enumerate().fold(Names::new(), |names, (number, (_, attempt, _))| match attempt {
                Name(addresses) => names.with(&format!("row-{number}.test"), &[addresses]),
                _ => names,
            })
        };
        Self {
            local: [PATIENT, SHORT].map(local_client),
            strict: [PATIENT, SHORT].map(|limit| client_of(AddressGuard::default(), limit, names())),
            system: client_of(AddressGuard::default(), PATIENT, SystemResolver::default()),
        }
    }
}

async fn post(client: &Client, url: &str) -> Outcome {
    let target = match client.guard().target(url) {
        Ok(target) => target,
        Err(error) => return Refused(error),
    };
    let result = client.post(&target, HeaderMap::new(), Bytes::from_static(b"{}")).await;
    match (client.guard().check_literal(&target), outcome(result)) {
        (true, outcome) => outcome,
        (false, Fails(Blocked)) => Literal,
        (false, other) => panic!("{url} was blocked, but the result is {other:?}"),
    }
}

async fn get(client: &Client, url: &str) -> Outcome {
    let target = client.guard().target(url).unwrap();
    outcome(client.get(&target, HeaderMap::new(), 1_000).await)
}

fn outcome(result: Result<Answer, Failure>) -> Outcome {
    result.map_or_else(Fails, |answer| Status(answer.status))
}

fn with_trap(steps: &'static [Step], trap: u16) -> &'static [Step] {
    let replaced = |step: &Step| match step {
        Send(text) => Send(text.replace("{trap}", &trap.to_string()).leak()),
        other => *other,
    };
    steps.iter().map(replaced).collect::<Vec<_>>().leak()
}

async fn attempt(number: usize, attempt: Try, is_patient: bool, trap: u16, clients: &Clients) -> Outcome {
    let [local, strict] =
        [&clients.local, &clients.strict].map(|[patient, short]| if is_patient { patient } else { short });
    match attempt {
        Url(url) => post(&clients.system, &url.replace("{trap}", &trap.to_string())).await,
        Name(_) | UnknownName => post(strict, &format!("https://row-{number}.test:{trap}/")).await,
        SilentNames => post(strict, "https://slow.test/").await,
        Post(steps) => {
            let receiver = Receiver::plain(with_trap(steps, trap)).await;
            post(local, &receiver.url()).await
        }
        Get(steps) => {
            let receiver = Receiver::plain(with_trap(steps, trap)).await;
            get(local, &receiver.url()).await
        }
        Tls(proof, steps) => {
            let receiver = Receiver::tls(proof, steps).await;
            post(local, &receiver.url()).await
        }
        NotTls(steps) => {
            let receiver = Receiver::plain(steps).await;
            post(local, &receiver.url().replace("http://", "https://")).await
        }
        Nobody => post(local, &format!("http://{}/", unused().await)).await,
        NeverTaken => {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            post(local, &format!("http://{}/", listener.local_addr().unwrap())).await
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_hostile_case_ends_as_expected_and_in_time() {
    let (trap, clients) = (Trap::new().await, Arc::new(Clients::new()));
    let mut rows = JoinSet::new();
    for (number, (name, tried, expected)) in TABLE.iter().enumerate() {
        let (clients, port) = (Arc::clone(&clients), trap.port());
        rows.spawn(async move {
            let (start, is_patient) = (Instant::now(), *expected != Fails(Timeout));
            let came = attempt(number, *tried, is_patient, port, &clients).await;
            let took = start.elapsed();
            let in_time = if is_patient { took < PATIENT } else { SHORT <= took && took < PATIENT };
            (came != *expected || !in_time)
                .then(|| format!("{name}: {came:?} after {took:?}, expected {expected:?}"))
        });
    }
    let mut wrong: Vec<_> = rows.join_all().await.into_iter().flatten().collect();
    wrong.sort();
    assert!(wrong.is_empty(), "{wrong:#?}");
    trap.assert_silent().await;
}

#[test]
fn case_names_are_unique() {
    let mut names: Vec<_> = TABLE.iter().map(|(name, ..)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), TABLE.len(), "names in the table are unique");
}

#[test]
fn urls_are_limited_in_length_and_normalized() {
    let guard = AddressGuard::default();
    let path =
        |length: usize| format!("https://a.example/{}", "x".repeat(length - "https://a.example/".len()));
    assert_eq!(guard.target(&path(2_048)).unwrap().as_str(), path(2_048));
    assert_eq!(guard.target(&path(2_049)), Err(TooLong));
    assert_eq!(
        guard.target(&format!("https://a.example/{}", "ü".repeat(1_000))),
        Err(TooLong),
        "the limit also applies to the normalized URL"
    );
    let target = guard.target("HTTPS://Bücher.Example:443/a b?c=\u{fc}".replace("a b", "a/../b").as_str());
    assert_eq!(target.unwrap().as_str(), "https://xn--bcher-kva.example/b?c=%C3%BC");
    let secret = guard.target("https://hooks.example/T0/secret").unwrap();
    assert!(!format!("{secret:?}").contains("secret"));
}
