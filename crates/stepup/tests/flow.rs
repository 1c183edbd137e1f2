//! Verifies the statements of the threat model in `docs/design/threat-model.md` that need no server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;
use kernel::{Actor, Ctx, MasterKeys, Secret, SigningKeys, SystemEnv, TenantId, UserId};
use serde_json::{Value, json};
use stepup::{
    Answer, Attempt, Caller, Ceremonies, Ceremony, Codes, Error, Factor, Invalid, IssuedToken, MemoryStore,
    Proof, Purpose, StepUpStore, Verified,
};

const PAYROLL_SEAL: Purpose = Purpose::new("PAYROLL_SEAL", "Seal a payroll.");
const SCIM_TOKEN_MINT: Purpose = Purpose::new("SCIM_TOKEN_MINT", "Create a SCIM token.");
const ERASURE_FINALIZE: Purpose = Purpose::phishing_resistant("ERASURE_FINALIZE", "Erase a person's data.");
const PURPOSES: [Purpose; 3] = [PAYROLL_SEAL, SCIM_TOKEN_MINT, ERASURE_FINALIZE];

/// Accepts the answer "right" from a user with these factors.
struct Ask {
    factors: Vec<Factor>,
    store: MemoryStore,
}

#[async_trait]
impl Ceremonies for Ask {
    fn store(&mut self) -> &mut dyn StepUpStore {
        &mut self.store
    }

    async fn factors(&mut self, _: &Ctx, _: &UserId) -> Result<Vec<Factor>, Error> {
        Ok(self.factors.clone())
    }

    async fn begin(&mut self, _: &Ctx, _: &UserId) -> Result<Ceremony, Error> {
        Ok(Ceremony { options: json!({ "challenge": "AA" }), state: json!("asked") })
    }

    async fn verify(
        &mut self,
        _: &Ctx,
        _: &UserId,
        factor: Factor,
        answer: &Answer,
        state: &Value,
    ) -> Result<bool, Error> {
        Ok(match (factor, answer) {
            (Factor::Totp, answer) => answer.is_code("right"),
            (Factor::Webauthn, Answer::Credential(credential)) => credential == "right" && state == "asked",
            _ => false,
        })
    }
}

struct World {
    ctx: Ctx,
    ask: Ask,
    keys: SigningKeys,
    ada: Caller,
}

fn keys(ids: &[&str]) -> SigningKeys {
    let master = |id: &&str| ((*id).to_owned(), Secret::new(id.bytes().cycle().take(32).collect()));
    SigningKeys::derive(&MasterKeys::new(ids.iter().map(master).collect()).unwrap(), "step-up")
}

fn world(factors: &[Factor]) -> World {
    let env = Arc::new(SystemEnv::default());
    let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
    let ada = Caller {
        user: UserId::new(&*env),
        session: "ses_ada".into(),
        ip: Some("192.0.2.7".parse::<IpAddr>().unwrap()),
    };
    let ask = Ask { factors: factors.to_vec(), store: MemoryStore::default() };
    World { ctx, ask, keys: keys(&["b", "a"]), ada }
}

impl World {
    fn later(&mut self, millis: i64) {
        self.ctx.now = self.ctx.now.plus_millis(millis);
    }

    async fn begin(&mut self, purpose: &Purpose) -> Result<stepup::BegunChallenge, Error> {
        stepup::begin(&self.ctx, &mut self.ask, &self.ada, purpose).await
    }

    async fn answer(&mut self, caller: &Caller, attempt: &Attempt) -> Result<Verified, Error> {
        stepup::verify(&self.ctx, &mut self.ask, &self.keys, &PURPOSES, caller, attempt).await
    }

    async fn granted(&mut self, purpose: &Purpose) -> IssuedToken {
        let begun = self.begin(purpose).await.unwrap();
        let (factor, answer) = match begun.factors[..] {
            [Factor::Totp, ..] => (Factor::Totp, Answer::Code("right".into())),
            _ => (Factor::Webauthn, Answer::Credential(json!("right"))),
        };
        let attempt = Attempt { challenge: begun.id, factor, answer };
        self.answer(&self.ada.clone(), &attempt).await.unwrap().into_token().unwrap()
    }

    fn check(&self, purpose: &Purpose, caller: &Caller, text: &str) -> Result<Proof, Invalid> {
        stepup::check(&self.ctx, &self.keys, purpose, caller, text)
    }

    /// Consumes a token, or returns the reason against it.
    async fn consume(&mut self, proof: &Proof) -> Result<Factor, Invalid> {
        match proof.consume(&self.ctx, &mut self.ask.store).await {
            Ok(consumed) => Ok(consumed.claims().factor),
            Err(Error::Invalid(invalid)) => Err(invalid),
            Err(other) => panic!("{other}"),
        }
    }
}

fn code(begun: &stepup::BegunChallenge, code: &str) -> Attempt {
    Attempt { challenge: begun.id.clone(), factor: Factor::Totp, answer: Answer::Code(code.into()) }
}

#[tokio::test]
async fn token_is_valid_once() {
    let mut world = world(&[Factor::Totp]);
    let granted = world.granted(&PAYROLL_SEAL).await;
    let proof = world.check(&PAYROLL_SEAL, &world.ada.clone(), granted.token.expose()).unwrap();
    assert_eq!((proof.claims().factor, &proof.claims().id), (Factor::Totp, &granted.grant.id));
    let ada = world.ada.user.clone();
    let status = stepup::status(&world.ctx, &mut world.ask.store, &ada, &PAYROLL_SEAL).await.unwrap();
    assert_eq!(status, Some(granted.grant));
    assert_eq!(world.consume(&proof).await, Ok(Factor::Totp));
    assert_eq!(world.consume(&proof).await, Err(Invalid::AlreadyUsed));
    let status = stepup::status(&world.ctx, &mut world.ask.store, &ada, &PAYROLL_SEAL).await.unwrap();
    assert_eq!(status, None);
}

#[tokio::test]
async fn first_reason_that_applies_is_reported() {
    let mut world = world(&[Factor::Totp]);
    let token = world.granted(&PAYROLL_SEAL).await.token;
    let ada = world.ada.clone();
    let env = SystemEnv::default();
    let mallory = Caller { user: UserId::new(&env), ..ada.clone() };
    let other_session = Caller { session: "ses_other".into(), ..ada.clone() };
    let elsewhere = Caller { ip: Some("192.0.2.8".parse().unwrap()), ..ada.clone() };
    let hidden = Caller { ip: None, ..ada.clone() };
    let all_wrong = Caller { user: mallory.user.clone(), session: "ses_other".into(), ip: None };
    let text = token.expose().as_str();
    for (purpose, caller, reason) in [
        (&PAYROLL_SEAL, &mallory, Invalid::UserMismatch),
        (&PAYROLL_SEAL, &other_session, Invalid::SessionMismatch),
        (&PAYROLL_SEAL, &elsewhere, Invalid::IpMismatch),
        (&PAYROLL_SEAL, &hidden, Invalid::IpMismatch),
        (&SCIM_TOKEN_MINT, &all_wrong, Invalid::PurposeMismatch),
        (&PAYROLL_SEAL, &all_wrong, Invalid::UserMismatch),
        (&PAYROLL_SEAL, &Caller { ip: None, ..other_session.clone() }, Invalid::SessionMismatch),
    ] {
        assert_eq!(world.check(purpose, caller, text), Err(reason));
    }
    // The same user id in another tenant is another user.
    let own = world.ctx.tenant.clone();
    world.ctx.tenant = TenantId::new(&env);
    assert_eq!(world.check(&PAYROLL_SEAL, &ada, text), Err(Invalid::UserMismatch));
    world.ctx.tenant = own;
    // None of these refusals has consumed the token.
    assert!(world.check(&PAYROLL_SEAL, &ada, text).is_ok());
    world.later(59_999);
    assert!(world.check(&PAYROLL_SEAL, &ada, text).is_ok());
    world.later(1);
    assert_eq!(world.check(&SCIM_TOKEN_MINT, &all_wrong, text), Err(Invalid::Expired));
    let forged = keys(&["c"]);
    assert_eq!(
        stepup::check(&world.ctx, &forged, &SCIM_TOKEN_MINT, &all_wrong, text),
        Err(Invalid::SignatureInvalid)
    );
    assert_eq!(world.check(&PAYROLL_SEAL, &ada, "nonsense"), Err(Invalid::Malformed));
}

#[tokio::test]
async fn older_keys_verify_until_they_are_removed() {
    let mut world = world(&[Factor::Totp]);
    world.keys = keys(&["a"]);
    let token = world.granted(&PAYROLL_SEAL).await.token;
    let ada = world.ada.clone();
    for (ids, good) in [(&["b", "a"][..], true), (&["a", "b"], true), (&["b"], false)] {
        world.keys = keys(ids);
        assert_eq!(world.check(&PAYROLL_SEAL, &ada, token.expose()).is_ok(), good, "{ids:?}");
    }
}

#[tokio::test]
async fn weaker_factors_are_refused() {
    // A purpose that requires a passkey is refused if the user has only TOTP.
    let mut world = world(&[Factor::Totp]);
    let refused = world.begin(&ERASURE_FINALIZE).await;
    assert!(matches!(refused, Err(Error::NoFactorAvailable("ERASURE_FINALIZE"))));
    // With both factors, even a correct code is refused.
    world.ask.factors = vec![Factor::Webauthn, Factor::Totp];
    let begun = world.begin(&ERASURE_FINALIZE).await.unwrap();
    assert_eq!(begun.factors, [Factor::Webauthn]);
    let refused = world.answer(&world.ada.clone(), &code(&begun, "right")).await;
    assert!(
        matches!(refused, Err(Error::FactorNotPermitted(Factor::Totp, purpose)) if purpose == "ERASURE_FINALIZE")
    );
    // A token for a weaker purpose does not authorize a stronger one.
    let weak = world.granted(&PAYROLL_SEAL).await.token;
    let checked = world.check(&ERASURE_FINALIZE, &world.ada.clone(), weak.expose());
    assert_eq!(checked, Err(Invalid::PurposeMismatch));
    // A factor that the tenant does not accept is neither offered nor accepted.
    world.ask.factors = vec![Factor::Webauthn];
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    assert_eq!((begun.factors.as_slice(), begun.webauthn.is_some()), (&[Factor::Webauthn][..], true));
    let refused = world.answer(&world.ada.clone(), &code(&begun, "right")).await;
    assert!(
        matches!(refused, Err(Error::FactorNotPermitted(Factor::Totp, purpose)) if purpose == "PAYROLL_SEAL")
    );
}

#[tokio::test]
async fn factor_removed_or_refused_after_the_challenge_is_not_accepted() {
    let mut world = world(&[Factor::Totp]);
    let ada = world.ada.clone();
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    let right = code(&begun, "right");
    let not_permitted = |answered: Result<Verified, Error>| matches!(answered, Err(Error::FactorNotPermitted(Factor::Totp, purpose)) if purpose == "PAYROLL_SEAL");
    // The purpose requires a passkey now.
    let stronger = [Purpose::phishing_resistant("PAYROLL_SEAL", "Seal a payroll.")];
    let answered = stepup::verify(&world.ctx, &mut world.ask, &world.keys, &stronger, &ada, &right).await;
    assert!(not_permitted(answered));
    // The user has removed the factor.
    world.ask.factors = Vec::new();
    assert!(not_permitted(world.answer(&ada, &right).await));
    world.ask.factors = vec![Factor::Totp];
    assert!(matches!(world.answer(&ada, &right).await, Ok(Verified::Right(_))));
}

#[tokio::test]
async fn service_without_passkeys_starts_no_assertion() {
    let world = world(&[]);
    let begun = Codes::new(|_, _, _| true).begin(&world.ctx, &world.ada.user).await;
    assert!(matches!(begun, Err(Error::Ceremony(_))));
}

#[tokio::test]
async fn challenge_is_bound_to_its_session_and_answered_once() {
    let mut world = world(&[Factor::Totp]);
    let ada = world.ada.clone();
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    let right = code(&begun, "right");
    let env = SystemEnv::default();
    for other in [
        Caller { session: "ses_other".into(), ..ada.clone() },
        Caller { user: UserId::new(&env), ..ada.clone() },
    ] {
        assert!(matches!(world.answer(&other, &right).await, Err(Error::ChallengeInvalid)));
    }
    assert!(matches!(world.answer(&ada, &right).await, Ok(Verified::Right(_))));
    assert!(matches!(world.answer(&ada, &right).await, Err(Error::ChallengeInvalid)));

    // Five wrong answers or five minutes end a challenge.
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    for _ in 0..5 {
        assert!(matches!(world.answer(&ada, &code(&begun, "wrong")).await, Ok(Verified::Wrong(_))));
    }
    assert!(matches!(world.answer(&ada, &code(&begun, "right")).await, Err(Error::ChallengeInvalid)));
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    world.later(5 * 60_000 - 1);
    assert!(matches!(world.answer(&ada, &code(&begun, "wrong")).await, Ok(Verified::Wrong(_))));
    world.later(1);
    assert!(matches!(world.answer(&ada, &code(&begun, "right")).await, Err(Error::ChallengeInvalid)));

    // New challenges delete the oldest.
    let first = world.begin(&PAYROLL_SEAL).await.unwrap();
    for _ in 0..5 {
        world.begin(&PAYROLL_SEAL).await.unwrap();
    }
    assert!(matches!(world.answer(&ada, &code(&first, "right")).await, Err(Error::ChallengeInvalid)));
}

#[tokio::test]
async fn unknown_client_address_is_refused() {
    let mut world = world(&[Factor::Totp]);
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    world.ada.ip = None;
    assert!(matches!(world.begin(&PAYROLL_SEAL).await, Err(Error::AddressUnknown)));
    let refused = world.answer(&world.ada.clone(), &code(&begun, "right")).await;
    assert!(matches!(refused, Err(Error::AddressUnknown)));
}

#[tokio::test]
async fn revoked_token_is_reported_as_revoked() {
    let mut world = world(&[Factor::Totp]);
    let token = world.granted(&PAYROLL_SEAL).await.token;
    let waiting = world.begin(&PAYROLL_SEAL).await.unwrap();
    let ada = world.ada.clone();
    let now = world.ctx.now;
    assert_eq!(stepup::revoke(&mut world.ask.store, &ada.user, now).await.unwrap(), 1);
    let proof = world.check(&PAYROLL_SEAL, &ada, token.expose()).unwrap();
    assert_eq!(world.consume(&proof).await, Err(Invalid::Revoked));
    assert!(matches!(world.answer(&ada, &code(&waiting, "right")).await, Err(Error::ChallengeInvalid)));
}

#[tokio::test]
async fn memory_store_passes_the_suite_and_purges_expired_rows() {
    let mut world = world(&[]);
    stepup::conformance::store(&world.ctx, &mut world.ask.store).await;
    world.ask.factors = vec![Factor::Totp];
    let granted = world.granted(&PAYROLL_SEAL).await;
    world.ask.store.purge_expired(granted.grant.expires_at);
    let proof = world.check(&PAYROLL_SEAL, &world.ada.clone(), granted.token.expose()).unwrap();
    assert_eq!(world.consume(&proof).await, Err(Invalid::Revoked));
    // A challenge is deleted when it can no longer be answered.
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    let end = world.ctx.now.plus_millis(5 * 60_000);
    for (now, is_kept) in [(end.plus_millis(-1), true), (end, false)] {
        world.ask.store.purge_expired(now);
        assert_eq!(world.ask.store.challenge(&begun.id).await.unwrap().is_some(), is_kept);
    }
}

#[tokio::test]
async fn token_that_expires_after_the_check_is_not_consumed() {
    let env = Arc::new(kernel::ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let mut world = world(&[Factor::Totp]);
    world.ctx = Ctx::new(env.clone(), world.ctx.tenant.clone(), Actor::system("test"));
    let token = world.granted(&PAYROLL_SEAL).await.token;
    let proof = world.check(&PAYROLL_SEAL, &world.ada.clone(), token.expose()).unwrap();
    env.advance_millis(60_000);
    assert_eq!(world.consume(&proof).await, Err(Invalid::Expired));
    env.advance_millis(-1);
    assert_eq!(world.consume(&proof).await, Ok(Factor::Totp));
}

#[tokio::test]
async fn answers_are_read_from_json() {
    let mut world = world(&[Factor::Webauthn, Factor::Totp]);
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    let shown = serde_json::to_value(&begun).unwrap();
    let options = json!({ "challenge": "AA" });
    let expected = json!({ "challengeId": begun.id, "factors": ["WEBAUTHN", "TOTP"], "webauthn": options });
    assert_eq!(shown, expected);
    let attempt = json!({ "challengeId": begun.id, "factor": "WEBAUTHN", "credential": "right" });
    let attempt: Attempt = serde_json::from_value(attempt).unwrap();
    let issued = world.answer(&world.ada.clone(), &attempt).await.unwrap().into_token().unwrap();
    let token = issued.token.expose();
    let expected = json!({ "token": token, "purpose": "PAYROLL_SEAL", "expiresAt": issued.grant.expires_at });
    assert_eq!(issued.response(), expected);

    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    let attempt = json!({ "challengeId": begun.id, "factor": "TOTP", "code": "wrong" });
    let attempt: Attempt = serde_json::from_value(attempt).unwrap();
    let refused = world.answer(&world.ada.clone(), &attempt).await.unwrap().into_token();
    assert!(matches!(refused, Err(Error::FactorInvalid)));
    assert_eq!(format!("{:?}", attempt.answer), "Code", "a code does not appear in logs");
    for malformed in [
        json!({ "challengeId": begun.id, "factor": "TOTP" }),
        json!({ "challengeId": "42", "factor": "TOTP", "code": "123456" }),
        json!({ "challengeId": begun.id, "factor": "SMS", "code": "123456" }),
    ] {
        assert!(serde_json::from_value::<Attempt>(malformed.clone()).is_err(), "{malformed}");
    }
}

#[test]
fn responses_describe_no_technical_failure() {
    let failures = [
        Error::NoKey,
        Error::Store(kernel::StoreError::Corrupt("secret".into())),
        Error::Ceremony("secret".into()),
    ];
    for error in failures {
        let response = axum::http::Response::<String>::from(error);
        assert!(response.status().is_server_error());
        assert!(!response.body().contains("secret"), "{}", response.body());
    }
    for (error, status, code, name, value) in [
        (Error::Required(PAYROLL_SEAL), 401, "STEP_UP_REQUIRED", "purpose", "PAYROLL_SEAL"),
        (Error::Invalid(Invalid::Expired), 401, "STEP_UP_INVALID", "reason", "EXPIRED"),
        (Error::FactorInvalid, 401, "FACTOR_INVALID", "code", "FACTOR_INVALID"),
        (Error::ChallengeInvalid, 401, "TICKET_INVALID", "code", "TICKET_INVALID"),
        (Error::NoFactorAvailable("A"), 409, "NO_FACTOR_AVAILABLE", "code", "NO_FACTOR_AVAILABLE"),
        (
            Error::FactorNotPermitted(Factor::Totp, "A".into()),
            403,
            "FACTOR_NOT_PERMITTED",
            "code",
            "FACTOR_NOT_PERMITTED",
        ),
        (Error::AddressUnknown, 400, "INVALID_REQUEST", "code", "INVALID_REQUEST"),
    ] {
        let message = error.to_string();
        assert_eq!((error.status(), error.code()), (status, code));
        assert_eq!(error.body()[name], value);
        let response = axum::http::Response::<String>::from(error);
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(response.headers()["content-type"], "application/json");
        let body: Value = serde_json::from_str(response.body()).unwrap();
        assert_eq!((&body["error"], &body["code"]), (&json!(message), &json!(code)));
    }
}
