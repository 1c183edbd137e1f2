//! A program that ships a release only after a step-up, with its own purposes and ceremony. No web server.
//!
//! `cargo run -p gatehouse-stepup --example embed_stepup`

use std::collections::BTreeMap;

use stepup::{
    Answer, Attempt, Caller, Codes, Consumed, Ctx, Error, Factor, Invalid, MasterKeys, Purpose, SigningKeys,
    UserId, constant_time_eq,
};

const SHIP: Purpose = Purpose::new("SHIP", "Ship a release.");
const ERASE: Purpose = Purpose::phishing_resistant("ERASE", "Erase all data.");

/// Returns the code of an authenticator app for a time step: 30 seconds, counted from 1970.
fn code_of(secret: &[u8], step: i64) -> String {
    totp_lite::totp_custom::<totp_lite::Sha1>(30, 6, secret, step.unsigned_abs() * 30)
}

/// Accepts the codes of the current and the previous 30 seconds, each once. Real services store the step.
fn authenticator_apps(secrets: BTreeMap<UserId, Vec<u8>>) -> Codes {
    let mut used = BTreeMap::new();
    Codes::new(move |ctx, user, code| {
        let Some(secret) = secrets.get(user) else { return false };
        let (now, last) = (ctx.now.unix_millis() / 30_000, used.get(user).copied());
        let is_code = |step: i64| constant_time_eq(code.as_bytes(), code_of(secret, step).as_bytes());
        let found = [now, now - 1].into_iter().find(|step| is_code(*step) && Some(*step) > last);
        used.extend(found.map(|step| (user.clone(), step)));
        found.is_some()
    })
}

/// Cannot be called without a consumed token.
fn ship(by: &Consumed) {
    println!("{} shipped after a step-up with {}", by.claims().user, by.claims().factor.as_str());
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = Ctx::system("acme".parse()?, "example");
    let keys = SigningKeys::derive(&MasterKeys::random(&*ctx.env), "step-up");
    let secret = b"twenty bytes of it..";
    let mut factors = authenticator_apps(BTreeMap::from([("ada".parse()?, secret.to_vec())]));
    let ada = Caller { user: "ada".parse()?, session: "this one".into(), ip: Some("192.0.2.7".parse()?) };

    // A purpose without a suitable factor is refused before a challenge starts.
    let refused = stepup::begin(&ctx, &mut factors, &ada, &ERASE).await;
    assert!(matches!(refused, Err(Error::NoFactorAvailable("ERASE"))));

    let begun = stepup::begin(&ctx, &mut factors, &ada, &SHIP).await?;
    println!("answer {} with one of {:?}", begun.id, begun.factors);
    let answer = Answer::Code(code_of(secret, ctx.now.unix_millis() / 30_000));
    let attempt = Attempt { challenge: begun.id, factor: Factor::Totp, answer };
    let verified = stepup::verify(&ctx, &mut factors, &keys, &[SHIP, ERASE], &ada, &attempt).await?;
    let token = verified.into_token()?.token;

    // The token is valid only from this address, and only once.
    let elsewhere = Caller { ip: Some("198.51.100.1".parse()?), ..ada.clone() };
    let stolen = stepup::check(&ctx, &keys, &SHIP, &elsewhere, token.expose());
    assert_eq!(stolen, Err(Invalid::IpMismatch));
    let proof = stepup::check(&ctx, &keys, &SHIP, &ada, token.expose())?;
    ship(&proof.consume(&ctx, factors.store()).await?);
    let again = proof.consume(&ctx, factors.store()).await;
    assert!(matches!(again, Err(Error::Invalid(Invalid::AlreadyUsed))));
    Ok(())
}
