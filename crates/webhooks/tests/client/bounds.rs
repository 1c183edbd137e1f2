//! Limits on the cost of responses, and independence from the environment. Both concern the whole process, so each
//! test runs in its own process.

use std::{
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use tokio::time::{interval, sleep, timeout};
use webhooks::client::Failure;

use crate::{
    receiver::{
        Receiver,
        Step::{self, Forever, Hang, Read, Send, Serve},
    },
    support::{PATIENT, Proof, SHORT, Trap, local_client},
};

/// Set in the child process that runs the test.
const MARK: &str = "WEBHOOKS_CLIENT_TEST_CHILD";

/// Returns whether this is the child process.
fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Runs one test in a child process, where [`is_child`] is true.
fn run_alone(test: &str, environment: &[(&str, String)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}

#[tokio::test]
async fn no_proxy_of_the_environment_is_asked() {
    if is_child() {
        assert!(std::env::var_os("HTTPS_PROXY").is_some());
        let client = local_client(PATIENT);
        for receiver in [Receiver::plain(&[Serve]).await, Receiver::tls(Proof::Good, &[Serve]).await] {
            let target = client.guard().target(&receiver.url()).unwrap();
            assert_eq!(client.get(&target, HeaderMap::new(), 10).await.unwrap().body, b"ok");
        }
        return;
    }
    let trap = Trap::new().await;
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let mut environment = names.map(|name| (name, format!("http://127.0.0.1:{}", trap.port()))).to_vec();
    environment.extend([("NO_PROXY", String::new()), ("no_proxy", String::new())]);
    let run = move || run_alone("bounds::no_proxy_of_the_environment_is_asked", &environment);
    tokio::task::spawn_blocking(run).await.unwrap();
    trap.assert_silent().await;
}

/// Returns the resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4
}

#[tokio::test]
async fn no_answer_makes_the_process_grow() {
    if !is_child() {
        let run = || run_alone("bounds::no_answer_makes_the_process_grow", &[]);
        return tokio::task::spawn_blocking(run).await.unwrap();
    }
    // Only the cases that must time out use the short limit; the others must not time out on a busy machine.
    let [client, hasty] = [PATIENT, SHORT].map(local_client);
    let target = |receiver: &Receiver| client.guard().target(&receiver.url()).unwrap();
    for receiver in [Receiver::plain(&[Serve]).await, Receiver::tls(Proof::Good, &[Serve]).await] {
        client.get(&target(&receiver), HeaderMap::new(), 10).await.unwrap();
    }
    let before = resident();
    let peak = Arc::new(AtomicU64::new(before));
    let seen = Arc::clone(&peak);
    let watching = tokio::spawn(async move {
        let mut ticks = interval(Duration::from_millis(1));
        loop {
            ticks.tick().await;
            seen.fetch_max(resident(), Ordering::SeqCst);
        }
    });
    for (steps, expected) in ENDLESS {
        let receiver = Receiver::plain(steps).await;
        let client = if *expected == Err(Failure::Timeout) { &hasty } else { &client };
        let posted = client.post(&target(&receiver), HeaderMap::new(), Bytes::from_static(b"{}")).await;
        assert_eq!(posted.map(|answer| answer.status), *expected, "{steps:?}");
        let got = client.get(&target(&receiver), HeaderMap::new(), 64 * 1024).await;
        assert_eq!(got.map(|answer| answer.status), expected.and(Err(Failure::TooLarge)), "{steps:?}");
    }
    watching.abort();
    let grown = peak.load(Ordering::SeqCst) - before;
    assert!(grown < 1_024, "memory grew by {grown} KiB");
    let control = std::hint::black_box(vec![1_u8; 8 << 20]);
    assert!(resident() > before + 7_000, "the measurement notices allocated memory: {}", control.len());
}

#[rustfmt::skip]
const ENDLESS: &[(&[Step], Result<u16, Failure>)] = &[
    (&[Read, Send("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n"), Forever("x")], Ok(200)),
    (&[Read, Send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"), Forever("\0")], Ok(200)),
    (&[Read, Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Forever("1\r\nx\r\n")], Ok(200)),
    (&[Read, Send("HTTP/1.1 200 OK\r\n"), Forever("X-Filler: aaaaaaaa\r\n")], Err(Failure::Protocol)),
    (&[Read, Send("HTTP/1.1 200 OK\r\nX-Filler: "), Forever("a")], Err(Failure::Protocol)),
    (&[Read, Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"), Forever("X-Filler: aaaaaaaa\r\n")], Err(Failure::Protocol)),
    (&[Read, Forever("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")], Err(Failure::Timeout)),
];

/// A receiver that does not read must not keep an abandoned connection open.
#[tokio::test]
async fn nothing_is_left_of_an_exchange_that_was_cut_off() {
    let client = local_client(SHORT);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let ask = async |receiver: &Receiver, body| {
        let target = client.guard().target(&receiver.url()).unwrap();
        client.post(&target, HeaderMap::new(), body).await.map(|answer| answer.status)
    };
    // The client's task for idle connections starts with the first request and is not counted.
    let served = Receiver::plain(&[Serve]).await;
    assert_eq!(ask(&served, Bytes::new()).await, Ok(200));
    for proof in [None, Some(Proof::Good)] {
        let before = tasks();
        let receiver = match proof {
            None => Receiver::plain(&[Hang]).await,
            Some(proof) => Receiver::tls(proof, &[Hang]).await,
        };
        assert_eq!(ask(&receiver, Bytes::from(vec![0; 32 << 20])).await, Err(Failure::Timeout));
        // The receiver has one task that listens and one that hangs. All of the client's tasks must end.
        until(|| tasks() == before + 2).await;
        drop(receiver);
        until(|| tasks() == before).await;
    }
}

async fn until(holds: impl Fn() -> bool) {
    let looking = async {
        while !holds() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENT, looking).await.unwrap();
}
