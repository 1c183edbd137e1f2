//! Metadata at an address, read again and again: a key that the identity provider replaced is known before it signs.

use kernel::{Ctx, StoreResult, Timestamp};

use crate::{
    certificate::Certificate,
    change::Changes,
    error::ProviderError,
    id::ProviderId,
    metadata::IdpMetadata,
    provider::{Provider, Source},
    provider_change::usable,
    store::ProviderStore,
};

/// Milliseconds between two looks that succeed: so long, or up to a tenth less, so that not all come at once.
const EVERY: i64 = 6 * 3_600_000;
/// Milliseconds after the first look in vain. After each further one it is twice as long, up to [`EVERY`].
const RETRY: i64 = 15 * 60_000;
/// Characters that are kept of why a look was in vain.
const MAX_PROBLEM: usize = 500;

/// What came of a look.
#[derive(Debug)]
pub struct RefreshOutcome {
    /// As it is now.
    pub provider: Provider,
    /// Fields that changed, by their JSON names.
    pub changed: Vec<&'static str>,
    /// Why it was in vain, if it was: what is known of the other side stays as it was.
    pub problem: Option<String>,
}

/// Keeps what was read at a provider's address: its text, or why there is none.
///
/// If the provider has another address by now, nothing is done.
pub async fn refreshed(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
    url: &str,
    read: Result<String, String>,
) -> Result<RefreshOutcome, ProviderError> {
    let mut provider = store.provider(id).await?.ok_or(ProviderError::NotFound)?;
    if !matches!(&provider.source, Source::MetadataUrl(known) if known == url) {
        return Ok(RefreshOutcome { provider, changed: Vec::new(), problem: None });
    }
    let read =
        read.and_then(|text| usable(&text, ctx.now)).and_then(|read| provider.still_usable(read, ctx.now));
    let (changed, problem) = match read.and_then(|metadata| provider.apply_metadata(metadata)) {
        Ok(changed) => {
            provider.refresh.read_at = Some(ctx.now);
            provider.refresh.failed = None;
            provider.refresh.next_at = Some(next_look(ctx));
            (changed, None)
        }
        Err(problem) => {
            let problem: String = problem.chars().take(MAX_PROBLEM).collect();
            let before = provider.refresh.failed.as_ref().map(|(at, _)| *at);
            provider.refresh.next_at = Some(next_try(before, ctx.now));
            provider.refresh.failed = Some((ctx.now, problem.clone()));
            (Vec::new(), Some(problem))
        }
    };
    if !changed.is_empty() {
        provider.updated_at = ctx.now;
    }
    store.update_provider(&provider).await?;
    Ok(RefreshOutcome { provider, changed, problem })
}

/// That the last certificate of a provider ends, to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateExpiry {
    /// When the certificate expires.
    pub expires_at: Timestamp,
    /// Days before that at which it is told: 30, 7 or 1.
    pub days: i64,
    /// The certificate's SHA-256.
    pub certificate: String,
}

/// Notes that somebody has looked after a provider, and answers what there is to tell now. There is nothing if it is
/// gone.
pub async fn apply_refresh(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
) -> StoreResult<Option<CertificateExpiry>> {
    let Some(mut provider) = store.provider(id).await? else { return Ok(None) };
    let days = provider.take_warning(ctx.now);
    store.update_provider(&provider).await?;
    let last = provider.idp.certificates.iter().max_by_key(|certificate| certificate.not_after());
    Ok(days.zip(last).map(|(days, last)| CertificateExpiry {
        expires_at: last.not_after(),
        days,
        certificate: last.fingerprint(),
    }))
}

/// When metadata that was read now is looked at again.
pub(crate) fn next_look(ctx: &Ctx) -> Timestamp {
    let mut random = [0; 4];
    ctx.env.fill(&mut random);
    ctx.now.plus_millis(-(i64::from(u32::from_be_bytes(random)) % (EVERY / 10))).plus_millis(EVERY)
}

/// When metadata that was looked at now in vain is looked at again: twice as long after it as it is after the look in
/// vain before, if there was one.
fn next_try(before: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let so_long = before.map_or(0, |before| now.unix_millis() - before.unix_millis());
    now.plus_millis(so_long.saturating_mul(2).clamp(RETRY, EVERY))
}

impl Provider {
    /// Refuses metadata whose certificates are not valid yet while one that is pinned is valid: nobody could sign in.
    fn still_usable(&self, read: IdpMetadata, now: Timestamp) -> Result<IdpMetadata, String> {
        let is_usable = |certificates: &[Certificate]| certificates.iter().any(|one| one.is_valid_at(now));
        if is_usable(&self.idp.certificates) && !is_usable(&read.idp.certificates) {
            return Err("no signing certificate in it is valid yet; those from before stay in force".into());
        }
        Ok(read)
    }

    /// Takes over what its metadata says now: addresses and certificates, and which of them changed. A changed entity
    /// id is refused with a sentence that says so: it would be somebody else.
    pub fn apply_metadata(&mut self, metadata: IdpMetadata) -> Result<Vec<&'static str>, String> {
        let IdpMetadata { idp, wants_signed_requests, valid_until } = metadata;
        if idp.entity_id != self.idp.entity_id {
            let now: String = idp.entity_id.chars().take(200).collect();
            return Err(format!(
                "the entityID in it is {now} now, which would be another identity provider; set the metadata again if that is meant"
            ));
        }
        let ends = self.expires_at();
        let mut changed = Changes::default();
        changed.set(&mut self.idp.sso_url, idp.sso_url, "ssoUrl");
        changed.set(&mut self.idp.certificates, idp.certificates, "certificates");
        self.valid_until = valid_until;
        self.refresh.wants_signed_requests = wants_signed_requests;
        if self.expires_at() != ends {
            self.warned = None;
        }
        Ok(changed.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        change::{create, remove},
        provider_change::OtherSide,
        testing::{DAY, HOUR, VALID_DAYS, World, fields, metadata},
    };

    const IDP: &str = "https://idp.example.com";
    const URL: &str = "https://idp.example.com/metadata";

    async fn followed(world: &mut World, days: i64) -> Provider {
        let text = metadata(IDP, &[&world.certificate(days)]);
        let new = world.wanted(&["corp.example"], OtherSide::MetadataUrl { url: URL.into(), text });
        let ctx = world.ctx();
        create(&ctx, &mut world.store, new).await.unwrap()
    }

    async fn refresh(world: &mut World, id: &ProviderId, read: Result<String, &str>) -> RefreshOutcome {
        let ctx = world.ctx();
        refreshed(&ctx, &mut world.store, id, URL, read.map_err(str::to_owned)).await.unwrap()
    }

    #[tokio::test]
    async fn new_certificates_are_taken_over_and_another_entity_is_not() {
        let mut world = World::new();
        let made = followed(&mut world, 100).await;
        let wait = made.refresh.next_at.unwrap().unix_millis() - world.now().unix_millis();
        assert!((5 * HOUR + 24 * 60_000..=6 * HOUR).contains(&wait), "{wait}");
        world.env.advance_millis(wait);
        let (old, new) = (made.idp.certificates[0].clone(), world.certificate(300));
        let same = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&old]))).await;
        assert_eq!((same.changed.len(), same.problem, same.provider.updated_at), (0, None, made.updated_at));
        assert_eq!(same.provider.refresh.read_at, Some(world.now()));
        let both = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&old, &new]))).await;
        assert_eq!((both.changed, both.provider.idp.certificates.len()), (vec!["certificates"], 2));
        assert_eq!(both.provider.updated_at, world.now());

        let other = refresh(&mut world, &made.id, Ok(metadata("https://evil.example", &[&new]))).await;
        let problem = other.problem.unwrap();
        assert!(problem.starts_with("the entityID in it is https://evil.example now"), "{problem}");
        assert_eq!(other.provider.idp, both.provider.idp);
        let ended = world.certificate(-1);
        let over = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&ended]))).await;
        assert!(over.problem.unwrap().starts_with("all signing certificates in it have ended"));
        assert_eq!(over.provider.idp, both.provider.idp);
        let early = world.certificate(VALID_DAYS + 10);
        let soon = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&early]))).await;
        assert!(soon.problem.unwrap().starts_with("no signing certificate in it is valid yet"));
        assert_eq!(soon.provider.idp, both.provider.idp);
        let healed = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&new]))).await;
        assert_eq!((healed.changed, healed.provider.refresh.failed), (vec!["certificates"], None));
    }

    #[tokio::test]
    async fn a_server_that_is_down_is_asked_less_and_less_often() {
        let mut world = World::new();
        let made = followed(&mut world, 100).await;
        world.env.advance_millis(6 * HOUR);
        let mut waits = Vec::new();
        for _ in 0..7 {
            let failed = refresh(&mut world, &made.id, Err("the server answered 503")).await.provider;
            assert_eq!(failed.refresh.failed, Some((world.now(), "the server answered 503".into())));
            let wait = failed.refresh.next_at.unwrap().unix_millis() - world.now().unix_millis();
            waits.push(wait / 60_000);
            world.env.advance_millis(wait);
        }
        assert_eq!(waits, [15, 30, 60, 120, 240, 360, 360]);
        assert_eq!(world.store.provider(&made.id).await.unwrap().unwrap().idp, made.idp);
    }

    #[tokio::test]
    async fn what_was_read_elsewhere_meanwhile_counts_for_nothing() {
        let mut world = World::new();
        let made = followed(&mut world, 100).await;
        let (ctx, text) = (world.ctx(), metadata(IDP, &[&world.certificate(300)]));
        let stale = refreshed(&ctx, &mut world.store, &made.id, "https://before.example/", Ok(text));
        assert_eq!(stale.await.unwrap().provider, made);
        remove(&mut world.store, &made.id).await.unwrap();
        let gone = refreshed(&ctx, &mut world.store, &made.id, URL, Err("x".into())).await;
        assert!(matches!(gone, Err(ProviderError::NotFound)));
        assert_eq!(apply_refresh(&ctx, &mut world.store, &made.id).await.unwrap(), None);
    }

    #[tokio::test]
    async fn an_end_is_told_at_30_7_and_1_days_and_anew_for_another() {
        let mut world = World::new();
        let certificate = world.certificate(40);
        let new = world.wanted(&["corp.example"], fields(&[&certificate]));
        let ctx = world.ctx();
        let made = create(&ctx, &mut world.store, new).await.unwrap();
        let mut told = Vec::new();
        for day in 0..42 {
            let ctx = world.ctx();
            if let Some(ending) = apply_refresh(&ctx, &mut world.store, &made.id).await.unwrap() {
                assert_eq!(ending.certificate, certificate.fingerprint());
                told.push((day, ending.days));
            }
            world.env.advance_millis(DAY);
        }
        assert_eq!(told, [(10, 30), (33, 7), (39, 1)]);
        assert_eq!(world.store.provider(&made.id).await.unwrap().unwrap().due_at(), None);
        // Newer metadata ends later: that will be told.
        let mut provider = world.store.provider(&made.id).await.unwrap().unwrap();
        let later = world.certificate(20);
        let text = metadata(IDP, &[&later]);
        provider.apply_metadata(IdpMetadata::read(&text, world.now()).unwrap()).unwrap();
        assert_eq!(provider.take_warning(world.now()), Some(30));
    }
}
