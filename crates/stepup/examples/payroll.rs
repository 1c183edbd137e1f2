//! A web service (axum) that seals a payroll only after a step-up. `payroll ADDRESS` serves until it is stopped:
//!
//! ```sh
//! cargo run -p stepup --example payroll -- 127.0.0.1:4000
//! curl -i -X POST -H 'X-User: ada' http://127.0.0.1:4000/payroll/seal        # 401 STEP_UP_REQUIRED
//! curl -X POST -H 'X-User: ada' http://127.0.0.1:4000/step-up/challenge      # {challengeId, factors}
//! ```
//!
//! The header `X-User` identifies the caller in this example. Use your own session instead.
#![expect(
    clippy::indexing_slicing,
    reason = "indexing a JSON value with an absent name returns null and does not panic"
)]

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use axum::{
    Json, Router,
    extract::{ConnectInfo, FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
    routing::post,
};
use kernel::{Actor, Ctx, MasterKeys, Secret, SigningKeys, SystemEnv, TenantId, UserId};
use serde_json::{Value, json};
use stepup::{
    Answer, Attempt, Caller, Ceremonies, Ceremony, Claims, Error, Factor, Invalid, MemoryStore, PAYROLL_SEAL,
    PURPOSES, Verified,
};
use tokio::sync::Mutex;

struct House {
    keys: SigningKeys,
    store: Mutex<MemoryStore>,
    env: Arc<SystemEnv>,
    tenant: TenantId,
    ada: UserId,
}

/// Accepts a word that only Ada knows. Use TOTP or WebAuthn instead.
struct Word;

#[async_trait]
impl Ceremonies<MemoryStore> for Word {
    async fn factors(&self, _: &Ctx, _: &mut MemoryStore, _: &UserId) -> Result<Vec<Factor>, Error> {
        Ok(vec![Factor::Totp])
    }

    async fn begin(&self, _: &Ctx, _: &mut MemoryStore, _: &UserId) -> Result<Ceremony, Error> {
        Ok(Ceremony::default())
    }

    async fn verify(
        &self,
        _: &Ctx,
        _: &mut MemoryStore,
        _: &UserId,
        _: Factor,
        answer: &Answer,
        _: &Value,
    ) -> Result<bool, Error> {
        Ok(matches!(answer, Answer::Code(word) if kernel::constant_time_eq(word.as_bytes(), b"123456")))
    }
}

impl House {
    fn ctx(&self) -> Ctx {
        Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("payroll"))
    }
}

fn refuse(code: &str, reason: Option<&str>, message: &str) -> Response {
    let mut body = json!({ "error": message, "code": code });
    if let Some(reason) = reason {
        body["reason"] = reason.into();
    }
    if code == "STEP_UP_REQUIRED" {
        body["purpose"] = PAYROLL_SEAL.name.into();
        let challenge = [("WWW-Authenticate", format!("StepUp purpose={}", PAYROLL_SEAL.name))];
        return (StatusCode::UNAUTHORIZED, challenge, Json(body)).into_response();
    }
    (StatusCode::UNAUTHORIZED, Json(body)).into_response()
}

/// The calling user and their address.
struct Called(Caller);

impl FromRequestParts<Arc<House>> for Called {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, house: &Arc<House>) -> Result<Self, Response> {
        let ConnectInfo(peer) = ConnectInfo::<SocketAddr>::from_request_parts(parts, house)
            .await
            .map_err(IntoResponse::into_response)?;
        if parts.headers.get("X-User").is_none_or(|name| name != "ada") {
            return Err(refuse("UNAUTHENTICATED", None, "send the header X-User"));
        }
        let caller = Caller { user: house.ada.clone(), session: "example".into(), ip: Some(peer.ip()) };
        Ok(Self(caller))
    }
}

/// A verified step-up token. A handler with this parameter runs only with one.
struct Sealing(Claims);

impl FromRequestParts<Arc<House>> for Sealing {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, house: &Arc<House>) -> Result<Self, Response> {
        let Called(caller) = Called::from_request_parts(parts, house).await?;
        let mut sent = parts.headers.get_all("X-StepUp-Token").iter();
        let (Some(text), None) = (sent.next(), sent.next()) else {
            let twice = parts.headers.contains_key("X-StepUp-Token");
            let required = || refuse("STEP_UP_REQUIRED", None, "this operation requires a step-up");
            return Err(if twice { invalid(Invalid::Malformed) } else { required() });
        };
        let text = text.to_str().map_err(|_| invalid(Invalid::Malformed))?;
        stepup::check(&house.ctx(), &house.keys, &PAYROLL_SEAL, &caller, text).map(Self).map_err(invalid)
    }
}

fn invalid(why: Invalid) -> Response {
    refuse("STEP_UP_INVALID", Some(why.reason()), &why.to_string())
}

fn failed(error: &Error) -> Response {
    (StatusCode::CONFLICT, Json(json!({ "error": error.to_string() }))).into_response()
}

async fn challenge(State(house): State<Arc<House>>, Called(caller): Called) -> Result<Json<Value>, Response> {
    let mut store = house.store.lock().await;
    let begun = stepup::begin(&house.ctx(), &mut *store, &Word, &caller, &PAYROLL_SEAL).await;
    let begun = begun.map_err(|error| failed(&error))?;
    Ok(Json(json!({ "challengeId": begun.id.to_string(), "factors": begun.factors })))
}

async fn verify(
    State(house): State<Arc<House>>,
    Called(caller): Called,
    Json(body): Json<Value>,
) -> Result<Json<Value>, Response> {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let challenge = text("challengeId").parse().map_err(|_| failed(&Error::ChallengeInvalid))?;
    let attempt = Attempt { challenge, factor: Factor::Totp, answer: Answer::Code(text("code")) };
    let mut store = house.store.lock().await;
    let ctx = house.ctx();
    let done = stepup::verify(&ctx, &mut *store, &Word, &house.keys, &PURPOSES, &caller, &attempt);
    match done.await.map_err(|error| failed(&error))? {
        Verified::Wrong(_) => Err(refuse("FACTOR_INVALID", None, "the code is incorrect")),
        Verified::Right(granted) => Ok(Json(json!({ "token": granted.token.expose() }))),
    }
}

/// Performs the act and consumes the token. If the act is a transaction, consume the token in the same one.
async fn seal(State(house): State<Arc<House>>, Sealing(proof): Sealing) -> Result<Json<Value>, Response> {
    let mut store = house.store.lock().await;
    let spent = stepup::consume(&house.ctx(), &mut *store, &proof).await;
    spent.map_err(|error| failed(&error.into()))?.map_err(invalid)?;
    Ok(Json(json!({ "sealed": true, "by": proof.user.to_string(), "with": proof.factor })))
}

/// The signing key. A real service reads it from its configuration.
static KEY: OnceLock<[u8; 32]> = OnceLock::new();

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let env = Arc::new(SystemEnv::default());
    let key = KEY.get_or_init(|| {
        let mut key = [0; 32];
        kernel::Env::fill(&*env, &mut key);
        key
    });
    let house = Arc::new(House {
        keys: SigningKeys::derive(
            &MasterKeys::new(vec![("now".into(), Secret::new(key.to_vec()))])?,
            "step-up",
        ),
        store: Mutex::default(),
        tenant: TenantId::new(&*env),
        ada: UserId::new(&*env),
        env,
    });
    let service = Router::new()
        .route("/step-up/challenge", post(challenge))
        .route("/step-up/verify", post(verify))
        .route("/payroll/seal", post(seal))
        .with_state(house)
        .into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, service).await?)
}
