//! The in-memory stores pass the suites, and a passkey in software goes through the ceremonies.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use credentials::{
    Assertion, Attestation, Creation, MemoryAttempts, MemoryCredentials, Passkey, Passkeys,
    conformance::{self, Authenticator, NoTrustAnchors},
    user_handle, user_of_handle,
};
use kernel::{Actor, Ctx, Env, ManualEnv, TenantId, UserId};

const ORIGIN: &str = "https://id.example.com";

fn ctx() -> Ctx {
    let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let tenant = TenantId::new(&*env);
    Ctx::new(env, tenant, Actor::system("test"))
}

fn passkeys() -> Passkeys {
    Passkeys::new("Gatehouse", ORIGIN, &["https://login.example.com".to_owned()]).unwrap()
}

/// Enrols the authenticator for the user of this handle.
fn enrolled(ctx: &Ctx, handle: &[u8], authenticator: &mut Authenticator) -> Passkey {
    authenticator.enrol(&passkeys(), handle, ctx.now)
}

#[tokio::test]
async fn memory_stores_pass_the_suites() {
    let ctx = ctx();
    let (ada, bob) = (UserId::new(&*ctx.env), UserId::new(&*ctx.env));
    let passkey = enrolled(&ctx, b"handle", &mut Authenticator::new(ORIGIN));
    let mut store = MemoryCredentials::default();
    conformance::factors(&ctx, &mut store, [&ada, &bob], &passkey).await;
    conformance::tickets(&ctx, &mut store, &ada, &bob).await;
    conformance::sign_in(&ctx, &mut store, &ada, &bob).await;
    conformance::attempts(&ctx, &mut MemoryAttempts::default()).await;
}

#[test]
fn passkey_is_asserted_by_its_authenticator_only() {
    let ctx = ctx();
    let (tenant, ada) = (ctx.tenant.clone(), UserId::new(&*ctx.env));
    let mut authenticator = Authenticator::new(ORIGIN);
    let passkey = enrolled(&ctx, &user_handle(&tenant, &ada), &mut authenticator);
    assert!(!passkey.backup_eligible() && !passkey.backed_up());

    let relying_party = passkeys();
    assert_eq!(relying_party.rp_id(), "id.example.com");
    let (options, pending) = relying_party.begin_assertion(std::slice::from_ref(&passkey)).unwrap();
    let assertion = Assertion::read(&authenticator.get(&options)).unwrap();
    assert_eq!(assertion.credential_id(), passkey.credential_id());
    assert_eq!(user_of_handle(assertion.user_handle().unwrap()), Some((tenant, ada)));
    let verified = relying_party.finish_assertion(&pending, &assertion, &passkey).unwrap();
    assert!(verified.user_verified);
    assert_ne!(verified.passkey, passkey, "the counter has advanced");
    let copied = relying_party.finish_assertion(&pending, &assertion, &verified.passkey);
    assert!(copied.is_err(), "the counter shows that the authenticator was copied");

    // An assertion counts for its challenge, its key and its origin.
    let (_, other) = relying_party.begin_assertion(std::slice::from_ref(&passkey)).unwrap();
    assert!(relying_party.finish_assertion(&other, &assertion, &passkey).is_err());
    let stranger = enrolled(&ctx, b"handle", &mut Authenticator::new(ORIGIN));
    assert!(relying_party.finish_assertion(&pending, &assertion, &stranger).is_err());
    for (origin, is_accepted) in [("https://login.example.com", true), ("https://evil.example", false)] {
        let mut authenticator = Authenticator::new(origin);
        let begun = relying_party.begin_registration(b"handle", "ada", "Ada", &[], Attestation::None);
        let (options, pending) = begun.unwrap();
        let created = authenticator.create(&options);
        let finished =
            relying_party.finish_registration(&pending, &created, Creation::Asked, &NoTrustAnchors, ctx.now);
        assert_eq!(finished.is_ok(), is_accepted, "{origin}");
    }
}

#[test]
fn enrolled_passkeys_are_excluded_and_the_attachment_is_kept() {
    let ctx = ctx();
    let passkey = enrolled(&ctx, b"handle", &mut Authenticator::new(ORIGIN));
    let relying_party = passkeys();
    let begun = relying_party.begin_registration(b"handle", "ada", "Ada", &[passkey], Attestation::Direct);
    let (options, pending) = begun.unwrap();
    assert_eq!(options["excludeCredentials"].as_array().unwrap().len(), 1);
    assert_eq!(options["attestation"], "direct");
    for (attachment, expected) in [("platform", Some(true)), ("cross-platform", Some(false)), ("other", None)]
    {
        let mut created = Authenticator::new(ORIGIN).create(&options);
        created["authenticatorAttachment"] = attachment.into();
        let finished =
            relying_party.finish_registration(&pending, &created, Creation::Asked, &NoTrustAnchors, ctx.now);
        let made = finished.unwrap();
        assert_eq!((made.is_platform, made.trust), (expected, credentials::Trust::default()));
    }
}
