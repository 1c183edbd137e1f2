//! Periodic refresh of metadata, so that new keys are known before the identity provider signs with them.

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

/// Milliseconds between successful refreshes, reduced by a random part of up to 10 % to spread the load.
const EVERY: i64 = 6 * 3_600_000;
/// Milliseconds before the first retry. The delay doubles with each failure, up to [`EVERY`].
const RETRY: i64 = 15 * 60_000;
/// Minimum milliseconds between refreshes that refused signatures cause.
const EARLY: i64 = 5 * 60_000;
/// Maximum length of a stored error message, in characters.
const MAX_PROBLEM: usize = 500;

/// The result of a refresh.
#[derive(Debug)]
pub struct RefreshOutcome {
    /// The provider after the refresh.
    pub provider: Provider,
    /// The JSON names of the changed fields.
    pub changed: Vec<&'static str>,
    /// The reason if the refresh failed; the settings are unchanged then.
    pub problem: Option<String>,
}

/// Applies the metadata fetched from a provider's URL, or records why fetching failed.
///
/// Does nothing if the provider's URL has changed in the meantime.
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
            provider.refresh.next_at = Some(next_refresh(ctx));
            (changed, None)
        }
        Err(problem) => {
            let problem: String = problem.chars().take(MAX_PROBLEM).collect();
            let before = provider.refresh.failed.as_ref().map(|(at, _)| *at);
            provider.refresh.next_at = Some(next_retry(before, ctx.now));
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

/// A warning that a provider's last signing certificate expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateExpiry {
    /// When the certificate expires.
    pub expires_at: Timestamp,
    /// Days before expiry at which this warning is due: 30, 7 or 1.
    pub days: i64,
    /// The certificate's SHA-256.
    pub certificate: String,
}

/// Returns the expiry warning that is due and marks it as sent; `None` if there is none or the provider was removed.
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

/// Schedules an early refresh, unless one is scheduled already or the provider has no metadata URL.
pub async fn schedule_early_refresh(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
) -> StoreResult<()> {
    let Some(mut provider) = store.provider(id).await? else { return Ok(()) };
    if let Some(at) = provider.early_refresh_at(ctx.now) {
        provider.refresh.next_at = Some(at);
        store.update_provider(&provider).await?;
    }
    Ok(())
}

/// Returns when to fetch metadata again after a success.
pub fn next_refresh(ctx: &Ctx) -> Timestamp {
    let mut random = [0; 4];
    ctx.env.fill(&mut random);
    ctx.now.plus_millis(-(i64::from(u32::from_be_bytes(random)) % (EVERY / 10))).plus_millis(EVERY)
}

/// Returns when to fetch metadata again after a failure. The delay is twice the time since the previous failure,
/// within limits.
pub fn next_retry(before: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let so_long = before.map_or(0, |before| now.unix_millis() - before.unix_millis());
    now.plus_millis(so_long.saturating_mul(2).clamp(RETRY, EVERY))
}

impl Provider {
    /// Returns the metadata URL if a refresh is due.
    pub fn due_metadata_url(&self, now: Timestamp) -> Option<&str> {
        let Source::MetadataUrl(url) = &self.source else { return None };
        self.refresh.next_at.is_some_and(|at| at <= now).then_some(url)
    }

    /// Returns when to fetch the metadata because the identity provider may have a new key; `None` if it is fetched
    /// by then anyway, or has no URL.
    pub fn early_refresh_at(&self, now: Timestamp) -> Option<Timestamp> {
        if !matches!(self.source, Source::MetadataUrl(_)) {
            return None;
        }
        let refresh = &self.refresh;
        let tried_at = refresh.read_at.max(refresh.failed.as_ref().map(|(at, _)| *at));
        let at = tried_at.map_or(now, |at| at.plus_millis(EARLY)).max(now);
        refresh.next_at.is_none_or(|next| at < next).then_some(at)
    }

    /// Rejects metadata without a valid certificate while a pinned one is valid, because nobody could sign in.
    fn still_usable(&self, read: IdpMetadata, now: Timestamp) -> Result<IdpMetadata, String> {
        let is_usable = |certificates: &[Certificate]| certificates.iter().any(|one| one.is_valid_at(now));
        if is_usable(&self.idp.certificates) && !is_usable(&read.idp.certificates) {
            return Err(
                "no signing certificate in the metadata is valid yet; the previous certificates stay in \
                effect"
                    .into(),
            );
        }
        Ok(read)
    }

    /// Applies the URL and certificates in the metadata and returns the changed fields. Fails if the entity id
    /// changed, because that is another identity provider.
    pub fn apply_metadata(&mut self, metadata: IdpMetadata) -> Result<Vec<&'static str>, String> {
        let IdpMetadata { idp, wants_signed_requests, valid_until } = metadata;
        if idp.entity_id != self.idp.entity_id {
            let now: String = idp.entity_id.chars().take(200).collect();
            return Err(format!(
                "the entityID in the metadata has changed to {now}, which is another identity provider; set the \
                 metadata again if this is intended"
            ));
        }
        let ends = self.expires_at();
        let mut changed = Changes::default();
        changed.set(&mut self.idp.sso_url, idp.sso_url, "ssoUrl");
        changed.set(&mut self.idp.sso_binding, idp.sso_binding, "ssoBinding");
        changed.set(&mut self.idp.logout, idp.logout, "logoutService");
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
    async fn refresh_applies_new_certificates_but_not_another_entity_id() {
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
        assert!(
            problem.starts_with("the entityID in the metadata has changed to https://evil.example"),
            "{problem}"
        );
        assert_eq!(other.provider.idp, both.provider.idp);
        let ended = world.certificate(-1);
        let over = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&ended]))).await;
        assert!(over.problem.unwrap().starts_with("all signing certificates in the metadata have expired"));
        assert_eq!(over.provider.idp, both.provider.idp);
        let early = world.certificate(VALID_DAYS + 10);
        let soon = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&early]))).await;
        assert!(soon.problem.unwrap().starts_with("no signing certificate in the metadata is valid yet"));
        assert_eq!(soon.provider.idp, both.provider.idp);
        let healed = refresh(&mut world, &made.id, Ok(metadata(IDP, &[&new]))).await;
        assert_eq!((healed.changed, healed.provider.refresh.failed), (vec!["certificates"], None));
    }

    #[tokio::test]
    async fn failed_refreshes_back_off_exponentially() {
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
    async fn refused_signatures_refresh_metadata_at_most_every_five_minutes() {
        let mut world = World::new();
        let made = followed(&mut world, 100).await;
        let (ctx, minutes) = (world.ctx(), |minutes: i64| made.created_at.plus_millis(minutes * 60_000));
        schedule_early_refresh(&ctx, &mut world.store, &made.id).await.unwrap();
        let scheduled = world.store.provider(&made.id).await.unwrap().unwrap();
        assert_eq!(scheduled.refresh.next_at, Some(minutes(5)));
        assert_eq!(scheduled.early_refresh_at(minutes(1)), None);
        assert_eq!(scheduled.due_metadata_url(minutes(4)), None);
        assert_eq!(scheduled.due_metadata_url(minutes(5)), Some(URL));
        // A failed refresh counts as well, and a long pause allows one at once.
        assert_eq!(made.early_refresh_at(minutes(60)), Some(minutes(60)));
        world.env.advance_millis(60 * 60_000);
        let failed = refresh(&mut world, &made.id, Err("the server answered 503")).await.provider;
        assert_eq!(failed.early_refresh_at(minutes(61)), Some(minutes(65)));
        let by_hand = Provider { source: Source::Fields, ..made.clone() };
        assert_eq!(
            (by_hand.early_refresh_at(minutes(60)), by_hand.due_metadata_url(minutes(900))),
            (None, None)
        );
    }

    #[tokio::test]
    async fn metadata_of_a_replaced_url_is_ignored() {
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
    async fn expiry_is_warned_at_30_7_and_1_days_and_again_for_a_new_one() {
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
        // A certificate that expires later restarts the warnings.
        let mut provider = world.store.provider(&made.id).await.unwrap().unwrap();
        let later = world.certificate(20);
        let text = metadata(IDP, &[&later]);
        provider.apply_metadata(IdpMetadata::read(&text, world.now()).unwrap()).unwrap();
        assert_eq!(provider.take_warning(world.now()), Some(30));
    }
}
