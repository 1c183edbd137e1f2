//! Changes that users make to their own account: factors, recovery codes and the password.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use credentials::{
    Attestation, Creation, Factor, FactorKind, FactorStore, Passkeys, PatPolicy, SignInMode, SignInPolicy,
    SignInStore,
};
use directory::{NewPerson, Role};
use kernel::{Actor, Ctx, Env, ManualEnv, TenantId};
use serde_json::json;
use sessions::{Grace, GraceAct, GraceKind, Method, NewSession, Session, SessionStore, Standing};
use sign_in::{
    Attempt, Device, Error, FactorAnswer, FactorName, MemoryStore, Outcome, SecondFactor, StepUpAnswer,
    Verifiers, app_enrolment, change_policy, check_policy,
    conformance::{NoTrustAnchors, PlainKeys},
    continue_session,
    enrolment::{self, Enrolling, EnrolmentGround, has_grace_to_remove},
    lock_account,
    own_password::{self, CurrentPassword, PasswordReplacement, needs_step_up},
    passkey_enrolment::{self, RegistrationAnswer},
    pats, recovery_codes, ticket, with_second_factor,
};
use tokens::pat::NewPat;

/// A user with a session.
struct Desk {
    env: Arc<ManualEnv>,
    ctx: Ctx,
    store: MemoryStore,
    session: Session,
    passkeys: Passkeys,
}

impl Desk {
    async fn new() -> Self {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
        let mut store = MemoryStore::new(&ctx.tenant);
        let new =
            NewPerson { email: "ada@example.com".parse().unwrap(), role: Role::Member, display_name: None };
        let user = directory::create_person(&ctx, &mut store, new).await.unwrap().id;
        let new = NewSession {
            user,
            device_label: "Firefox".into(),
            location: None,
            standing: Standing::Full,
            methods: vec![Method::Password],
            signed_in_at: None,
            foreign: None,
            grace: None,
            not_after: None,
        };
        let session = sessions::open(&ctx, &mut store, new).await.unwrap().unwrap();
        let passkeys = Passkeys::new("Gatehouse", "https://gate.example.com", &[]).unwrap();
        Self { env, ctx, store, session, passkeys }
    }

    fn wait(&mut self, seconds: i64) {
        self.env.advance_millis(seconds * 1000);
        self.ctx.now = self.env.now();
    }

    async fn enrolling(&mut self) -> Enrolling {
        let account = lock_account(&mut self.store, &self.session.user).await.unwrap();
        Enrolling { account, session: self.session.clone(), standing_today: Standing::Full }
    }

    /// Begins the enrolment of an app.
    async fn app(&mut self) -> app_enrolment::PendingApp {
        let (enrolling, verifiers) = (self.enrolling().await, verifiers(&PlainKeys));
        let ground = EnrolmentGround::First;
        app_enrolment::begin(&self.ctx, &mut self.store, &verifiers, &enrolling, ground).await.unwrap()
    }

    async fn verify(
        &mut self,
        app: &app_enrolment::PendingApp,
        code: &str,
    ) -> Result<Option<app_enrolment::ProvedApp>, Error> {
        let (user, verifiers) = (self.session.user.clone(), verifiers(&PlainKeys));
        app_enrolment::verify(&self.ctx, &mut self.store, &verifiers, &user, &app.factor.id, code).await
    }

    /// Completes the enrolment of an app with its first code.
    async fn confirm(&mut self, app: &app_enrolment::PendingApp) {
        let code = self.code(app);
        let proved = self.verify(app, &code).await.unwrap().unwrap();
        app_enrolment::confirm(&self.ctx, &mut self.store, proved).await.unwrap();
    }

    fn code(&self, app: &app_enrolment::PendingApp) -> String {
        let seconds = u64::try_from(self.ctx.now.unix_millis() / 1000).unwrap();
        totp_lite::totp_custom::<totp_lite::Sha1>(30, 6, app.secret.expose(), seconds)
    }
}

fn verifiers(keys: &PlainKeys) -> Verifiers<'_> {
    Verifiers { passkeys: None, totp: keys }
}

/// A request that waited for the transaction of a signal was authenticated before it.
#[tokio::test]
async fn session_that_owes_a_factor_by_now_does_not_continue_without_it() {
    let mut desk = Desk::new().await;
    let app = desk.app().await;
    desk.confirm(&app).await;
    let before = desk.session.clone();
    let mut owing = SessionStore::session(&mut desk.store, &before.id).await.unwrap().unwrap();
    owing.standing = Standing::Owing;
    desk.store.update_session(&owing).await.unwrap();
    let device = Device::new("Firefox", None, None);
    let Desk { ctx, store, .. } = &mut desk;
    let verifiers = verifiers(&PlainKeys);
    let continued = continue_session(ctx, store, &verifiers, &before, Standing::Full, &device).await.unwrap();
    assert!(matches!(continued.into_parts().0, Outcome::FactorOwed { .. }));
    let after = SessionStore::session(&mut desk.store, &before.id).await.unwrap().unwrap();
    assert_eq!(after.standing, Standing::Owing);
}

#[tokio::test]
async fn factor_that_is_proved_again_renews_the_session_and_is_recorded() {
    let mut desk = Desk::new().await;
    let app = desk.app().await;
    desk.confirm(&app).await;
    let mut session = desk.session.clone();
    session.methods.push(Method::Totp);
    desk.store.update_session(&session).await.unwrap();
    desk.wait(30);
    let code = desk.code(&app);
    let device = Device::new("Firefox", None, None);
    let Desk { ctx, store, .. } = &mut desk;
    let verifiers = verifiers(&PlainKeys);
    let owed = continue_session(ctx, store, &verifiers, &session, Standing::Owing, &device).await.unwrap();
    let Outcome::FactorOwed { ticket, .. } = owed.into_parts().0 else { unreachable!() };
    let (user, ticket) = (session.user.clone(), ticket::parse(&ticket.0).unwrap().1);
    let proof = SecondFactor { user, ticket, name: FactorName::Totp, answer: FactorAnswer::Code(code) };
    let again = with_second_factor(ctx, store, &verifiers, proof, &device).await.unwrap();
    let (Attempt::Right(outcome), events) = again.into_parts() else { unreachable!() };
    let Outcome::SignedIn(started) = *outcome else { unreachable!() };
    assert_ne!(started.session.id, session.id);
    assert_eq!(started.session.signed_in_at, session.signed_in_at);
    let [event] = &events[..] else { unreachable!("{events:?}") };
    assert_eq!(event.code, "ACCOUNT_SESSION_RENEWED");
    assert!(event.data.contains("otp"), "{event:?}");
}

#[tokio::test]
async fn enrolment_does_not_complete_a_session_that_owes_a_factor_since_it_began() {
    let mut desk = Desk::new().await;
    let app = desk.app().await;
    desk.confirm(&app).await;
    let another = desk.app().await.factor;
    for (standing, is_accepted) in [(Standing::Full, true), (Standing::Owing, false)] {
        let mut enrolling = desk.enrolling().await;
        enrolling.session.standing = standing;
        let (ctx, ground) = (&desk.ctx, EnrolmentGround::Proved);
        let finishing = enrolment::finishing(ctx, &mut desk.store, enrolling, &another, ground).await;
        match finishing {
            Ok(finishing) => assert!(is_accepted && !finishing.needs_step_up),
            Err(error) => assert!(!is_accepted && matches!(error, Error::MfaRequired), "{error}"),
        }
    }
}

#[tokio::test]
async fn app_is_enrolled_with_its_first_code_which_counts_once() {
    let mut desk = Desk::new().await;
    let app = desk.app().await;
    assert!(!app.factor.is_verified());
    assert!(matches!(desk.verify(&app, "12345").await, Err(Error::FactorInvalid)));
    let code = desk.code(&app);
    let proved = desk.verify(&app, &code).await.unwrap().unwrap();
    assert_eq!(proved.ground, EnrolmentGround::First);
    let again = desk.verify(&app, &code).await.unwrap().unwrap();
    let factor = app_enrolment::confirm(&desk.ctx, &mut desk.store, proved).await.unwrap();
    assert!(factor.is_verified() && factor.kind() == FactorKind::Totp);
    let refused = app_enrolment::confirm(&desk.ctx, &mut desk.store, again).await;
    assert!(matches!(refused, Err(Error::FactorInvalid)));
    assert!(desk.verify(&app, &code).await.unwrap().is_none(), "the app is no longer pending");
}

#[tokio::test]
async fn pending_app_expires_and_is_replaced_by_the_next() {
    let mut desk = Desk::new().await;
    let first = desk.app().await;
    let second = desk.app().await;
    let code = desk.code(&first);
    assert!(desk.verify(&first, &code).await.unwrap().is_none());
    desk.wait(credentials::TICKET_MINUTES * 60);
    let code = desk.code(&second);
    assert!(desk.verify(&second, &code).await.unwrap().is_none());
}

#[tokio::test]
async fn registration_of_a_passkey_belongs_to_its_session_and_counts_once() {
    let mut desk = Desk::new().await;
    let enrolling = desk.enrolling().await;
    let passkeys = &desk.passkeys;
    let verifiers = Verifiers { passkeys: Some(passkeys), totp: &PlainKeys };
    let (ctx, ground) = (&desk.ctx, EnrolmentGround::First);
    let begun = passkey_enrolment::begin(
        ctx,
        &mut desk.store,
        &verifiers,
        &enrolling,
        &[],
        ground,
        Attestation::None,
    );
    let begun = begun.await.unwrap();
    assert_eq!(begun.options["user"]["name"], "ada@example.com");
    let answer = || {
        RegistrationAnswer::new(&ctx.tenant, &begun.ticket.0, json!({ "id": "x" }), None, Creation::Asked)
            .unwrap()
    };
    let foreign = TenantId::new(&*ctx.env);
    let refused = RegistrationAnswer::new(&foreign, &begun.ticket.0, json!({}), None, Creation::Asked);
    assert!(matches!(refused, Err(Error::TicketInvalid)));
    let refused =
        RegistrationAnswer::new(&ctx.tenant, &begun.ticket.0, json!({}), Some("\n"), Creation::Asked);
    assert!(matches!(refused, Err(Error::Malformed(_))));

    let makers = NoTrustAnchors;
    let mut other = desk.session.clone();
    other.id = sessions::SessionId::new(&*ctx.env);
    let store = &mut desk.store;
    let refused = passkey_enrolment::verify(ctx, store, &verifiers, &makers, &other, answer()).await;
    assert!(matches!(refused, Err(Error::TicketInvalid)));
    let own = &desk.session;
    let refused = passkey_enrolment::verify(ctx, store, &verifiers, &makers, own, answer()).await;
    assert!(matches!(refused, Err(Error::MalformedCredential(_))));
    let refused = passkey_enrolment::verify(ctx, store, &verifiers, &makers, own, answer()).await;
    assert!(matches!(refused, Err(Error::TicketInvalid)), "the registration is consumed");
}

#[tokio::test]
async fn session_begun_with_a_recovery_code_may_remove_only_an_older_factor() {
    let mut desk = Desk::new().await;
    let factor = desk.app().await.factor;
    desk.wait(1);
    let (mut session, now) = (desk.session.clone(), desk.ctx.now);
    assert!(!has_grace_to_remove(&session, &factor, now), "the session has no grace");
    session.grace = Some(Grace::new(GraceKind::Recovery, now));
    assert!(has_grace_to_remove(&session, &factor, now));
    let newer = Factor { created_at: now, ..factor.clone() };
    assert!(!has_grace_to_remove(&session, &newer, now));
    session.consume(GraceAct::Remove);
    assert!(!has_grace_to_remove(&session, &factor, now), "the grace is used up");
}

#[tokio::test]
async fn tokens_are_revoked_with_an_audit_entry() {
    let mut desk = Desk::new().await;
    let user = desk.session.user.clone();
    let scopes = vec![tokens::Scope::ReadProfile];
    let new = NewPat { name: "CI".into(), scopes, expires_in_days: None };
    assert!(!new.is_administrative() && !new.writes());
    let (pat, _, event) = pats::mint(&desk.ctx, &mut desk.store, &user, new).await.unwrap();
    assert_eq!((event.code, event.resource_id.as_str()), ("ACCOUNT_PAT_CREATED", pat.id.as_str()));
    let revoked = pats::revoke(&desk.ctx, &mut desk.store, &user, &pat.id).await.unwrap();
    assert_eq!(revoked.into_parts().1[0].code, "ACCOUNT_PAT_REVOKED");
    assert!(pats::revoke(&desk.ctx, &mut desk.store, &user, &pat.id).await.is_err());
    assert!(pats::revoke_all(&desk.ctx, &mut desk.store, &user).await.unwrap().is_empty());
}

#[tokio::test]
async fn new_recovery_codes_replace_the_old_ones() {
    let mut desk = Desk::new().await;
    let user = desk.session.user.clone();
    let (first, event) = recovery_codes::generate(&desk.ctx, &mut desk.store, &user).await.unwrap();
    assert_eq!((first.len(), event.code), (10, "ACCOUNT_RECOVERY_CODES_GENERATED"));
    let (second, _) = recovery_codes::generate(&desk.ctx, &mut desk.store, &user).await.unwrap();
    assert_ne!(first[0].expose(), second[0].expose());
    assert_eq!(desk.store.unused_codes(&user).await.unwrap(), 10);
}

#[tokio::test]
async fn change_of_a_password_needs_a_recent_sign_in_or_a_step_up() {
    let mut desk = Desk::new().await;
    let session = desk.session.clone();
    assert!(!needs_step_up(&desk.ctx, &mut desk.store, &session).await.unwrap());
    let app = desk.app().await;
    assert!(!needs_step_up(&desk.ctx, &mut desk.store, &session).await.unwrap(), "the app is pending");
    desk.wait(300);
    let late = needs_step_up(&desk.ctx, &mut desk.store, &session).await;
    assert!(matches!(late, Err(Error::SignInRequired(_))));
    desk.confirm(&app).await;
    assert!(needs_step_up(&desk.ctx, &mut desk.store, &session).await.unwrap());
}

#[tokio::test]
async fn password_is_changed_only_if_it_is_still_the_one_that_was_compared() {
    let mut desk = Desk::new().await;
    let session = desk.session.clone();
    desk.store.set_password(&session.user, "old", desk.ctx.now).await.unwrap();
    let current = CurrentPassword::read(&mut desk.store, &session, "origin").await.unwrap();
    assert_eq!(current.hash.as_deref(), Some("old"));
    assert!(!current.is_known_origin);
    let strangers = current.limits("origin").len();
    assert!(CurrentPassword { is_known_origin: true, ..current }.limits("origin").len() < strangers);

    let replacement = |compared: &str| PasswordReplacement {
        compared: Some(compared.into()),
        hash: "new".into(),
        revoke_tokens: true,
    };
    let stale = own_password::change(&desk.ctx, &mut desk.store, &session, &replacement("older")).await;
    assert!(matches!(stale, Err(Error::InvalidCredentials)));
    let changed =
        own_password::change(&desk.ctx, &mut desk.store, &session, &replacement("old")).await.unwrap();
    assert_eq!(changed.revoked_tokens, Some(0));
    assert_eq!(changed.events[0].code, "ACCOUNT_PASSWORD_CHANGED");
    assert_eq!(desk.store.password(&session.user).await.unwrap().as_deref(), Some("new"));
}

#[tokio::test]
async fn policy_without_pat_settings_keeps_them() {
    let mut desk = Desk::new().await;
    let pat = PatPolicy { allowed_scopes: Some(vec!["read:profile".into()]), max_days: None };
    let first = SignInPolicy { pat: Some(pat.clone()), ..SignInPolicy::default() };
    check_policy(&first).unwrap();
    let (_, events) = change_policy(&desk.ctx, &mut desk.store, first).await.unwrap().into_parts();
    assert_eq!(events.len(), 1);
    let second = SignInPolicy { sign_in_mode: SignInMode::SsoAllowed, ..SignInPolicy::default() };
    let (second, events) = change_policy(&desk.ctx, &mut desk.store, second).await.unwrap().into_parts();
    assert_eq!(second.pat, Some(pat));
    assert!(events.len() <= 1);
    let (_, events) = change_policy(&desk.ctx, &mut desk.store, second).await.unwrap().into_parts();
    assert!(events.is_empty(), "nothing changed");
}

#[test]
fn unknown_scope_of_a_policy_is_named_by_its_path() {
    let pat = PatPolicy { allowed_scopes: Some(vec!["read:profile".into(), "x".into()]), max_days: None };
    let policy = SignInPolicy { pat: Some(pat), ..SignInPolicy::default() };
    let problem = check_policy(&policy).unwrap_err();
    assert!(problem.starts_with("pat.allowedScopes[1]: "), "{problem}");
}

#[test]
fn recovery_codes_cannot_prove_a_step_up() {
    let refused = StepUpAnswer::new(FactorName::RecoveryCode, Some("x".into()), None);
    assert!(matches!(refused, Err(Error::RecoveryCodeNotAccepted)));
    let refused = StepUpAnswer::new(FactorName::Webauthn, None, Some(json!({})));
    assert!(matches!(refused, Err(Error::Malformed(_))));
    let answer = StepUpAnswer::new(FactorName::Totp, Some("123456".into()), None).unwrap();
    assert_eq!(answer.factor, stepup::Factor::Totp);
}
