//! Requests as sent, reuse of connections, and responses as returned.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use webhooks::client::{self, AddressGuard, Client, ClientSettings, Failure, Resolve};

use crate::{
    receiver::{
        Receiver,
        Step::{self, Answer, Hang, Read, ReadHead, Send, Serve},
    },
    support::{Names, PATIENT, Proof, RECEIVER, Silent, Trap, client_of, local_client},
};

async fn post(client: &Client, url: &str) -> Result<client::Answer, Failure> {
    let target = client.guard().target(url).unwrap();
    client.post(&target, HeaderMap::new(), Bytes::from_static(b"{}")).await
}

/// Splits a request into its first line, sorted header fields, and body.
fn parts(request: &str) -> (String, Vec<String>, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines().map(ToOwned::to_owned);
    let first = lines.next().unwrap();
    let mut fields: Vec<_> = lines.collect();
    fields.sort();
    (first, fields, body.to_owned())
}

#[tokio::test]
async fn requests_contain_only_the_callers_headers() {
    let receiver = Receiver::plain(&[Serve]).await;
    let client = local_client(PATIENT);
    let target = client.guard().target(&receiver.url()).unwrap();
    let headers = HeaderMap::from_iter([
        (header::USER_AGENT, HeaderValue::from_static("Gatehouse/1")),
        (header::HOST, HeaderValue::from_static("127.0.0.1")),
        (header::CONTENT_LENGTH, HeaderValue::from_static("1")),
        (header::TRANSFER_ENCODING, HeaderValue::from_static("chunked")),
        (header::CONNECTION, HeaderValue::from_static("close")),
        (header::EXPECT, HeaderValue::from_static("100-continue")),
    ]);
    client.post(&target, headers.clone(), Bytes::from_static(b"hello")).await.unwrap();
    client.post(&target, HeaderMap::new(), Bytes::new()).await.unwrap();
    client.get(&target, headers, 10).await.unwrap();
    let host = format!("host: {RECEIVER}:{}", receiver.port());
    let agent = "user-agent: Gatehouse/1".to_owned();
    let expected = [
        (
            "POST /hook?a=b HTTP/1.1".to_owned(),
            vec!["content-length: 5".to_owned(), host.clone(), agent.clone()],
            "hello".to_owned(),
        ),
        (
            "POST /hook?a=b HTTP/1.1".to_owned(),
            vec!["content-length: 0".to_owned(), host.clone()],
            String::new(),
        ),
        ("GET /hook?a=b HTTP/1.1".to_owned(), vec![host, agent], String::new()),
    ];
    let heard: Vec<_> = receiver.requests().iter().map(|request| parts(request)).collect();
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn responses_are_returned_unchanged() {
    const GZIP: &[Step] = &[
        Read,
        Send(
            "HTTP/1.1 503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\nContent-Type: text/plain\r\n\
             Content-Encoding: gzip\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\nnope",
        ),
    ];
    let receiver = Receiver::plain(GZIP).await;
    let client = local_client(PATIENT);
    let answer = post(&client, &receiver.url()).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (503, b"nope".as_slice()),
        "the body is returned without decompression"
    );
    assert_eq!(answer.retry_after.as_deref(), Some("Fri, 31 Dec 1999 23:59:59 GMT"));
    assert_eq!(answer.content_type.as_deref(), Some("text/plain"));
    assert!(!answer.elapsed.is_zero() && answer.elapsed < PATIENT);
    post(&client, &receiver.url()).await.unwrap();
    let sent = receiver.requests().concat();
    assert!(!sent.contains("cookie") && !sent.contains("accept"), "{sent}");
}

#[tokio::test]
async fn bodies_are_limited_in_size() {
    let receiver = Receiver::plain(&[Read, Answer(64 * 1024), Read, Answer(5_000), Hang]).await;
    let client = local_client(PATIENT);
    let target = client.guard().target(&receiver.url()).unwrap();
    let posted = post(&client, &receiver.url()).await.unwrap();
    assert_eq!(posted.body, vec![b'x'; 4_096]);
    let got = client.get(&target, HeaderMap::new(), 5_000).await.unwrap();
    assert_eq!(got.body, vec![b'x'; 5_000]);
    assert_eq!(receiver.accepted(), 1, "the rest of the body was read");
    let other = Receiver::plain(&[Read, Answer(5_000), Hang]).await;
    let target = client.guard().target(&other.url()).unwrap();
    assert_eq!(client.get(&target, HeaderMap::new(), 4_999).await, Err(Failure::TooLarge));
}

#[test]
fn clients_are_printed_with_their_limits() {
    let settings = format!("{:?}", ClientSettings::default());
    assert!(settings.contains("time_limit: 15s") && settings.contains("extra_roots: 0"), "{settings}");
    let client = format!("{:?}", local_client(PATIENT));
    assert!(client.contains("127.0.0.1") && client.contains("allow_http: true"), "{client}");
}

#[test]
fn debug_text_of_a_target_has_no_path_or_query() {
    let url = "https://example.com/hook?token=secret";
    let target = local_client(PATIENT).guard().target(url).unwrap();
    assert_eq!(target.to_string(), url);
    assert_eq!(format!("{target:?}"), r#"Target("example.com")"#);
}

#[tokio::test]
async fn connections_are_reused() {
    let client = local_client(PATIENT);
    for receiver in [Receiver::plain(&[Serve]).await, Receiver::tls(Proof::Good, &[Serve]).await] {
        for _ in 0..20 {
            assert_eq!(post(&client.clone(), &receiver.url()).await.unwrap().body, b"ok");
        }
        assert_eq!((receiver.accepted(), receiver.requests().len()), (1, 20));
    }
}

#[tokio::test]
async fn request_is_retried_if_a_reused_connection_is_closed() {
    const ONCE: &[Step] = &[Read, Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), Read];
    let client = local_client(PATIENT);
    for receiver in [Receiver::plain(ONCE).await, Receiver::tls(Proof::Good, ONCE).await] {
        for _ in 0..5 {
            assert_eq!(post(&client, &receiver.url()).await.unwrap().body, b"ok");
        }
        assert!(receiver.accepted() >= 5, "each connection serves one request");
    }
}

#[tokio::test]
async fn request_is_not_retried_if_a_new_connection_is_closed() {
    let receiver = Receiver::plain(&[Read]).await;
    assert_eq!(post(&local_client(PATIENT), &receiver.url()).await, Err(Failure::Protocol));
    assert_eq!((receiver.accepted(), receiver.requests().len()), (1, 1));
}

#[tokio::test]
async fn request_is_not_retried_after_an_invalid_response() {
    const ODD: &[Step] = &[
        Read,
        Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        Read,
        Send("HTTP/9 what\r\n\r\n"),
        Hang,
    ];
    let (client, receiver) = (local_client(PATIENT), Receiver::plain(ODD).await);
    assert_eq!(post(&client, &receiver.url()).await.unwrap().status, 200);
    assert_eq!(post(&client, &receiver.url()).await, Err(Failure::Protocol));
    assert_eq!((receiver.accepted(), receiver.requests().len()), (1, 2));
}

#[tokio::test]
async fn dns_rebinding_is_blocked() {
    const CLOSES: &[Step] =
        &[Read, Send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")];
    let trap = Trap::new().await;
    // The only allowed address is 127.0.0.2; 127.0.0.1 on the same port must never be reached.
    let receiver = Receiver::plain_on(&format!("127.0.0.2:{}", trap.port()), CLOSES).await;
    let names = Arc::new(Names::new().with("rebinds.test", &[&["127.0.0.2"], &["127.0.0.1"]]));
    let guard = AddressGuard::new(vec!["127.0.0.2/32".parse().unwrap()], true);
    let client = client_of(guard, PATIENT, Shared(Arc::clone(&names)));
    let url = format!("http://rebinds.test:{}/", trap.port());
    assert_eq!(post(&client, &url).await.unwrap().status, 200);
    assert_eq!(
        (names.asked(), receiver.accepted()),
        (1, 1),
        "one DNS lookup serves the check and the connection"
    );
    assert_eq!(post(&client, &url).await, Err(Failure::Blocked));
    assert_eq!((names.asked(), receiver.accepted()), (2, 1));
    trap.assert_silent().await;
}

#[tokio::test]
async fn next_address_is_tried_if_one_refuses() {
    let receiver = Receiver::plain(&[Serve]).await;
    let names = Names::new().with("two.test", &[&["127.0.0.3", "127.0.0.1"]]);
    let client = client_of(AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap()], true), PATIENT, names);
    let answer = post(&client, &format!("http://two.test:{}/", receiver.port())).await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn next_address_is_tried_if_one_does_not_answer() {
    let receiver = Receiver::plain(&[Serve]).await;
    let silent = Silent::on(&format!("127.0.0.3:{}", receiver.port())).await;
    let names = Names::new().with("two.test", &[&["127.0.0.3", "127.0.0.1"]]);
    let guard = AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap()], true);
    let client = client_of(guard, Duration::from_secs(10), names);
    let answer = post(&client, &format!("http://two.test:{}/", receiver.port())).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.elapsed >= Duration::from_secs(5), "the first address used half of the time");
    drop(silent);
}

#[tokio::test]
async fn each_client_checks_targets_with_its_own_guard() {
    let trap = Trap::new().await;
    let lenient = local_client(PATIENT);
    let encrypted = AddressGuard::new(vec!["127.0.0.1/32".parse().unwrap()], false);
    let strict = client_of(encrypted, PATIENT, Names::new());
    let target = lenient.guard().target(&format!("http://{RECEIVER}:{}/", trap.port())).unwrap();
    assert_eq!(strict.post(&target, HeaderMap::new(), Bytes::new()).await, Err(Failure::Blocked));
    trap.assert_silent().await;
}

#[tokio::test]
async fn response_before_the_end_of_the_request_is_returned() {
    const EARLY: &[Step] = &[ReadHead, Send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"), Hang];
    let receiver = Receiver::plain(EARLY).await;
    let client = local_client(PATIENT);
    let target = client.guard().target(&receiver.url()).unwrap();
    let answer = client.post(&target, HeaderMap::new(), Bytes::from(vec![0; 8 << 20])).await;
    assert!(matches!(answer, Ok(client::Answer { status: 413, .. })), "{answer:?}");
}

struct Shared(Arc<Names>);

#[async_trait::async_trait]
impl Resolve for Shared {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        self.0.resolve(host).await
    }
}
