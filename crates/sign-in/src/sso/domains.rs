//! Changes of verified domains, with their audit entries.

use audit::{
    Audited, Event, Unaudited,
    events::saml::{DomainProofLost, DomainRemoved, DomainUnverified, DomainVerified},
};
use kernel::{Ctx, StoreResult};
use saml_sp::{
    DomainError, DomainRecheck, DomainStore, DomainUse, EmailDomain, Method, ProviderStore, RecheckOutcome,
    RecordFound,
};

async fn own(
    ctx: &Ctx,
    store: &mut dyn DomainStore,
    domain: &EmailDomain,
    method: Method,
    token: Option<String>,
) -> Result<Option<Event>, DomainError> {
    let (_, is_new) = saml_sp::own(ctx, store, domain.clone(), method, token).await?;
    let data = DomainVerified { method: method.as_str().to_owned() };
    Ok(is_new.then(|| Event::new(domain.as_str(), &data)))
}

/// Verifies a domain whose record was found just now, with this token. `None` stands for a domain that the tenant had
/// verified before, so that its record was not checked.
pub async fn verify_domain<S: DomainStore + ProviderStore>(
    ctx: &Ctx,
    store: &mut S,
    domain: &EmailDomain,
    token: Option<String>,
) -> Result<Audited<DomainUse>, DomainError> {
    let was_verified = token.is_none();
    let event = own(ctx, store, domain, Method::Dns, token).await?;
    if event.is_some() && was_verified {
        // The tenant gave up the domain meanwhile, and its record was not checked.
        return Err(DomainError::JustReleased);
    }
    let domain_use = saml_sp::domain_uses(store).await?.remove(domain).unwrap_or_default();
    Ok(Audited::of_changes(domain_use, event.into_iter().collect()))
}

/// Verifies a domain without proof.
pub async fn verify_domain_as_operator(
    ctx: &Ctx,
    store: &mut dyn DomainStore,
    domain: &EmailDomain,
) -> Result<Audited<()>, DomainError> {
    let event = own(ctx, store, domain, Method::Operator, None).await?;
    Ok(Audited::of_changes((), event.into_iter().collect()))
}

/// Releases a domain.
pub async fn release_domain(
    store: &mut dyn DomainStore,
    domain: &EmailDomain,
) -> Result<Audited<()>, DomainError> {
    saml_sp::give_up(store, domain).await?;
    Ok(Audited::new((), Event::new(domain.as_str(), &DomainRemoved {})))
}

/// Applies the result of a DNS lookup to a domain that was due for it; `None` if the tenant has released the domain
/// meanwhile.
pub async fn recheck_domain(
    ctx: &Ctx,
    store: &mut dyn DomainStore,
    domain: &EmailDomain,
    before: &DomainRecheck,
    found: RecordFound,
) -> StoreResult<Audited<Option<RecheckOutcome>>> {
    let outcome = saml_sp::apply_recheck(ctx, store, domain, before, found).await?;
    let event = match &outcome {
        None => return Ok(Audited::without(None, Unaudited::NothingChanged)),
        Some(RecheckOutcome::Kept(_)) => None,
        Some(RecheckOutcome::Lost(_)) => {
            Some(Event::new(domain.as_str(), &DomainProofLost { record: domain.record_name() }))
        }
        Some(RecheckOutcome::Unverified { missing_since }) => {
            let data = DomainUnverified { missing_since: missing_since.to_string() };
            Some(Event::new(domain.as_str(), &data))
        }
    };
    Ok(Audited::of_changes(outcome, event.into_iter().collect()))
}
