//! Ownership of domains: a verified domain belongs to one tenant until it is released.

use crate::error::DomainError;
use kernel::{Ctx, StoreResult, TenantId, Timestamp};

use crate::{
    domain::{EmailDomain, Method, VerifiedDomain},
    store::DomainStore,
};

/// Records a domain as verified by this tenant, with the token of its DNS record if it has one. Returns whether it is new;
/// an existing record is kept unchanged.
pub async fn own(
    ctx: &Ctx,
    store: &mut dyn DomainStore,
    domain: EmailDomain,
    method: Method,
    token: Option<String>,
) -> Result<(VerifiedDomain, bool), DomainError> {
    let verified = VerifiedDomain { domain, method, verified_at: ctx.now, token };
    if store.insert_verified_domain(&verified).await? {
        return Ok((verified, true));
    }
    let domain = verified.domain;
    let owner: Option<TenantId> = store.domain_owner(&domain).await?;
    let ours = if owner.as_ref() == Some(&ctx.tenant) { store.verified_domains().await? } else { Vec::new() };
    let known = ours.into_iter().find(|known| known.domain == domain);
    known.map(|known| (known, false)).ok_or(DomainError::Taken(domain))
}

/// Releases a domain: sign-ins with it no longer lead to this tenant, and other tenants may verify it.
pub async fn give_up(store: &mut dyn DomainStore, domain: &EmailDomain) -> Result<(), DomainError> {
    let given_up = store.delete_verified_domain(domain).await?;
    if given_up { Ok(()) } else { Err(DomainError::NotFound(domain.clone())) }
}

/// Interval between checks of a domain's DNS record.
pub const RECHECK_MILLIS: i64 = 30 * DAY_MILLIS;
/// Delay before the next check if the record is missing or DNS does not answer.
const RETRY_MILLIS: i64 = DAY_MILLIS;
/// How long the record may be missing before the domain loses its verification.
const GRACE_MILLIS: i64 = 7 * DAY_MILLIS;
const DAY_MILLIS: i64 = 24 * 3_600_000;

/// The state of the periodic check of a domain's DNS record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainRecheck {
    /// The token in the record, as last found. A check accepts it, although the key that it was made with may have been
    /// retired since.
    pub token: Option<String>,
    /// Since when the record has been missing.
    pub missing_since: Option<Timestamp>,
    /// When to check it next.
    pub next_at: Timestamp,
}

/// The result of a DNS lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordFound {
    /// The record exists, with this token.
    Present(String),
    /// DNS answered that the record does not exist.
    Absent,
    /// DNS did not answer.
    Unknown,
}

/// The effect of a check on a verified domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecheckOutcome {
    /// The domain remains verified.
    Kept(DomainRecheck),
    /// The record is missing for the first time: warn the administrators.
    Lost(DomainRecheck),
    /// The record has been missing for too long: the domain is no longer verified.
    Unverified {
        /// When the record was first missing.
        missing_since: Timestamp,
    },
}

/// Decides the effect of a DNS lookup. A lookup without an answer never removes the verification.
fn recheck(now: Timestamp, before: &DomainRecheck, found: RecordFound) -> RecheckOutcome {
    let retry = |missing_since| DomainRecheck {
        token: before.token.clone(),
        missing_since,
        next_at: now.plus_millis(RETRY_MILLIS),
    };
    match (found, before.missing_since) {
        (RecordFound::Present(token), _) => RecheckOutcome::Kept(DomainRecheck {
            token: Some(token),
            missing_since: None,
            next_at: now.plus_millis(RECHECK_MILLIS),
        }),
        (RecordFound::Unknown, missing_since) => RecheckOutcome::Kept(retry(missing_since)),
        (RecordFound::Absent, None) => RecheckOutcome::Lost(retry(Some(now))),
        (RecordFound::Absent, Some(since)) if now < since.plus_millis(GRACE_MILLIS) => {
            RecheckOutcome::Kept(retry(Some(since)))
        }
        (RecordFound::Absent, Some(missing_since)) => RecheckOutcome::Unverified { missing_since },
    }
}

/// Applies the result of a DNS lookup to a domain that was due for it; `None` if the tenant has released the domain
/// meanwhile.
pub async fn apply_recheck(
    ctx: &Ctx,
    store: &mut dyn DomainStore,
    domain: &EmailDomain,
    before: &DomainRecheck,
    found: RecordFound,
) -> StoreResult<Option<RecheckOutcome>> {
    let outcome = recheck(ctx.now, before, found);
    let is_applied = match &outcome {
        RecheckOutcome::Kept(next) | RecheckOutcome::Lost(next) => {
            store.reschedule_domain(domain, next).await?
        }
        RecheckOutcome::Unverified { .. } => store.delete_verified_domain(domain).await?,
    };
    Ok(is_applied.then_some(outcome))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn a_domain_is_unverified_after_a_week_without_its_record() {
        let start: Timestamp = "2026-03-01T12:00:00.000Z".parse().unwrap();
        let day = |days: i64| start.plus_millis(days * DAY_MILLIS);
        let at = |missing_since, next_at| {
            let token = Some("ours".to_owned());
            DomainRecheck { token, missing_since, next_at }
        };
        let due = DomainRecheck { token: None, missing_since: None, next_at: start };
        let present = || RecordFound::Present("ours".to_owned());
        assert_eq!(recheck(start, &due, present()), RecheckOutcome::Kept(at(None, day(30))));
        let due = at(None, start);
        let retry = RecheckOutcome::Kept(at(None, day(1)));
        assert_eq!(recheck(start, &due, RecordFound::Unknown), retry);
        let missing = at(Some(start), day(1));
        assert_eq!(recheck(start, &due, RecordFound::Absent), RecheckOutcome::Lost(missing.clone()));
        let sixth = RecheckOutcome::Kept(at(Some(start), day(7)));
        assert_eq!(recheck(day(6), &missing, RecordFound::Absent), sixth);
        let late = RecheckOutcome::Kept(at(Some(start), day(31)));
        assert_eq!(recheck(day(30), &missing, RecordFound::Unknown), late);
        let unverified = RecheckOutcome::Unverified { missing_since: start };
        assert_eq!(recheck(day(7), &missing, RecordFound::Absent), unverified);
        assert_eq!(recheck(day(7), &missing, present()), RecheckOutcome::Kept(at(None, day(37))));
    }

    #[tokio::test]
    async fn a_recheck_changes_only_a_domain_that_the_tenant_still_has() {
        let mut world = World::new();
        let domain: EmailDomain = "corp.example".parse().unwrap();
        let ctx = world.ctx();
        let due = DomainRecheck { token: None, missing_since: None, next_at: ctx.now };
        let store = &mut world.store;
        assert_eq!(apply_recheck(&ctx, store, &domain, &due, RecordFound::Absent).await.unwrap(), None);
        own(&ctx, store, domain.clone(), Method::Dns, None).await.unwrap();
        let lost = apply_recheck(&ctx, store, &domain, &due, RecordFound::Absent).await.unwrap();
        let Some(RecheckOutcome::Lost(next)) = lost else { panic!("{lost:?}") };
        let missing_since = next.missing_since.unwrap();
        world.env.advance_millis(GRACE_MILLIS);
        let (ctx, store) = (world.ctx(), &mut world.store);
        let over = apply_recheck(&ctx, store, &domain, &next, RecordFound::Absent).await.unwrap();
        assert_eq!(over, Some(RecheckOutcome::Unverified { missing_since }));
        assert_eq!(store.verified_domains().await.unwrap(), []);
        assert_eq!(apply_recheck(&ctx, store, &domain, &next, RecordFound::Absent).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_domain_has_one_owner_until_it_is_released() {
        let (mut ours, mut theirs) = (World::new(), World::new());
        // Both clocks start at the same time, so both worlds would generate the same tenant id.
        theirs.tenant = TenantId::new(&*theirs.env);
        theirs.store = ours.store.for_tenant(&theirs.tenant);
        let domain: EmailDomain = "corp.example".parse().unwrap();
        let ctx = ours.ctx();
        let (first, is_new) =
            own(&ctx, &mut ours.store, domain.clone(), Method::Operator, None).await.unwrap();
        assert!(is_new);
        ours.env.advance_millis(1000);
        let again = own(&ours.ctx(), &mut ours.store, domain.clone(), Method::Dns, None).await.unwrap();
        assert_eq!(again, (first, false));
        let their_ctx = theirs.ctx();
        let taken = own(&their_ctx, &mut theirs.store, domain.clone(), Method::Dns, None).await;
        assert!(matches!(taken, Err(DomainError::Taken(_))));
        assert!(matches!(give_up(&mut theirs.store, &domain).await, Err(DomainError::NotFound(_))));
        give_up(&mut ours.store, &domain).await.unwrap();
        assert!(matches!(give_up(&mut ours.store, &domain).await, Err(DomainError::NotFound(_))));
        assert!(own(&their_ctx, &mut theirs.store, domain, Method::Dns, None).await.unwrap().1);
    }
}
