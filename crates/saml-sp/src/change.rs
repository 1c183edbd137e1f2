//! Creates, changes and removes providers and rotates their keys.

use kernel::Ctx;

use crate::{
    domain::EmailDomain,
    error::ProviderError,
    id::ProviderId,
    keys::{OurKeys, SealedKey},
    provider::{MAX_PROVIDERS, Provider, Refresh, Source},
    provider_change::{CheckedChange, ResolvedMetadata},
    refreshing,
    store::ProviderStore,
};

/// A provider to create.
pub struct New {
    /// The id, which the sealed key is bound to.
    pub id: ProviderId,
    /// The key pair that signs requests, generated in advance because that takes hundreds of milliseconds of CPU.
    pub key: SealedKey,
    /// The settings.
    pub change: CheckedChange,
    /// The identity provider.
    pub known: ResolvedMetadata,
}

/// Creates a provider. Fails if there are [`MAX_PROVIDERS`] or if another provider has one of its domains.
pub async fn create(ctx: &Ctx, store: &mut dyn ProviderStore, new: New) -> Result<Provider, ProviderError> {
    let New { id, key, change, known } = new;
    if store.count_providers().await? >= MAX_PROVIDERS {
        return Err(ProviderError::TooMany);
    }
    check_domains_free(store, &id, &change.email_domains).await?;
    let mut provider = Provider {
        id,
        name: change.name,
        email_domains: change.email_domains,
        idp: known.idp.clone(),
        source: known.source.clone(),
        valid_until: None,
        mapping: change.mapping,
        sign_requests: change.sign_requests,
        force_authn: change.force_authn,
        sign_out_at_provider: change.sign_out_at_provider,
        authn_contexts: change.authn_contexts,
        keys: OurKeys { active: key, next: None },
        refresh: Refresh::default(),
        warned: None,
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    learn(ctx, &mut provider, known);
    store.insert_provider(&provider).await?;
    Ok(provider)
}

/// Replaces a provider's settings, and its identity provider if `known` is given. Returns the JSON names of the
/// changed fields.
pub async fn replace(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
    change: CheckedChange,
    known: Option<ResolvedMetadata>,
) -> Result<(Provider, Vec<&'static str>), ProviderError> {
    // Locks the tenant's providers, so that no concurrent transaction takes a domain.
    store.count_providers().await?;
    let mut provider = store.provider(id).await?.ok_or(ProviderError::NotFound)?;
    check_domains_free(store, id, &change.email_domains).await?;
    let mut changed = Changes::default();
    changed.set(&mut provider.name, change.name, "name");
    changed.set(&mut provider.email_domains, change.email_domains, "emailDomains");
    changed.set(&mut provider.mapping, change.mapping, "attributeMapping");
    changed.set(&mut provider.sign_requests, change.sign_requests, "signRequests");
    changed.set(&mut provider.force_authn, change.force_authn, "forceAuthn");
    changed.set(&mut provider.sign_out_at_provider, change.sign_out_at_provider, "signOutAtProvider");
    changed.set(&mut provider.authn_contexts, change.authn_contexts, "authnContexts");
    if let Some(known) = known {
        changed.0.extend(learn(ctx, &mut provider, known));
    }
    if !changed.0.is_empty() {
        provider.updated_at = ctx.now;
    }
    store.update_provider(&provider).await?;
    Ok((provider, changed.0))
}

/// Removes a provider. Sessions started through it continue.
pub async fn remove(store: &mut dyn ProviderStore, id: &ProviderId) -> Result<Provider, ProviderError> {
    let provider = store.provider(id).await?.ok_or(ProviderError::NotFound)?;
    store.delete_provider(id).await?;
    Ok(provider)
}

/// Adds a next key. Our metadata lists both certificates and both keys decrypt; the active key still signs.
pub async fn start_rotation(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
    key: SealedKey,
) -> Result<Provider, ProviderError> {
    let mut provider = store.provider(id).await?.ok_or(ProviderError::NotFound)?;
    if provider.keys.next.is_some() {
        return Err(ProviderError::RotationUnderWay);
    }
    provider.keys.next = Some(key);
    provider.updated_at = ctx.now;
    store.update_provider(&provider).await?;
    Ok(provider)
}

/// Completes a rotation: the next key becomes active and the previous one is removed.
pub async fn complete_rotation(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
) -> Result<Provider, ProviderError> {
    let mut provider = store.provider(id).await?.ok_or(ProviderError::NotFound)?;
    provider.keys.active = provider.keys.next.take().ok_or(ProviderError::NoRotation)?;
    provider.updated_at = ctx.now;
    store.update_provider(&provider).await?;
    Ok(provider)
}

/// Checks that no other SSO connection of the tenant, of any protocol, has one of these domains. Lock the list of
/// connections before, with [`ProviderStore::count_providers`].
pub async fn check_domains_free<S: ProviderStore + ?Sized>(
    store: &mut S,
    id: &ProviderId,
    domains: &[EmailDomain],
) -> Result<(), ProviderError> {
    for domain in domains {
        if store.provider_of_domain(domain).await?.is_some_and(|owner| owner != *id) {
            return Err(ProviderError::DomainTaken(domain.clone()));
        }
    }
    Ok(())
}

/// Applies the resolved metadata to a provider. Returns the JSON names of the changed fields.
fn learn(ctx: &Ctx, provider: &mut Provider, known: ResolvedMetadata) -> Vec<&'static str> {
    let ends = provider.expires_at();
    let mut changed = Changes::default();
    changed.set(&mut provider.idp.entity_id, known.idp.entity_id, "entityId");
    changed.set(&mut provider.idp.sso_url, known.idp.sso_url, "ssoUrl");
    changed.set(&mut provider.idp.sso_binding, known.idp.sso_binding, "ssoBinding");
    changed.set(&mut provider.idp.logout, known.idp.logout, "logoutService");
    changed.set(&mut provider.idp.certificates, known.idp.certificates, "certificates");
    changed.set(&mut provider.source, known.source, "source");
    provider.valid_until = known.valid_until;
    let is_read = provider.source != Source::Fields;
    let is_followed = matches!(provider.source, Source::MetadataUrl(_));
    provider.refresh = Refresh {
        read_at: is_read.then_some(ctx.now),
        failed: None,
        next_at: is_followed.then(|| refreshing::next_refresh(ctx)),
        wants_signed_requests: known.wants_signed_requests,
    };
    if provider.expires_at() != ends {
        provider.warned = None;
    }
    changed.0
}

/// The JSON names of the fields that changed.
#[derive(Default)]
pub(crate) struct Changes(pub(crate) Vec<&'static str>);

impl Changes {
    pub(crate) fn set<T: PartialEq>(&mut self, field: &mut T, to: T, name: &'static str) {
        if *field != to {
            *field = to;
            self.0.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        provider_change::OtherSide,
        testing::{DAY, World, change, fields, metadata},
    };

    #[tokio::test]
    async fn a_provider_is_created_changed_and_removed() {
        let mut world = World::new();
        let (first, second) = (world.certificate(100), world.certificate(200));
        let new = world.wanted(&["corp.example"], OtherSide::MetadataXml(metadata("https://idp", &[&first])));
        let ctx = world.ctx();
        let made = create(&ctx, &mut world.store, new).await.unwrap();
        assert_eq!(world.store.provider(&made.id).await.unwrap().unwrap(), made);
        assert_eq!((made.refresh.read_at, made.refresh.next_at), (Some(ctx.now), None));
        assert_eq!(made.due_at(), Some(first.not_after().plus_millis(-30 * DAY)));

        let same = change(&["corp.example"]).checked().unwrap();
        let (kept, changed) = replace(&ctx, &mut world.store, &made.id, same, None).await.unwrap();
        assert_eq!((&kept, changed), (&made, Vec::new()));

        world.env.advance_millis(1000);
        let ctx = world.ctx();
        let mut other = change(&["corp.example", "sub.corp.example"]);
        other.force_authn = true;
        let known = fields(&[&second]).checked(ctx.now).unwrap();
        let replaced = replace(&ctx, &mut world.store, &made.id, other.checked().unwrap(), Some(known));
        let (replaced, changed) = replaced.await.unwrap();
        assert_eq!(changed, ["emailDomains", "forceAuthn", "entityId", "certificates", "source"]);
        assert_eq!((replaced.updated_at, replaced.created_at), (ctx.now, made.created_at));
        assert_eq!((replaced.refresh.clone(), &replaced.keys), (Refresh::default(), &made.keys));

        let gone = remove(&mut world.store, &made.id).await.unwrap();
        assert_eq!(gone, replaced);
        for error in [
            remove(&mut world.store, &made.id).await.err(),
            complete_rotation(&ctx, &mut world.store, &made.id).await.err(),
            replace(&ctx, &mut world.store, &made.id, change(&["a.example"]).checked().unwrap(), None)
                .await
                .err(),
        ] {
            assert!(matches!(error, Some(ProviderError::NotFound)), "{error:?}");
        }
    }

    #[tokio::test]
    async fn domains_are_unique_per_tenant_and_providers_are_limited() {
        let mut world = World::new();
        let certificate = world.certificate(100);
        let ctx = world.ctx();
        let first = world.wanted(&["corp.example"], fields(&[&certificate]));
        let first = create(&ctx, &mut world.store, first).await.unwrap();
        let again = world.wanted(&["other.example", "corp.example"], fields(&[&certificate]));
        let error = create(&ctx, &mut world.store, again).await.err();
        assert!(
            matches!(&error, Some(ProviderError::DomainTaken(domain)) if domain.as_str() == "corp.example")
        );
        let other = world.wanted(&["other.example"], fields(&[&certificate]));
        let other = create(&ctx, &mut world.store, other).await.unwrap();
        let taking = change(&["other.example", "corp.example"]).checked().unwrap();
        let error = replace(&ctx, &mut world.store, &other.id, taking, None).await.err();
        assert!(matches!(error, Some(ProviderError::DomainTaken(_))));
        // Another tenant may use the same domain.
        let mut theirs = World::new();
        theirs.tenant = kernel::TenantId::new(&*theirs.env);
        theirs.store = world.store.for_tenant(&theirs.tenant);
        let new = theirs.wanted(&["corp.example"], fields(&[&certificate]));
        create(&theirs.ctx(), &mut theirs.store, new).await.unwrap();
        for number in 2..MAX_PROVIDERS {
            let id = ProviderId::new(&*world.env, &world.tenant);
            let domain = format!("d{number}.example");
            let copy = Provider { id, email_domains: vec![domain.parse().unwrap()], ..first.clone() };
            world.store.insert_provider(&copy).await.unwrap();
        }
        let more = world.wanted(&["more.example"], fields(&[&certificate]));
        let error = create(&ctx, &mut world.store, more).await.err();
        assert!(matches!(error, Some(ProviderError::TooMany)));
    }

    #[tokio::test]
    async fn rotation_keeps_both_keys_until_completed() {
        let mut world = World::new();
        let (certificate, ctx) = (world.certificate(100), world.ctx());
        let new = world.wanted(&["corp.example"], fields(&[&certificate]));
        let made = create(&ctx, &mut world.store, new).await.unwrap();
        let (next, third) = (world.key(&made.id), world.key(&made.id));
        let error = complete_rotation(&ctx, &mut world.store, &made.id).await.err();
        assert!(matches!(error, Some(ProviderError::NoRotation)));
        let started = start_rotation(&ctx, &mut world.store, &made.id, next.clone()).await.unwrap();
        assert_eq!(started.keys.all().collect::<Vec<_>>(), [&made.keys.active, &next]);
        let error = start_rotation(&ctx, &mut world.store, &made.id, third).await.err();
        assert!(matches!(error, Some(ProviderError::RotationUnderWay)));
        let done = complete_rotation(&ctx, &mut world.store, &made.id).await.unwrap();
        assert_eq!(done.keys.all().collect::<Vec<_>>(), [&next]);
    }
}
