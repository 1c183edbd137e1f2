//! Verifies the statements of the threat model in `docs/design/threat-model.md` that need no server.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;
use kernel::{Actor, Ctx, MasterKeys, Secret, SigningKeys, SystemEnv, TenantId, UserId};
use serde_json::{Value, json};
use stepup::{
    Answer, Attempt, Caller, Ceremonies, Ceremony, Claims, ERASURE_FINALIZE, Error, Factor, Invalid,
    IssuedToken, MemoryStore, PAYROLL_SEAL, PURPOSES, Purpose, SCIM_TOKEN_MINT, StepUpStore, Verified,
};

/// Accepts the answer "right" from a user with these factors.
struct Ask(Vec<Factor>);

#[async_trait]
impl Ceremonies<MemoryStore> for Ask {
    async fn factors(&self, _: &Ctx, _: &mut MemoryStore, _: &UserId) -> Result<Vec<Factor>, Error> {
        Ok(self.0.clone())
    }

    async fn begin(&self, _: &Ctx, _: &mut MemoryStore, _: &UserId) -> Result<Ceremony, Error> {
        Ok(Ceremony { options: json!({ "challenge": "AA" }), state: json!("asked") })
    }

    async fn verify(
        &self,
        _: &Ctx,
        _: &mut MemoryStore,
        _: &UserId,
        factor: Factor,
        answer: &Answer,
        state: &Value,
    ) -> Result<bool, Error> {
        Ok(match (factor, answer) {
            (Factor::Totp, Answer::Code(code)) => code == "right",
            (Factor::Webauthn, Answer::Credential(credential)) => credential == "right" && state == "asked",
            _ => false,
        })
    }
}

struct World {
    ctx: Ctx,
    store: MemoryStore,
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
    World { ctx, store: MemoryStore::default(), ask: Ask(factors.to_vec()), keys: keys(&["b", "a"]), ada }
}

impl World {
    fn later(&mut self, millis: i64) {
        self.ctx.now = self.ctx.now.plus_millis(millis);
    }

    async fn begin(&mut self, purpose: &Purpose) -> Result<stepup::BegunChallenge, Error> {
        stepup::begin(&self.ctx, &mut self.store, &self.ask, &self.ada, purpose).await
    }

    async fn answer(&mut self, caller: &Caller, attempt: &Attempt) -> Result<Verified, Error> {
        let (ctx, store) = (&self.ctx, &mut self.store);
        stepup::verify(ctx, store, &self.ask, &self.keys, &PURPOSES, caller, attempt).await
    }

    async fn granted(&mut self, purpose: &Purpose) -> IssuedToken {
        let begun = self.begin(purpose).await.unwrap();
        let (factor, answer) = match begun.factors[..] {
            [Factor::Totp, ..] => (Factor::Totp, Answer::Code("right".into())),
            _ => (Factor::Webauthn, Answer::Credential(json!("right"))),
        };
        let attempt = Attempt { challenge: begun.id, factor, answer };
        match self.answer(&self.ada.clone(), &attempt).await.unwrap() {
            Verified::Right(granted) => *granted,
            Verified::Wrong(_) => panic!("the answer was refused"),
        }
    }

    fn check(&self, purpose: &Purpose, caller: &Caller, text: &str) -> Result<Claims, Invalid> {
        stepup::check(&self.ctx, &self.keys, purpose, caller, text)
    }
}

fn code(begun: &stepup::BegunChallenge, code: &str) -> Attempt {
    Attempt { challenge: begun.id.clone(), factor: Factor::Totp, answer: Answer::Code(code.into()) }
}

#[tokio::test]
async fn token_is_valid_once() {
    let mut world = world(&[Factor::Totp]);
    let granted = world.granted(&PAYROLL_SEAL).await;
    let claims = world.check(&PAYROLL_SEAL, &world.ada.clone(), granted.token.expose()).unwrap();
    assert_eq!((claims.factor, &claims.id), (Factor::Totp, &granted.grant.id));
    let ada = world.ada.user.clone();
    let status = stepup::status(&world.ctx, &mut world.store, &ada, &PAYROLL_SEAL).await.unwrap();
    assert_eq!(status, Some(granted.grant));
    assert_eq!(stepup::consume(&world.ctx, &mut world.store, &claims).await.unwrap(), Ok(()));
    let again = stepup::consume(&world.ctx, &mut world.store, &claims).await.unwrap();
    assert_eq!(again, Err(Invalid::AlreadyUsed));
    let status = stepup::status(&world.ctx, &mut world.store, &ada, &PAYROLL_SEAL).await.unwrap();
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
    world.ask = Ask(vec![Factor::Webauthn, Factor::Totp]);
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
    world.ask = Ask(vec![Factor::Webauthn]);
    let begun = world.begin(&PAYROLL_SEAL).await.unwrap();
    assert_eq!((begun.factors.as_slice(), begun.webauthn.is_some()), (&[Factor::Webauthn][..], true));
    let refused = world.answer(&world.ada.clone(), &code(&begun, "right")).await;
    assert!(
        matches!(refused, Err(Error::FactorNotPermitted(Factor::Totp, purpose)) if purpose == "PAYROLL_SEAL")
    );
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
    assert_eq!(stepup::revoke(&mut world.store, &ada.user, now).await.unwrap(), 1);
    let claims = world.check(&PAYROLL_SEAL, &ada, token.expose()).unwrap();
    let spent = stepup::consume(&world.ctx, &mut world.store, &claims).await.unwrap();
    assert_eq!(spent, Err(Invalid::Revoked));
    assert!(matches!(world.answer(&ada, &code(&waiting, "right")).await, Err(Error::ChallengeInvalid)));
}

#[tokio::test]
async fn memory_store_passes_the_suite_and_purges_expired_rows() {
    let mut world = world(&[]);
    stepup::conformance::store(&world.ctx, &mut world.store).await;
    world.ask = Ask(vec![Factor::Totp]);
    let granted = world.granted(&PAYROLL_SEAL).await;
    world.store.purge_expired(granted.grant.expires_at);
    let claims = world.check(&PAYROLL_SEAL, &world.ada.clone(), granted.token.expose()).unwrap();
    let spent = world.store.consume_grant(&claims.id, world.ctx.now).await.unwrap();
    assert_eq!(spent, stepup::Consumption::Revoked);
}
