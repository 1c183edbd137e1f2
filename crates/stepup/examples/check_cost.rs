//! Measures the cost of checking a token: `check_cost [TIMES]` prints microseconds. `cargo xtask bench stepup` runs
//! it.

use std::{hint::black_box, time::Instant};

use stepup::{Answer, Attempt, Caller, Codes, Ctx, Factor, MasterKeys, Purpose, SigningKeys};

const PAYROLL_SEAL: Purpose = Purpose::new("PAYROLL_SEAL", "Seal a payroll.");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let times: u32 = std::env::args().nth(1).map_or(Ok(100), |times| times.parse())?;
    let ctx = Ctx::system("acme".parse()?, "example");
    let keys = SigningKeys::derive(&MasterKeys::random(&*ctx.env), "step-up");
    let mut factors = Codes::new(|_, _, _| true);
    let ada = Caller { user: "ada".parse()?, session: "ses_1".into(), ip: Some("192.0.2.7".parse()?) };
    let begun = stepup::begin(&ctx, &mut factors, &ada, &PAYROLL_SEAL).await?;
    let attempt =
        Attempt { challenge: begun.id, factor: Factor::Totp, answer: Answer::Code("123456".into()) };
    let verified = stepup::verify(&ctx, &mut factors, &keys, &[PAYROLL_SEAL], &ada, &attempt).await?;
    let token = verified.into_token()?.token;
    let start = Instant::now();
    for _ in 0..times {
        let _proof = stepup::check(&ctx, &keys, &PAYROLL_SEAL, &ada, black_box(token.expose()))?;
    }
    println!("{:.3}", start.elapsed().as_secs_f64() * 1e6 / f64::from(times));
    Ok(())
}
