//! The receiver of another implementation, from discovery to the acknowledged token.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use easyssf_receiver::{
    BoxError, SsfReceiver,
    config::{SsfDeliveryMethodConfig, SsfReceiverConfig, SsfStreamManagement},
    event::SsfEventContext,
    http::{SsfHttpClient, SsfHttpRequest, SsfHttpResponse},
};
use serde_json::{Value, json};

use super::Site;
use crate::support::{Caller, Server, Sink, eventually, on_both};

/// Sends the receiver's requests to the server of the test.
struct ToServer(Caller);

#[async_trait]
impl SsfHttpClient for ToServer {
    async fn execute(&self, request: SsfHttpRequest) -> Result<SsfHttpResponse, BoxError> {
        let mut caller = self.0.clone();
        let mut content_type = None;
        for (name, value) in &request.headers {
            if name.eq_ignore_ascii_case("content-type") {
                content_type = Some(value.clone());
            } else {
                caller = caller.with(name, value);
            }
        }
        let path = request.url[url::Position::BeforePath..].to_owned();
        let (method, body) = (request.method.clone(), request.body.clone().unwrap_or_default());
        let send = move || caller.send(&method, &path, content_type.as_deref(), &body);
        let answer = tokio::task::spawn_blocking(send).await?;
        let mut response = SsfHttpResponse::new(answer.status, answer.text.clone());
        for (name, value) in &answer.headers {
            response = response.with_header(name.as_str(), value.to_str()?);
        }
        Ok(response)
    }
}

/// A receiver, and the types of the events that it has handled with their users.
struct Outside {
    receiver: SsfReceiver,
    handled: Arc<Mutex<Vec<(String, Value)>>>,
    runtime: tokio::runtime::Runtime,
}

impl Outside {
    fn new(site: &Site, server: &Server, token: &str, change: impl FnOnce(&mut SsfReceiverConfig)) -> Self {
        let issuer = site.admin.get(super::RECEIVERS).json()["issuer"].as_str().unwrap().to_owned();
        let mut config = SsfReceiverConfig::for_transmitter(&issuer);
        let transmitter = &mut config.transmitter;
        transmitter.allow_insecure_http = true;
        transmitter.expected_audience = Some("https://payroll.example/".into());
        transmitter.transmitter_access_token = Some(token.to_owned());
        transmitter.stream.management = SsfStreamManagement::Receiver;
        transmitter.stream.events_requested =
            ["CaepSessionRevoked", "CaepCredentialChange", "RiscAccountDisabled", "RiscAccountPurged"]
                .map(str::to_owned)
                .to_vec();
        transmitter.stream.events_requested.push("urn:ietf:params:scim:event:prov:create:notice".into());
        change(&mut config);
        let handled = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&handled);
        let handler = move |context: SsfEventContext| {
            let seen = Arc::clone(&seen);
            async move {
                let subject = serde_json::to_value(context.event_token().subject_id())?;
                for uri in context.event_types() {
                    let short = uri.rsplit_once("/event-type/").map_or(uri.as_str(), |(_, short)| short);
                    seen.lock().unwrap().push((short.to_owned(), subject.clone()));
                }
                Ok(())
            }
        };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let inside = runtime.enter();
        let receiver = SsfReceiver::builder(config)
            .http_client(ToServer(server.anonymous()))
            .handler(handler)
            .build()
            .unwrap();
        drop(inside);
        Self { receiver, handled, runtime }
    }

    fn start(&self) {
        let _inside = self.runtime.enter();
        self.receiver.start();
    }

    fn types(&self) -> Vec<String> {
        let mut types: Vec<_> = self.handled.lock().unwrap().iter().map(|(kind, _)| kind.clone()).collect();
        types.sort();
        types.dedup();
        types
    }
}

/// Changes that result in an event of each requested type but one.
fn change_users(site: &Site) {
    let user = site.create_user("ada@example.com");
    let path = format!("/api/scim/v2/Users/{user}");
    let off = json!([{ "op": "replace", "path": "active", "value": false }]);
    assert_eq!(site.tenant.scim.operations(&path, &off).status, 200);
    assert_eq!(site.tenant.scim.delete(&path).status, 204);
}

const EXPECTED: [&str; 3] =
    ["account-disabled", "account-purged", "urn:ietf:params:scim:event:prov:create:notice"];

/// Returns the path of a new receiver and its token.
fn with_token(site: &Site) -> String {
    let replaced = site.admin.send("POST", &format!("{}/replace-token", site.path), None).json();
    replaced["token"].as_str().unwrap().to_owned()
}

#[test]
fn outside_receiver_polls_verifies_and_acknowledges() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let outside = Outside::new(&site, server, &with_token(&site), |config| {
            config.transmitter.delivery_method = SsfDeliveryMethodConfig::Poll;
            config.transmitter.poll.interval = Duration::from_millis(50);
            config.transmitter.poll.initial_delay = Duration::ZERO;
        });
        outside.start();
        eventually(|| site.admin.get(&site.path).json()["stream"]["status"] == "enabled");
        change_users(&site);
        eventually(|| EXPECTED.iter().all(|kind| outside.types().contains(&(*kind).to_owned())));
        eventually(|| site.admin.get(&site.path).json()["stream"]["pending"] == 0);
        outside.runtime.block_on(outside.receiver.shutdown());
    });
}

#[test]
fn outside_receiver_accepts_pushed_tokens() {
    on_both(|server| {
        let (site, sink) = (Site::new(server, "acme"), Sink::start());
        sink.answers("/set", 202, "", "");
        let outside = Outside::new(&site, server, &with_token(&site), |config| {
            config.transmitter.push.expected_auth_header = Some("Bearer s3cr3t".into());
            config.transmitter.push.delivery_endpoint_url = Some(sink.url("/set").parse().unwrap());
        });
        outside.start();
        eventually(|| site.admin.get(&site.path).json()["stream"]["endpointUrl"] == sink.url("/set"));
        change_users(&site);
        eventually(|| site.admin.get(&site.path).json()["stream"]["pending"] == 0);
        let handler = outside.receiver.push_handler();
        for request in sink.received("/set") {
            let handled = handler.handle(Some(request.header("authorization")), request.body.as_bytes());
            let response = outside.runtime.block_on(handled);
            assert!(response.is_accepted(), "{response:?}");
        }
        for kind in EXPECTED {
            assert!(outside.types().contains(&kind.to_owned()), "{kind} is not among {:?}", outside.types());
        }
        outside.runtime.block_on(outside.receiver.shutdown());
    });
}
