//! SAML storage on both databases and in memory.

mod boundaries;
mod claims;
mod providers;
mod sessions;
mod upkeep;

use std::sync::Arc;

use ::saml_sp::{
    AttributeMapping, Binding, Certificate, ClaimedRequest, ConnectionTestStore, DomainStore, EmailDomain,
    IdentityProvider, Method, OurKeys, Provider, ProviderId, ProviderStore, Refresh, Request, RequestId,
    RequestStore, SealedKey, Source, VerifiedDomain, memory::MemoryStore,
};
use audit::{Audited, Unaudited};
use kernel::{Ctx, Env, Id, StoreError, StoreResult, TenantId, Timestamp};
use store::{Tx, testing::Kind};

use crate::support::{World, world};

/// The SAML storage traits of a tenant.
trait Saml: ProviderStore + RequestStore + ConnectionTestStore + DomainStore {}
impl<T: ProviderStore + RequestStore + ConnectionTestStore + DomainStore> Saml for T {}

/// The storage that a test runs on.
struct Place {
    env: Arc<dyn Env>,
    tenant: TenantId,
    at: At,
}

enum At {
    Database(Box<World>),
    Memory(MemoryStore),
}

/// Runs a test on SQLite, on PostgreSQL and in memory.
async fn everywhere(test: impl AsyncFn(Place)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        let world = world(kind).await;
        let (env, tenant) = (world.env.clone(), world.ctx().tenant);
        test(Place { env, tenant, at: At::Database(Box::new(world)) }).await;
    }
    println!("in memory");
    let env: Arc<dyn Env> = Arc::new(kernel::SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let at = At::Memory(MemoryStore::new(&tenant));
    test(Place { env, tenant, at }).await;
}

impl Place {
    /// Runs a unit of work of a tenant.
    async fn of<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&mut dyn Saml) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        match &self.at {
            At::Database(world) => {
                Box::pin(world.change(tenant, async move |_, tx: &mut Tx| work(tx).await)).await
            }
            At::Memory(store) => Box::pin(work(&mut store.for_tenant(tenant))).await,
        }
    }

    /// Runs a unit of work of the test's tenant.
    async fn work<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&mut dyn Saml) -> StoreResult<T> + Send + 'static,
    ) -> T {
        self.of(&self.tenant, work).await.unwrap()
    }

    /// Stores a provider of the tenant.
    async fn provider(&self, domains: &[&str]) -> Provider {
        let made = provider(&*self.env, &self.tenant, domains);
        let kept = made.clone();
        self.work(async move |store| store.insert_provider(&kept).await).await;
        made
    }

    /// Stores a request to a provider.
    async fn request(&self, of: &Provider, number: u8) -> Request {
        let made = request(of, number, self.env.now());
        let kept = made.clone();
        self.work(async move |store| store.insert_request(&kept).await).await;
        made
    }

    async fn claim(&self, of: &Request, provider: &Provider, browser: Option<[u8; 32]>) -> ClaimedRequest {
        self.claim_at(of, provider, browser, self.env.now()).await
    }

    async fn claim_at(
        &self,
        of: &Request,
        provider: &Provider,
        browser: Option<[u8; 32]>,
        now: Timestamp,
    ) -> ClaimedRequest {
        let (id, provider) = (of.id.clone(), provider.id.clone());
        self.work(async move |store| store.claim_request(&id, &provider, browser.as_ref(), now).await).await
    }
}

fn until_2027() -> Certificate {
    Certificate::from_text(include_str!("until-2027.pem")).unwrap()
}

fn until_2098() -> Certificate {
    Certificate::from_text(include_str!("until-2098.pem")).unwrap()
}

fn domain(text: &str) -> EmailDomain {
    text.parse().unwrap()
}

pub(crate) fn provider(env: &dyn Env, tenant: &TenantId, domains: &[&str]) -> Provider {
    let now = env.now();
    let key = SealedKey { certificate: until_2098(), sealed: "sealed".into(), since: now };
    Provider {
        id: ProviderId::new(env, tenant),
        name: "Entra".into(),
        email_domains: domains.iter().map(|text| domain(text)).collect(),
        idp: IdentityProvider {
            sso_binding: Binding::Post,
            logout: None,
            entity_id: "https://idp.example/".into(),
            sso_url: "https://idp.example/sso".into(),
            certificates: vec![until_2098()],
        },
        source: Source::MetadataUrl("https://idp.example/metadata".into()),
        valid_until: None,
        mapping: AttributeMapping { email: Some("mail".into()) },
        sign_requests: true,
        force_authn: false,
        sign_out_at_provider: false,
        authn_contexts: vec!["urn:one".into()],
        keys: OurKeys { active: key.clone(), next: Some(key) },
        refresh: Refresh {
            read_at: Some(now),
            failed: Some((now, "it was not there".into())),
            next_at: Some(now.plus_millis(60_000)),
            ..Refresh::default()
        },
        warned: None,
        created_at: now,
        updated_at: now,
    }
}

fn request_id(number: u8) -> RequestId {
    format!("_{number:040x}").parse().unwrap()
}

fn request(of: &Provider, number: u8, now: Timestamp) -> Request {
    Request {
        id: request_id(number),
        provider: of.id.clone(),
        browser: [number; 32],
        relay_key: [7; 32],
        return_to: "/settings?tab=1".into(),
        force_authn: true,
        trial: None,
        created_at: now,
        expires_at: now.plus_millis(600_000),
    }
}

fn verified(env: &dyn Env, text: &str, method: Method) -> VerifiedDomain {
    VerifiedDomain { domain: domain(text), method, verified_at: env.now(), token: Some("ours".to_owned()) }
}

/// Runs a unit of work without an audit entry.
async fn unaudited<T: Send + 'static>(
    world: &World,
    work: impl AsyncFnOnce(&mut Tx) -> StoreResult<T> + Send + 'static,
) -> StoreResult<T> {
    let unit = async move |_: &Ctx, tx: &mut Tx| {
        Ok::<_, StoreError>(Audited::without(work(tx).await?, Unaudited::StepTaken))
    };
    world.store.write(world.ctx(), unit).await
}

/// Stores a provider in a database.
pub(crate) async fn kept(world: &World, provider: &Provider) {
    let provider = provider.clone();
    let tenant = provider.id.tenant().unwrap();
    world.change(&tenant, async move |_, tx| tx.insert_provider(&provider).await).await.unwrap();
}

fn connection_test(env: &dyn Env, of: &Provider) -> ::saml_sp::ConnectionTest {
    let now = env.now();
    ::saml_sp::ConnectionTest {
        id: Id::new(env),
        provider: of.id.clone(),
        user: Id::new(env),
        created_at: now,
        expires_at: now.plus_millis(600_000),
        report: None,
    }
}
