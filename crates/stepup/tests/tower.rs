//! The endpoint and the layer for tower, without a web framework.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::{
    convert::Infallible,
    future::{Ready, poll_fn, ready},
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use axum::body::Bytes;
use http::{HeaderValue, Request, Response, request::Parts};
use http_body::{Body, Frame};
use kernel::{Ctx, MasterKeys, SystemEnv, UserId};
use serde_json::{Value, json};
use stepup::{
    Answer, Caller, Ceremonies, Codes, Consumed, Error, Factor, MemoryStore, Purpose, Service, StepUpStore,
    async_trait, tower::StepUp,
};
use tower_layer::Layer;
use tower_service::Service as TowerService;

const SHIP: Purpose = Purpose::new("SHIP", "Ship a release.");

/// Takes the user from the header `x-user`.
fn caller(parts: &Parts) -> Option<(Ctx, Caller)> {
    let user: i64 = parts.headers.get("x-user")?.to_str().ok()?.parse().ok()?;
    let ip: IpAddr = "192.0.2.7".parse().unwrap();
    Some((Ctx::system(1.into(), "test"), Caller::new(user, "ses_1", ip)))
}

fn stepup() -> StepUp {
    let codes = Codes::new(|_, _, code| code == "123456");
    StepUp::new(Service::new(&MasterKeys::random(&SystemEnv::default()), &[SHIP], codes), caller)
}

/// Sends a request to a service when it is ready.
async fn send<S>(service: &mut S, request: Request<String>) -> (u16, Response<String>)
where
    S: TowerService<Request<String>, Response = Response<String>, Error = Infallible>,
{
    poll_fn(|context| service.poll_ready(context)).await.unwrap();
    let response = service.call(request).await.unwrap();
    (response.status().as_u16(), response)
}

fn body(response: &Response<String>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_str(response.body()).unwrap()
}

fn post(path: &str, body: &Value) -> Request<String> {
    let request = Request::builder().method("POST").uri(path).header("x-user", "42");
    let request = request.header("content-type", "application/json; charset=utf-8");
    request.body(body.to_string()).unwrap()
}

/// Returns a token of user 42.
async fn token(stepup: &StepUp) -> String {
    let mut endpoint = stepup.endpoint();
    let (_, asked) = send(&mut endpoint, post("/challenge-options", &json!({ "purpose": "SHIP" }))).await;
    let attempt = json!({ "challengeId": body(&asked)["challengeId"], "factor": "TOTP", "code": "123456" });
    let (status, verified) = send(&mut endpoint, post("/step-up/verify", &attempt)).await;
    assert_eq!((status, &verified.headers()["cache-control"]), (200, &HeaderValue::from_static("no-store")));
    body(&verified)["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn endpoint_refuses_what_is_no_step_up() {
    let mut endpoint = stepup().endpoint();
    let mut get = post("/verify", &json!({}));
    *get.method_mut() = http::Method::GET;
    let (status, response) = send(&mut endpoint, get).await;
    assert_eq!((status, response.headers().get("allow")), (405, Some(&HeaderValue::from_static("POST"))));
    let mut nobody = post("/verify", &json!({}));
    nobody.headers_mut().remove("x-user");
    let (status, response) = send(&mut endpoint, nobody).await;
    assert_eq!((status, &body(&response)["code"]), (401, &json!("UNAUTHENTICATED")));
    let long = json!({ "purpose": "x".repeat(64 * 1024) });
    assert_eq!(send(&mut endpoint, post("/challenge-options", &long)).await.0, 413);
    let allowed = json!({ "purpose": "x".repeat(60 * 1024) });
    assert_eq!(send(&mut endpoint, post("/challenge-options", &allowed)).await.0, 400);
    for kind in ["text/plain", "application/json-seq", ""] {
        let mut other = post("/challenge-options", &json!({ "purpose": "SHIP" }));
        other.headers_mut().insert("content-type", HeaderValue::from_static(kind));
        assert_eq!(send(&mut endpoint, other).await.0, 415, "{kind}");
    }
    for (path, sent, status, code) in [
        ("/other", json!({}), 404, "NOT_FOUND"),
        ("/challenge-options", json!({ "purpose": "OTHER" }), 400, "UNKNOWN_PURPOSE"),
        ("/verify", json!({}), 400, "INVALID_REQUEST"),
    ] {
        let (found, response) = send(&mut endpoint, post(path, &sent)).await;
        assert_eq!((found, &body(&response)["code"]), (status, &json!(code)), "{path}");
        assert!(response.extensions().get::<Arc<Error>>().is_none());
    }
}

/// A body whose client hangs up.
struct HungUp;

impl Body for HungUp {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())))
    }
}

#[tokio::test]
async fn incomplete_body_is_no_request() {
    let (parts, _) = post("/verify", &json!({})).into_parts();
    let response = stepup().endpoint().call(Request::from_parts(parts, HungUp)).await.unwrap();
    assert_eq!((response.status().as_u16(), &body(&response)["code"]), (400, &json!("INVALID_REQUEST")));
}

/// Says who stepped up.
#[derive(Clone)]
struct Ship;

impl TowerService<Request<String>> for Ship {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let consumed = request.extensions().get::<Arc<Consumed>>().unwrap();
        ready(Ok(Response::new(format!("{} by {}", request.body(), consumed.claims().user))))
    }
}

#[tokio::test]
async fn layer_lets_a_request_with_a_token_pass_once() {
    let stepup = stepup();
    let mut guarded = stepup.require(SHIP).layer(Ship);
    let (status, response) = send(&mut guarded, post("/ship", &json!("shipped"))).await;
    assert_eq!((status, &body(&response)["code"]), (401, &json!("STEP_UP_REQUIRED")));
    assert_eq!(response.headers()["www-authenticate"], "StepUp purpose=SHIP");

    let token = token(&stepup).await;
    let with_token = |user: &'static str| {
        let mut request = post("/ship", &json!("shipped"));
        request.headers_mut().insert("x-stepup-token", token.parse().unwrap());
        request.headers_mut().insert("x-user", HeaderValue::from_static(user));
        request
    };
    let (status, response) = send(&mut guarded, with_token("43")).await;
    assert_eq!((status, &body(&response)["reason"]), (401, &json!("USER_MISMATCH")));
    let (status, response) = send(&mut guarded.clone(), with_token("42")).await;
    assert_eq!((status, response.body().as_str()), (200, "\"shipped\" by 42"));
    let (status, response) = send(&mut guarded, with_token("42")).await;
    assert_eq!((status, &body(&response)["reason"]), (401, &json!("ALREADY_USED")));
    let (status, response) = send(&mut guarded, with_token("nobody")).await;
    assert_eq!((status, &body(&response)["code"]), (401, &json!("UNAUTHENTICATED")));
}

/// A service that is never ready.
#[derive(Clone)]
struct Busy;

impl TowerService<Request<String>> for Busy {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Pending
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        unreachable!("a service that is not ready was called")
    }
}

#[test]
fn guarded_service_is_ready_when_the_inner_one_is() {
    let mut context = Context::from_waker(Waker::noop());
    let guard = stepup().require(SHIP);
    assert!(guard.layer(Busy).poll_ready(&mut context).is_pending());
    assert!(guard.layer(Ship).poll_ready(&mut context).is_ready());
}

#[tokio::test]
async fn handler_may_consume_the_token_itself() {
    let stepup = stepup();
    let mut request = post("/ship", &json!({}));
    request.headers_mut().insert("x-stepup-token", token(&stepup).await.parse().unwrap());
    let (parts, _) = request.into_parts();
    assert_eq!(stepup.caller(&parts).unwrap().1.user, UserId::from(42));
    assert_eq!(stepup.consume(&parts, &SHIP).await.unwrap().claims().user, UserId::from(42));
    assert!(matches!(stepup.consume(&parts, &SHIP).await, Err(Error::Invalid(_))));
}

/// Factors in a database that does not answer.
#[derive(Default)]
struct Failing(MemoryStore);

#[async_trait]
impl Ceremonies for Failing {
    fn store(&mut self) -> &mut dyn StepUpStore {
        &mut self.0
    }
    async fn factors(&mut self, _: &Ctx, _: &UserId) -> Result<Vec<Factor>, Error> {
        Err(Error::Ceremony("the database does not answer".into()))
    }
    async fn verify(&mut self, _: &Ctx, _: &UserId, _: Factor, _: &Answer, _: &Value) -> Result<bool, Error> {
        Ok(false)
    }
}

#[tokio::test]
async fn technical_failure_is_in_the_extensions_and_not_in_the_body() {
    let keys = MasterKeys::random(&SystemEnv::default());
    let stepup = StepUp::new(Service::new(&keys, &[SHIP], Failing::default()), caller);
    let asked = post("/challenge-options", &json!({ "purpose": "SHIP" }));
    let (status, response) = send(&mut stepup.endpoint().clone(), asked).await;
    assert_eq!((status, &body(&response)["code"]), (500, &json!("INTERNAL")));
    assert!(!response.body().contains("database"));
    let error = response.extensions().get::<Arc<Error>>().unwrap();
    assert_eq!(error.to_string(), "the ceremony failed: the database does not answer");
}
