//! Refreshes of a provider's metadata and keys, so that new keys are known before they sign.

use audit::{Audited, Unaudited};
use kernel::{Ctx, Timestamp};
use oidc_rp::{KeySet, ProviderMetadata};
use saml_sp::{ProviderError, ProviderId, next_refresh, next_retry};

use super::{
    change::{changed_fields, updated},
    provider::OidcProvider,
    store::OidcStore,
};

/// Milliseconds between two reads of a key set because of unknown keys.
const EARLY_MILLIS: i64 = 60_000;
/// Maximum length of a stored error message, in characters.
const MAX_PROBLEM: usize = 500;

/// What was read from a provider.
#[derive(Debug, Clone)]
pub struct Discovered {
    /// Its metadata.
    pub metadata: ProviderMetadata,
    /// The keys at its `jwks_uri`.
    pub keys: KeySet,
}

/// The result of a refresh.
#[derive(Debug)]
pub struct OidcRefresh {
    /// The connection after the refresh.
    pub provider: OidcProvider,
    /// The JSON names of the changed fields.
    pub changed: Vec<&'static str>,
    /// The reason if the refresh failed; the settings are unchanged then.
    pub problem: Option<String>,
}

impl OidcProvider {
    /// Notes that metadata and keys were read now.
    pub(super) fn note_refreshed(&mut self, ctx: &Ctx) {
        self.refresh.read_at = Some(ctx.now);
        self.refresh.failed = None;
        self.refresh.next_at = Some(next_refresh(ctx));
    }
}

/// The kind of token that an unknown key has signed. Each has its own early reads, so that logout tokens, which anybody can
/// send, do not delay sign-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An ID token.
    IdToken,
    /// A logout token.
    LogoutToken,
}

impl OidcProvider {
    fn keys_read_at(&mut self, kind: TokenKind) -> &mut Option<Timestamp> {
        match kind {
            TokenKind::IdToken => &mut self.keys_read_early_at,
            TokenKind::LogoutToken => &mut self.keys_read_for_logout_at,
        }
    }
}

/// Whether to read a key set early.
#[derive(Debug)]
pub enum KeyRead {
    /// This request reads it; others do not for a minute.
    Reserved,
    /// Another request has read it.
    Newer(KeySet),
    /// It was read a moment ago.
    TooEarly,
}

/// Reserves an early read of the key set, after a token with a key that may be new. Of concurrent requests, one reads.
pub async fn reserve_key_read(
    ctx: &Ctx,
    store: &mut dyn OidcStore,
    known: &OidcProvider,
    kind: TokenKind,
) -> Result<Audited<KeyRead>, ProviderError> {
    let mut provider = store.oidc_provider(&known.id).await?.ok_or(ProviderError::NotFound)?;
    let read = if provider.provider_keys != known.provider_keys {
        KeyRead::Newer(provider.provider_keys)
    } else if provider.keys_read_at(kind).is_some_and(|at| ctx.now < at.plus_millis(EARLY_MILLIS)) {
        KeyRead::TooEarly
    } else {
        *provider.keys_read_at(kind) = Some(ctx.now);
        store.update_oidc_provider(&provider).await?;
        KeyRead::Reserved
    };
    Ok(Audited::without(read, Unaudited::LookedAfter))
}

/// Applies metadata and keys that were read from the provider with `issuer`, or records why reading failed.
///
/// Does nothing if the connection's issuer has changed in the meantime.
pub async fn refresh(
    ctx: &Ctx,
    store: &mut dyn OidcStore,
    id: &ProviderId,
    issuer: &str,
    read: Result<Discovered, String>,
) -> Result<Audited<OidcRefresh>, ProviderError> {
    let mut provider = store.oidc_provider(id).await?.ok_or(ProviderError::NotFound)?;
    if provider.metadata.issuer != issuer {
        let refreshed = OidcRefresh { provider, changed: Vec::new(), problem: None };
        return Ok(Audited::of_changes(refreshed, Vec::new()));
    }
    let before = provider.clone();
    let problem = match read {
        Ok(discovered) => {
            provider.metadata = discovered.metadata;
            provider.provider_keys = discovered.keys;
            provider.note_refreshed(ctx);
            None
        }
        Err(problem) => {
            let problem: String = problem.chars().take(MAX_PROBLEM).collect();
            let failed_before = provider.refresh.failed.as_ref().map(|(at, _)| *at);
            provider.refresh.next_at = Some(next_retry(failed_before, ctx.now));
            provider.refresh.failed = Some((ctx.now, problem.clone()));
            Some(problem)
        }
    };
    let changed = changed_fields(&before, &provider);
    if !changed.is_empty() {
        provider.updated_at = ctx.now;
    }
    store.update_oidc_provider(&provider).await?;
    let event = updated(&provider, &changed);
    Ok(Audited::of_changes(OidcRefresh { provider, changed, problem }, event.into_iter().collect()))
}

/// Stores a key set that was read because an ID token was signed with an unknown key, unless the provider's key set is
/// at another URL by now.
pub async fn learn_keys(
    ctx: &Ctx,
    store: &mut dyn OidcStore,
    known: &OidcProvider,
    keys: KeySet,
) -> Result<Audited<()>, ProviderError> {
    let mut provider = store.oidc_provider(&known.id).await?.ok_or(ProviderError::NotFound)?;
    if provider.metadata.jwks_uri != known.metadata.jwks_uri {
        return Ok(Audited::of_changes((), Vec::new()));
    }
    let before = provider.clone();
    provider.provider_keys = keys;
    let changed = changed_fields(&before, &provider);
    if !changed.is_empty() {
        provider.updated_at = ctx.now;
    }
    store.update_oidc_provider(&provider).await?;
    Ok(Audited::of_changes((), updated(&provider, &changed).into_iter().collect()))
}
