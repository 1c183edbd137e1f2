//! Measures the cost of checking a token: `check_cost [TIMES]` prints microseconds. `cargo xtask bench stepup` runs
//! it.

use std::{hint::black_box, net::IpAddr, sync::Arc, time::Instant};

use async_trait::async_trait;
use kernel::{Actor, Ctx, MasterKeys, Secret, SigningKeys, SystemEnv, TenantId, UserId};
use serde_json::Value;
use stepup::{
    Answer, Attempt, Caller, Ceremonies, Ceremony, Error, Factor, MemoryStore, PAYROLL_SEAL, PURPOSES,
    Verified,
};

/// Accepts every answer.
struct Right;

#[async_trait]
impl Ceremonies<MemoryStore> for Right {
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
        _: &Answer,
        _: &Value,
    ) -> Result<bool, Error> {
        Ok(true)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let times: u32 = std::env::args().nth(1).map_or(Ok(100), |times| times.parse())?;
    let env = Arc::new(SystemEnv::default());
    let keys =
        SigningKeys::derive(&MasterKeys::new(vec![("k1".into(), Secret::new(vec![7; 32]))])?, "step-up");
    let mut store = MemoryStore::default();
    let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("example"));
    let here: IpAddr = "192.0.2.7".parse()?;
    let session = UserId::new(&*env).to_string();
    let ada = Caller { user: UserId::new(&*env), session, ip: Some(here) };
    let asked = stepup::begin(&ctx, &mut store, &Right, &ada, &PAYROLL_SEAL).await?;
    let answer = Answer::Code("123456".into());
    let attempt = Attempt { challenge: asked.id, factor: Factor::Totp, answer };
    let verified = stepup::verify(&ctx, &mut store, &Right, &keys, &PURPOSES, &ada, &attempt).await?;
    let Verified::Right(granted) = verified else { return Err("the answer is correct".into()) };
    let text = granted.token.expose().as_str();
    let start = Instant::now();
    for _ in 0..times {
        black_box(stepup::check(&ctx, &keys, &PAYROLL_SEAL, &ada, black_box(text)))?;
    }
    println!("{:.3}", start.elapsed().as_secs_f64() * 1e6 / f64::from(times));
    Ok(())
}
