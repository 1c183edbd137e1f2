//! Sign-ins with SAML responses, and changes of SSO connections, in memory.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::sync::Arc;

use audit::{Audited, Event};
use credentials::{SignInMode, SignInStore};
use directory::{ConnectionAccounts, NewPerson, PeopleStore, Person, Role, UserCreation};
use kernel::{Actor, Ctx, Env, ManualEnv, Secret, TenantId};
use netpolicy::{Mode, NetworkPolicyStore, Settings};
use saml_sp::{
    Against, BegunLogin, ConnectionTest, ConnectionTestStore, DomainError, DomainRecheck, New, Provider,
    ProviderChange, ProviderId, Reason, RecordFound, Refusal, RequestPurpose, RequestStore, SealedKey,
    ServiceProvider, SubjectStore, TestStatus, begin,
    conformance::identity_provider::{IdentityProvider, Person as Claimed, Unsealed},
    examine,
};
use sign_in::{
    Device, MemoryStore, Outcome, TotpKeys, Verifiers,
    sso::{self, SamlResponse, SsoOutcome},
};

struct NoKeys;

impl TotpKeys for NoKeys {
    fn seal_totp(&self, _: &dyn Env, _: &[u8], _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn open_totp(&self, _: &[u8], _: &[u8]) -> Option<Secret<Vec<u8>>> {
        None
    }
}

/// A tenant with an SSO connection, and its user Ada.
struct World {
    env: Arc<ManualEnv>,
    tenant: TenantId,
    store: MemoryStore,
    idp: IdentityProvider,
    provider: Provider,
    ada: Person,
}

const ADA: Claimed<'_> = Claimed { email: "ada@corp.example", name_id: "ada-1" };

fn codes(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.code).collect()
}

impl World {
    async fn new() -> Self {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let mut store = MemoryStore::new(&tenant);
        let ctx = Ctx::new(env.clone(), tenant.clone(), Actor::system("test"));
        let idp = IdentityProvider::new(ctx.now);
        let id = ProviderId::new(&*env, &tenant);
        let key = SealedKey::generate(&Unsealed, &id, "https://gate.example", ctx.now).unwrap();
        let change = ProviderChange {
            name: "Okta".into(),
            email_domains: vec!["corp.example".into()],
            ..ProviderChange::default()
        };
        let new = New {
            id,
            key,
            change: change.checked().unwrap(),
            known: idp.settings().checked(ctx.now).unwrap(),
        };
        let (provider, events) = sso::create(&ctx, &mut store, new).await.unwrap().into_parts();
        assert_eq!(codes(&events), ["ACCOUNT_SAML_PROVIDER_CREATED"]);
        let email = ADA.email.parse().unwrap();
        let new = NewPerson { email, role: Role::Member, display_name: Some("Ada".into()) };
        let ada = directory::create_person(&ctx, &mut store, new).await.unwrap();
        Self { env, tenant, store, idp, provider, ada }
    }

    fn ctx(&self) -> Ctx {
        let mut ctx = Ctx::new(self.env.clone(), self.tenant.clone(), Actor::system("test"));
        ctx.ip = Some([203, 0, 113, 9].into());
        ctx
    }

    fn service(&self) -> ServiceProvider {
        ServiceProvider::of("https://gate.example", &self.provider.id)
    }

    async fn begin(&mut self, test: Option<&ConnectionTest>) -> BegunLogin {
        let purpose = RequestPurpose { return_to: "/me".into(), trial: test.map(|test| test.id.clone()) };
        let begun = begin(&*self.env, &self.service(), &self.provider, None, purpose).unwrap();
        self.store.insert_request(&begun.request).await.unwrap();
        begun
    }

    /// Answers a request as the identity provider and the browser would.
    async fn answer(
        &mut self,
        begun: &BegunLogin,
        claimed: Claimed<'_>,
    ) -> (SsoOutcome<Refusal>, Vec<Event>) {
        let (ctx, service) = (self.ctx(), self.service());
        let field = self.idp.respond(&begun.request, &service, claimed, ctx.now);
        let against = Against { provider: &self.provider, service: &service, keys: &[], now: ctx.now };
        let response = SamlResponse {
            provider: self.provider.clone(),
            accepted: examine(&field, &against).into_result().unwrap(),
            browser: Some(begun.browser.expose().clone()),
            relay_state: Some(begun.relay_state.clone()),
            provider_session: None,
        };
        let verifiers = Verifiers { passkeys: None, totp: &NoKeys };
        let device = Device::new("a test", None, None);
        let outcome = sso::with_saml_response(&ctx, &mut self.store, &verifiers, response, &device).await;
        outcome.unwrap_or_else(|error| panic!("{error}")).into_parts()
    }

    async fn sign_in(&mut self, claimed: Claimed<'_>) -> (SsoOutcome<Refusal>, Vec<Event>) {
        let begun = self.begin(None).await;
        self.answer(&begun, claimed).await
    }

    /// Signs in and returns the reason of the refusal, which has to be recorded.
    async fn refused(&mut self, claimed: Claimed<'_>) -> Reason {
        let (outcome, events) = self.sign_in(claimed).await;
        let SsoOutcome::Refused { refusal, is_recorded: true } = outcome else { panic!("accepted") };
        assert_eq!(codes(&events), ["ACCOUNT_SAML_SIGN_IN_REFUSED"]);
        refusal.reason
    }

    async fn block_network(&mut self) {
        let settings = Settings { mode: Mode::Allowlist, ..Settings::default() };
        self.store.set_network_settings(&settings).await.unwrap();
    }

    async fn start_test(&mut self) -> ConnectionTest {
        let (ctx, provider, user) = (self.ctx(), self.provider.id.clone(), self.ada.id.clone());
        let started = sso::start_test(&ctx, &mut self.store, provider, user).await.unwrap();
        let (test, events) = started.into_parts();
        assert_eq!(codes(&events), ["ACCOUNT_SAML_PROVIDER_TESTED"]);
        test
    }

    async fn tested(&mut self, test: &ConnectionTest) -> ConnectionTest {
        self.store.connection_test(&test.id).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn first_sign_in_pins_the_name_id() {
    let mut world = World::new().await;
    let (outcome, events) = world.sign_in(ADA).await;
    let SsoOutcome::Continued(outcome, return_to) = outcome else { panic!("refused") };
    let Outcome::SignedIn(started) = *outcome else { panic!("not signed in") };
    assert_eq!((&started.session.user, return_to.as_str()), (&world.ada.id, "/me"));
    assert!(codes(&events).contains(&"ACCOUNT_SAML_SUBJECT_PINNED"), "{events:?}");
    let (_, events) = world.sign_in(ADA).await;
    assert!(!codes(&events).contains(&"ACCOUNT_SAML_SUBJECT_PINNED"), "{events:?}");
    // The address now belongs to somebody else at the identity provider.
    let other = Claimed { name_id: "ada-2", ..ADA };
    assert_eq!(world.refused(other).await, Reason::SubjectChanged);
    let (id, ada) = (world.provider.id.clone(), world.ada.id.clone());
    let unpinned = sso::unpin_subject(&mut world.store, &id, &ada).await.unwrap().unwrap();
    assert_eq!(codes(&unpinned.into_parts().1), ["ACCOUNT_SAML_SUBJECT_UNPINNED"]);
    assert!(sso::unpin_subject(&mut world.store, &id, &ada).await.unwrap().is_none());
    assert!(matches!(world.sign_in(other).await.0, SsoOutcome::Continued(..)));
}

#[tokio::test]
async fn response_without_its_relay_state_leads_to_the_start_page() {
    let mut world = World::new().await;
    let mut begun = world.begin(None).await;
    begun.relay_state = "another".into();
    let SsoOutcome::Continued(_, return_to) = world.answer(&begun, ADA).await.0 else { panic!("refused") };
    assert_eq!(return_to, "/");
}

#[tokio::test]
async fn request_is_answered_once_even_by_a_refused_response() {
    let mut world = World::new().await;
    let begun = world.begin(None).await;
    let stranger = Claimed { email: "bob@corp.example", name_id: "bob" };
    assert!(matches!(world.answer(&begun, stranger).await.0, SsoOutcome::Refused { is_recorded: true, .. }));
    let (outcome, events) = world.answer(&begun, ADA).await;
    let SsoOutcome::Refused { refusal, is_recorded } = outcome else { panic!("accepted") };
    // Anybody can send a response again, so the caller limits these entries.
    assert_eq!((refusal.reason, is_recorded, events.len()), (Reason::RequestUsed, false, 0));
}

#[tokio::test]
async fn account_that_may_not_sign_in_is_refused() {
    let mut world = World::new().await;
    let stranger = Claimed { email: "bob@corp.example", name_id: "bob" };
    assert_eq!(world.refused(stranger).await, Reason::NotProvisioned);
    let foreign = Claimed { email: "ada@other.example", ..ADA };
    assert_eq!(world.refused(foreign).await, Reason::ForeignDomain);
    let disabled = Person { active: false, ..world.ada.clone() };
    world.store.update_person(&world.ada, &disabled).await.unwrap();
    assert_eq!(world.refused(ADA).await, Reason::Disabled);
    let mut policy = world.store.sign_in_policy().await.unwrap();
    policy.sign_in_mode = SignInMode::CredentialsOnly;
    world.store.set_sign_in_policy(&policy).await.unwrap();
    assert_eq!(world.refused(ADA).await, Reason::SsoNotAllowed);
    assert_eq!(world.store.pinned_subjects(&world.ada.id).await.unwrap(), []);
    let setup = sso::tenant_setup(&mut world.store).await.unwrap();
    assert!(!setup.is_sso_allowed && setup.verified.is_empty());
}

#[tokio::test]
async fn blocked_address_is_recorded_as_such() {
    let mut world = World::new().await;
    world.block_network().await;
    let (outcome, events) = world.sign_in(ADA).await;
    assert!(matches!(outcome, SsoOutcome::NetworkBlocked));
    assert_eq!(codes(&events), ["ACCOUNT_NETWORK_POLICY_BLOCKED"]);
}

const GRACE: Claimed<'_> = Claimed { email: "grace@corp.example", name_id: "grace-1" };

impl World {
    /// Lets sign-ins create users of these domains.
    async fn create_users(&mut self, role: Role, domains: &[&str]) {
        let email_domains = domains.iter().map(ToString::to_string).collect();
        let accounts =
            ConnectionAccounts { groups_claim: None, creation: Some(UserCreation { role, email_domains }) };
        let (ctx, id) = (self.ctx(), self.provider.id.clone());
        let changed = sso::change_accounts(&ctx, &mut self.store, &id, accounts).await.unwrap();
        assert_eq!(codes(&changed.into_parts().1), ["ACCOUNT_SSO_ACCOUNTS_CHANGED"]);
    }

    async fn knows(&mut self, email: &str) -> Option<Person> {
        let key = email.parse::<kernel::Email>().unwrap().key();
        let id = self.store.user_of_email(&key).await.unwrap()?;
        self.store.person(&id).await.unwrap()
    }
}

#[tokio::test]
async fn first_sign_in_creates_the_user_if_the_connection_has_the_setting() {
    let mut world = World::new().await;
    assert_eq!(world.refused(GRACE).await, Reason::NotProvisioned);
    world.create_users(Role::Support, &["other.example"]).await;
    assert_eq!(world.refused(GRACE).await, Reason::NotProvisioned);
    world.create_users(Role::Support, &["corp.example"]).await;
    let (outcome, events) = world.sign_in(GRACE).await;
    assert!(matches!(outcome, SsoOutcome::Continued(..)));
    assert_eq!(codes(&events)[..2], ["ACCOUNT_USER_CREATED", "ACCOUNT_SAML_SUBJECT_PINNED"]);
    let grace = world.knows(GRACE.email).await.unwrap();
    assert_eq!((&grace.role, grace.active, grace.user_name.as_str()), (&Role::Support, true, GRACE.email));
    let (_, events) = world.sign_in(GRACE).await;
    assert!(!codes(&events).contains(&"ACCOUNT_USER_CREATED"), "{events:?}");
}

#[tokio::test]
async fn refused_first_sign_in_creates_nobody() {
    let mut world = World::new().await;
    assert!(matches!(world.sign_in(ADA).await.0, SsoOutcome::Continued(..)));
    world.create_users(Role::Member, &[]).await;
    // The identity provider gives Ada's NameID to another address.
    let other = Claimed { name_id: ADA.name_id, ..GRACE };
    assert_eq!(world.refused(other).await, Reason::SubjectOfAnother);
    assert_eq!(world.knows(GRACE.email).await, None);
    world.block_network().await;
    assert_eq!(world.refused(GRACE).await, Reason::Network);
    assert_eq!(world.knows(GRACE.email).await, None);
    world.store.set_network_settings(&Settings::default()).await.unwrap();
    let mut policy = world.store.sign_in_policy().await.unwrap();
    policy.sign_in_mode = SignInMode::CredentialsOnly;
    world.store.set_sign_in_policy(&policy).await.unwrap();
    assert_eq!(world.refused(GRACE).await, Reason::SsoNotAllowed);
    assert_eq!(world.knows(GRACE.email).await, None);
}

#[tokio::test]
async fn connection_test_creates_nobody() {
    let mut world = World::new().await;
    world.create_users(Role::Member, &[]).await;
    let test = world.start_test().await;
    let begun = world.begin(Some(&test)).await;
    let (outcome, _) = world.answer(&begun, GRACE).await;
    assert!(matches!(outcome, SsoOutcome::Tested(..)));
    let tested = world.tested(&test).await;
    assert_eq!(tested.status(world.env.now()), TestStatus::Passed);
    assert_eq!(world.knows(GRACE.email).await, None);
}

#[tokio::test]
async fn connection_test_reports_instead_of_signing_in() {
    let mut world = World::new().await;
    let test = world.start_test().await;
    let begun = world.begin(Some(&test)).await;
    let (outcome, events) = world.answer(&begun, ADA).await;
    assert!(matches!(outcome, SsoOutcome::Tested(id) if id == test.id) && events.is_empty());
    let tested = world.tested(&test).await;
    assert_eq!(tested.status(world.env.now()), TestStatus::Passed);
    let report = tested.report.unwrap();
    assert_eq!(report.user.map(|user| user.id), Some(world.ada.id.clone()));
    assert_eq!(report.email.as_deref(), Some(ADA.email));
    assert_eq!(world.store.pinned_subjects(&world.ada.id).await.unwrap(), []);

    world.block_network().await;
    let test = world.start_test().await;
    let begun = world.begin(Some(&test)).await;
    world.env.advance_millis(1);
    assert!(matches!(world.answer(&begun, ADA).await.0, SsoOutcome::Tested(_)));
    let report = world.tested(&test).await.report.unwrap();
    let failed = report.checks.last().unwrap();
    assert_eq!((report.passed, failed.reason.as_deref()), (false, Some(Reason::Network.as_str())));
    assert_eq!(failed.detail.as_deref(), Some(netpolicy::BLOCKED));
}

#[tokio::test]
async fn changes_of_a_connection_are_recorded() {
    let mut world = World::new().await;
    let (ctx, id) = (world.ctx(), world.provider.id.clone());
    let key = SealedKey::generate(&Unsealed, &id, "https://gate.example", ctx.now).unwrap();
    let fingerprint = key.certificate.fingerprint();
    let store = &mut world.store;
    for rotated in [
        sso::start_rotation(&ctx, store, &id, key).await.unwrap(),
        sso::complete_rotation(&ctx, store, &id).await.unwrap(),
    ] {
        let (_, events) = rotated.into_parts();
        assert_eq!(codes(&events), ["ACCOUNT_SAML_PROVIDER_KEY_ROTATED"]);
        assert!(events[0].data.contains(&fingerprint), "{events:?}");
    }
    let change = |name: &str| {
        let email_domains = vec!["corp.example".into()];
        ProviderChange { name: name.into(), email_domains, ..ProviderChange::default() }.checked().unwrap()
    };
    let events = |audited: Audited<Provider>| audited.into_parts().1;
    assert_eq!(events(sso::replace(&ctx, store, &id, change("Okta"), None).await.unwrap()), []);
    let renamed = events(sso::replace(&ctx, store, &id, change("Entra"), None).await.unwrap());
    assert_eq!(codes(&renamed), ["ACCOUNT_SAML_PROVIDER_UPDATED"]);
    // The certificate lasts ten years.
    assert!(sso::maintain(&ctx, store, &id, None).await.unwrap().into_parts().1.is_empty());
    world.env.advance_millis(3_645 * 86_400_000);
    let (ctx, store) = (world.ctx(), &mut world.store);
    let (done, events) = sso::maintain(&ctx, store, &id, None).await.unwrap().into_parts();
    assert_eq!(done.expiring.map(|expiring| expiring.days), Some(7));
    assert_eq!(codes(&events), ["ACCOUNT_SAML_PROVIDER_CERTIFICATE_EXPIRING"]);
    let ((), events) = sso::remove(&ctx, store, &id).await.unwrap().into_parts();
    assert_eq!(codes(&events), ["ACCOUNT_SAML_PROVIDER_DELETED"]);
    let fetched = Some(("https://idp.example/metadata".into(), Ok(String::new())));
    let (done, events) = sso::maintain(&ctx, store, &id, fetched).await.unwrap().into_parts();
    assert!(done.refreshed.is_none() && events.is_empty());
}

#[tokio::test]
async fn changes_of_a_domain_are_recorded() {
    let mut world = World::new().await;
    let (ctx, store) = (world.ctx(), &mut world.store);
    let domain = "corp.example".parse().unwrap();
    let released = sso::verify_domain(&ctx, store, &domain, None).await;
    assert!(matches!(released, Err(DomainError::JustReleased)));
    sso::release_domain(store, &domain).await.unwrap().into_parts();
    let (used, events) =
        sso::verify_domain(&ctx, store, &domain, Some("token".into())).await.unwrap().into_parts();
    assert_eq!((codes(&events), used.providers.len()), (vec!["ACCOUNT_DOMAIN_VERIFIED"], 1));
    let again = sso::verify_domain_as_operator(&ctx, store, &domain).await.unwrap();
    assert!(again.into_parts().1.is_empty());
    let due = DomainRecheck { token: None, missing_since: None, next_at: ctx.now };
    let lost = sso::recheck_domain(&ctx, store, &domain, &due, RecordFound::Absent).await.unwrap();
    assert_eq!(codes(&lost.into_parts().1), ["ACCOUNT_DOMAIN_PROOF_LOST"]);
    let since = DomainRecheck { missing_since: Some(ctx.now.plus_millis(-8 * 86_400_000)), ..due };
    let over = sso::recheck_domain(&ctx, store, &domain, &since, RecordFound::Absent).await.unwrap();
    assert_eq!(codes(&over.into_parts().1), ["ACCOUNT_DOMAIN_UNVERIFIED"]);
    let gone = sso::recheck_domain(&ctx, store, &domain, &since, RecordFound::Absent).await.unwrap();
    assert!(gone.into_parts().0.is_none());
    assert!(matches!(sso::release_domain(store, &domain).await, Err(DomainError::NotFound(_))));
}
