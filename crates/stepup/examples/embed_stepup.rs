//! A program that ships a release only after a step-up, with its own purposes, storage and ceremony. No web server.
//!
//! `cargo run -p stepup --example embed_stepup`

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;
use kernel::{Actor, Ctx, MasterKeys, Secret, SigningKeys, SystemEnv, TenantId, UserId};
use serde_json::Value;
use stepup::{
    Answer, Attempt, Caller, Ceremonies, Ceremony, Error, Factor, Invalid, MemoryStore, Purpose, Verified,
};

const SHIP: Purpose =
    Purpose { name: "SHIP", phishing_resistant: false, ttl_seconds: 30, description: "Shipping a release." };
const ERASE: Purpose =
    Purpose { name: "ERASE", phishing_resistant: true, ttl_seconds: 30, description: "Erasing everything." };
const PURPOSES: [Purpose; 2] = [SHIP, ERASE];

/// An authenticator app with the same secret for everybody. A real one also stores the last time step.
struct App {
    secret: &'static [u8],
}

impl App {
    fn code(&self, ctx: &Ctx) -> String {
        let seconds = u64::try_from(ctx.now.unix_millis() / 1000).unwrap_or_default();
        totp_lite::totp_custom::<totp_lite::Sha1>(30, 6, self.secret, seconds)
    }
}

#[async_trait]
impl Ceremonies<MemoryStore> for App {
    async fn factors(&self, _: &Ctx, _: &mut MemoryStore, _: &UserId) -> Result<Vec<Factor>, Error> {
        Ok(vec![Factor::Totp])
    }

    async fn begin(&self, _: &Ctx, _: &mut MemoryStore, _: &UserId) -> Result<Ceremony, Error> {
        Err(Error::Ceremony("this example has no passkeys".into()))
    }

    async fn verify(
        &self,
        ctx: &Ctx,
        _: &mut MemoryStore,
        _: &UserId,
        _: Factor,
        answer: &Answer,
        _: &Value,
    ) -> Result<bool, Error> {
        Ok(
            matches!(answer, Answer::Code(code) if kernel::constant_time_eq(code.as_bytes(), self.code(ctx).as_bytes())),
        )
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = Arc::new(SystemEnv::default());
    let keys =
        SigningKeys::derive(&MasterKeys::new(vec![("2026".into(), Secret::new(vec![7; 32]))])?, "step-up");
    let (app, mut store) = (App { secret: b"twenty bytes of it.." }, MemoryStore::default());
    let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("example"));
    let here: IpAddr = "192.0.2.7".parse()?;
    let ada = Caller { user: UserId::new(&*env), session: "this one".into(), ip: Some(here) };

    // A purpose without a suitable factor is refused before a challenge starts.
    let refused = stepup::begin(&ctx, &mut store, &app, &ada, &ERASE).await;
    assert!(matches!(refused, Err(Error::NoFactorAvailable("ERASE"))));

    let asked = stepup::begin(&ctx, &mut store, &app, &ada, &SHIP).await?;
    println!("answer {} with one of {:?}", asked.id, asked.factors);
    let answer = Answer::Code(app.code(&ctx));
    let attempt = Attempt { challenge: asked.id, factor: Factor::Totp, answer };
    let verified = stepup::verify(&ctx, &mut store, &app, &keys, &PURPOSES, &ada, &attempt).await?;
    let Verified::Right(granted) = verified else { return Err("the code is correct".into()) };

    // The token is valid only from this address, and only once.
    let elsewhere = Caller { ip: Some("198.51.100.1".parse()?), ..ada.clone() };
    let stolen = stepup::check(&ctx, &keys, &SHIP, &elsewhere, granted.token.expose());
    assert_eq!(stolen, Err(Invalid::IpMismatch));
    let claims = stepup::check(&ctx, &keys, &SHIP, &ada, granted.token.expose())?;
    stepup::consume(&ctx, &mut store, &claims).await??;
    println!("shipped after a step-up with {}", claims.factor.as_str());
    assert_eq!(stepup::consume(&ctx, &mut store, &claims).await?, Err(Invalid::AlreadyUsed));
    Ok(())
}
