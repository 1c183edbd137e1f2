//! A service in another process that consumes step-up tokens over HTTP: `crates/stepup/examples/remote.rs`.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use directory::Role;
use serde_json::Value;
use store::testing::Kind;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

use super::{super::enrolment::enrol_totp, TOKEN, token};
use crate::support::{Browser, Server};

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// Sends a request from an address of this machine. Returns status and body.
fn seal(from: &str, to: SocketAddr, browser: &Browser, token: Option<&str>) -> (u16, Value) {
    let cookies: Vec<_> =
        browser.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
    let token = token.map(|token| format!("{TOKEN}: {token}\r\n")).unwrap_or_default();
    let request = format!(
        "POST /payroll/seal HTTP/1.1\r\nHost: payroll\r\nCookie: {}\r\n{token}Content-Length: 0\r\n\
         Connection: close\r\n\r\n",
        cookies.join("; ")
    );
    let from = SocketAddr::new(from.parse().unwrap(), 0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = runtime.block_on(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(from).unwrap();
        let mut stream = socket.connect(to).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    });
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap())
}

#[test]
fn another_service_consumes_a_step_up_token_over_http() {
    for kind in Kind::ALL {
        // The service is a trusted proxy, so it can forward the user's address.
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1")]);
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let here = browser.with("X-Forwarded-For", "127.0.0.9");
        let secret = enrol_totp(&server, &here);

        // Examples are built into a folder next to the tests.
        let program = std::env::current_exe().unwrap();
        let program = program.parent().and_then(Path::parent).unwrap().join("examples/remote");
        let mut command = Command::new(program);
        command
            .arg(format!("http://{}", server.address))
            .arg("127.0.0.1:0")
            .arg(tenant.id.as_str())
            .stdout(Stdio::piped());
        let mut running = Running(command.spawn().expect("`cargo test --workspace` builds the examples"));
        let mut line = String::new();
        BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let payroll: SocketAddr = line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();

        let (status, refusal) = seal("127.0.0.9", payroll, &here, None);
        assert_eq!((status, &refusal["code"]), (401, &"STEP_UP_REQUIRED".into()), "{refusal}");
        let token = token(&server, &here, &secret, "PAYROLL_SEAL");
        let (status, refusal) = seal("127.0.0.8", payroll, &here, Some(&token));
        assert_eq!((status, &refusal["reason"]), (401, &"IP_MISMATCH".into()), "{refusal}");
        let (status, sealed) = seal("127.0.0.9", payroll, &here, Some(&token));
        assert_eq!((status, &sealed["by"]), (200, &ada.id.as_str().into()), "{sealed}");
        let (status, refusal) = seal("127.0.0.9", payroll, &here, Some(&token));
        assert_eq!((status, &refusal["reason"]), (401, &"ALREADY_USED".into()), "{refusal}");
    }
}
