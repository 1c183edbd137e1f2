//! The fixture: one tenant with one identity provider, and a pending request.

use std::sync::{Arc, LazyLock};

use kernel::{Actor, Ctx, Email, ManualEnv, TenantId, Timestamp};
use saml_sp::{
    Against, AttributeMapping, Binding, Claims, Examined, IdentityProvider, OurKeys, Provider, ProviderId,
    Refresh, Refusal, Request, RequestPurpose, RequestStore, SealedKey, ServiceProvider, Source, Verified,
    begin, claim, examine, memory::MemoryStore,
};

use crate::keys::{EXPIRED, IDP, NEXT, OURS, P256, P384, P521, RSA_3072, RSA_4096};

/// The current time in all tests.
pub(crate) static NOW: LazyLock<Timestamp> = LazyLock::new(|| "2026-03-01T12:00:00.000Z".parse().unwrap());
/// The entity id of the identity provider.
pub(crate) const IDP_ENTITY: &str = "https://idp.example/saml";
/// The shared fixture.
pub(crate) static WORLD: LazyLock<World> = LazyLock::new(World::new);

pub(crate) struct World {
    pub(crate) tenant: TenantId,
    pub(crate) provider: Provider,
    pub(crate) service: ServiceProvider,
    pub(crate) request: Request,
    pub(crate) browser: String,
}

impl World {
    fn new() -> Self {
        let env = ManualEnv::at(*NOW);
        let tenant = TenantId::new(&env);
        let provider = provider(ProviderId::new(&env, &tenant));
        let service = ServiceProvider::of("https://gatehouse.example", &provider.id);
        let intent = RequestPurpose { return_to: "/".into(), trial: None };
        let begun = begin(&env, &service, &provider, None, intent).unwrap();
        Self { tenant, service, request: begun.request, browser: begun.browser.expose().clone(), provider }
    }

    pub(crate) fn ctx(&self) -> Ctx {
        Ctx::new(Arc::new(ManualEnv::at(*NOW)), self.tenant.clone(), Actor::system("test"))
    }

    /// Returns a store with the pending request.
    pub(crate) async fn store(&self) -> MemoryStore {
        let mut store = MemoryStore::new(&self.tenant);
        store.insert_request(&self.request).await.unwrap();
        store
    }
}

/// Returns a provider with certificates of all kinds of keys, as after many rotations.
fn provider(id: ProviderId) -> Provider {
    let active = &OURS[0].certificate;
    let kept = SealedKey { certificate: active.clone(), sealed: "sealed".into(), since: *NOW };
    let pinned = [&IDP, &NEXT, &RSA_3072, &RSA_4096, &P256, &P384, &P521, &EXPIRED];
    Provider {
        id,
        name: "Corp".into(),
        email_domains: vec!["corp.example".parse().unwrap()],
        idp: IdentityProvider {
            entity_id: IDP_ENTITY.into(),
            sso_url: "https://idp.example/sso".into(),
            sso_binding: Binding::Post,
            logout: None,
            certificates: pinned.iter().map(|key| key.certificate.clone()).collect(),
        },
        source: Source::Fields,
        valid_until: None,
        mapping: AttributeMapping::default(),
        sign_requests: false,
        force_authn: false,
        sign_out_at_provider: false,
        authn_contexts: Vec::new(),
        keys: OurKeys { active: kept, next: None },
        refresh: Refresh::default(),
        warned: None,
        created_at: *NOW,
        updated_at: *NOW,
    }
}

/// Examines a form field for the default provider after `change`.
pub(crate) fn examined(field: &str, change: fn(&mut Provider)) -> Examined {
    let mut provider = WORLD.provider.clone();
    change(&mut provider);
    examine(field, &against(&provider))
}

/// Returns the default context for validation.
pub(crate) fn against(provider: &Provider) -> Against<'_> {
    Against { provider, service: &WORLD.service, keys: &*OURS, now: *NOW }
}

/// The result of an accepted response.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) email: Email,
    pub(crate) claims: Claims,
}

/// Runs all checks: first those that need no storage, then the claim of the request.
pub(crate) fn enter(field: &str, change: fn(&mut Provider)) -> Result<Entered, Refusal> {
    let mut provider = WORLD.provider.clone();
    change(&mut provider);
    let examined = examine(field, &against(&provider));
    let answers = examined.outcome?;
    assert_eq!(Some(&answers), examined.says_it_answers.as_ref().or(Some(&answers)));
    let claims: Verified<Claims> = examined.claims.unwrap();
    let counted = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let mut store = WORLD.store().await;
        claim(&WORLD.ctx(), &mut store, &provider, &answers, &claims, Some(&WORLD.browser)).await.unwrap()
    });
    Ok(Entered { email: counted.outcome?, claims: claims.get().clone() })
}
