//! Whose a domain is: one tenant's, until it is given up.

use kernel::{Ctx, StoreError, TenantId};

use crate::domain::{DomainStore, EmailDomain, Method, VerifiedDomain};

/// Why a domain cannot be owned or given up.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// Another tenant has proved it.
    #[error("{0} belongs to another tenant here, which has proved it; it has to be given up there first")]
    Taken(EmailDomain),
    /// The tenant has not proved it.
    #[error("{0} is no domain that this tenant has proved")]
    NotFound(EmailDomain),
    /// Storage.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Keeps that a domain is this tenant's. Says whether that is new; if not, it stays as it was.
pub async fn own(
    ctx: &Ctx,
    store: &mut dyn DomainStore,
    domain: EmailDomain,
    method: Method,
) -> Result<(VerifiedDomain, bool), DomainError> {
    let verified = VerifiedDomain { domain, method, verified_at: ctx.now };
    if store.insert_verified_domain(&verified).await? {
        return Ok((verified, true));
    }
    let domain = verified.domain;
    let owner: Option<TenantId> = store.domain_owner(&domain).await?;
    let ours = if owner.as_ref() == Some(&ctx.tenant) { store.verified_domains().await? } else { Vec::new() };
    let known = ours.into_iter().find(|known| known.domain == domain);
    known.map(|known| (known, false)).ok_or(DomainError::Taken(domain))
}

/// Gives a domain up: from now on nobody is led to this tenant by it, and others may prove it.
pub async fn give_up(store: &mut dyn DomainStore, domain: &EmailDomain) -> Result<(), DomainError> {
    let given_up = store.delete_verified_domain(domain).await?;
    if given_up { Ok(()) } else { Err(DomainError::NotFound(domain.clone())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[tokio::test]
    async fn a_domain_has_one_owner_until_it_is_given_up() {
        let (mut ours, mut theirs) = (World::new(), World::new());
        // Two clocks that begin alike make like ids.
        theirs.tenant = TenantId::new(&*theirs.env);
        theirs.store = ours.store.beside(&theirs.tenant);
        let domain: EmailDomain = "corp.example".parse().unwrap();
        let ctx = ours.ctx();
        let (first, is_new) = own(&ctx, &mut ours.store, domain.clone(), Method::Operator).await.unwrap();
        assert!(is_new);
        ours.env.advance_millis(1000);
        let again = own(&ours.ctx(), &mut ours.store, domain.clone(), Method::Dns).await.unwrap();
        assert_eq!(again, (first, false));
        let their_ctx = theirs.ctx();
        let taken = own(&their_ctx, &mut theirs.store, domain.clone(), Method::Dns).await;
        assert!(matches!(taken, Err(DomainError::Taken(_))));
        assert!(matches!(give_up(&mut theirs.store, &domain).await, Err(DomainError::NotFound(_))));
        give_up(&mut ours.store, &domain).await.unwrap();
        assert!(matches!(give_up(&mut ours.store, &domain).await, Err(DomainError::NotFound(_))));
        assert!(own(&their_ctx, &mut theirs.store, domain, Method::Dns).await.unwrap().1);
    }
}
