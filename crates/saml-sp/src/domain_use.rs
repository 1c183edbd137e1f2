//! The domains that a tenant uses: those of its providers, and those that it has verified.

use std::collections::BTreeMap;

use kernel::StoreResult;

use crate::{
    domain::{EmailDomain, VerifiedDomain},
    id::ProviderId,
    store::{DomainStore, ProviderStore},
};

/// A tenant's use of a domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DomainUse {
    /// The tenant's providers with this domain.
    pub providers: Vec<ProviderId>,
    /// How the tenant has verified the domain.
    pub verified: Option<VerifiedDomain>,
}

/// Returns all domains that the tenant uses or has verified.
pub async fn domain_uses<S: ProviderStore + DomainStore + ?Sized>(
    store: &mut S,
) -> StoreResult<BTreeMap<EmailDomain, DomainUse>> {
    let mut uses: BTreeMap<EmailDomain, DomainUse> = BTreeMap::new();
    for (domain, provider) in store.domains_of_providers().await? {
        uses.entry(domain).or_default().providers.push(provider);
    }
    for verified in store.verified_domains().await? {
        let used = uses.entry(verified.domain.clone()).or_default();
        used.verified = Some(verified);
    }
    Ok(uses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        change::create,
        domain::Method,
        ownership::own,
        testing::{World, fields},
    };

    #[tokio::test]
    async fn used_and_verified_domains_are_listed_together() {
        let mut world = World::new();
        let (ctx, certificate) = (world.ctx(), world.certificate(100));
        let new = world.wanted(&["corp.example", "sub.corp.example"], fields(&[&certificate]));
        let made = create(&ctx, &mut world.store, new).await.unwrap();
        for domain in ["corp.example", "unused.example"] {
            own(&ctx, &mut world.store, domain.parse().unwrap(), Method::Dns, None).await.unwrap();
        }
        let uses = domain_uses(&mut world.store).await.unwrap();
        let found =
            uses.iter().map(|(domain, one)| (domain.as_str(), one.providers.len(), one.verified.is_some()));
        let expected =
            [("corp.example", 1, true), ("sub.corp.example", 1, false), ("unused.example", 0, true)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(uses[&"corp.example".parse().unwrap()].providers, [made.id]);
    }
}
