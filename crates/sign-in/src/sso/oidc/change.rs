//! Creates, changes and removes SSO connections with OpenID Connect, with their audit entries.

use audit::{
    Audited, Event,
    events::oidc::{OidcProviderCreated, OidcProviderDeleted, OidcProviderKeyRotated, OidcProviderUpdated},
};
use directory::ConnectionAccountStore;
use kernel::Ctx;
use oidc_rp::ClientAuth;
use saml_sp::{
    MAX_PROVIDERS, OurKeys, ProviderError, ProviderId, ProviderStore, Refresh, SealedKey, check_domains_free,
    field,
};

use super::{
    provider::{OidcProvider, SealedSecret},
    refreshing::Discovered,
    settings::CheckedOidcChange,
    store::OidcStore,
};
use crate::sso::accounts::end_roles;

/// A connection to create.
pub struct NewOidcProvider {
    /// The id, which key and secret are bound to.
    pub id: ProviderId,
    /// The key pair for `private_key_jwt`.
    pub key: SealedKey,
    /// The client secret.
    pub secret: Option<SealedSecret>,
    /// The settings.
    pub change: CheckedOidcChange,
    /// The provider.
    pub discovered: Discovered,
}

/// Adds a connection. Fails if there are [`MAX_PROVIDERS`] of all protocols, if another connection has one of its
/// domains, or if the client secret is missing.
pub async fn create<S: OidcStore + ProviderStore>(
    ctx: &Ctx,
    store: &mut S,
    new: NewOidcProvider,
) -> Result<Audited<OidcProvider>, ProviderError> {
    let NewOidcProvider { id, key, secret, change, discovered } = new;
    if store.count_providers().await? >= MAX_PROVIDERS {
        return Err(ProviderError::TooMany);
    }
    check_domains_free(store, &id, &change.email_domains).await?;
    let uses_secret = change.settings.token_endpoint_auth_method != ClientAuth::PrivateKeyJwt;
    let mut provider = OidcProvider {
        id,
        name: change.name,
        email_domains: change.email_domains,
        settings: change.settings,
        client_secret: secret.filter(|_| uses_secret),
        metadata: discovered.metadata,
        provider_keys: discovered.keys,
        keys: OurKeys { active: key, next: None },
        refresh: Refresh::default(),
        keys_read_early_at: None,
        keys_read_for_logout_at: None,
        client_since: ctx.now,
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    check_secret(&provider)?;
    provider.note_refreshed(ctx);
    store.insert_oidc_provider(&provider).await?;
    let data = OidcProviderCreated {
        issuer: provider.metadata.issuer.clone(),
        client_id: provider.settings.client_id.clone(),
        email_domains: provider.email_domains.iter().map(ToString::to_string).collect(),
    };
    let event = Event::new(provider.id.as_str(), &data);
    Ok(Audited::new(provider, event))
}

/// Checks that there is a client secret where the method needs one.
fn check_secret(provider: &OidcProvider) -> Result<(), ProviderError> {
    let needs = provider.settings.token_endpoint_auth_method != ClientAuth::PrivateKeyJwt;
    if needs && provider.client_secret.is_none() {
        return Err(field("clientSecret", "write the secret of the client at the provider"));
    }
    Ok(())
}

/// The new settings of a connection.
pub struct OidcReplacement {
    /// The settings.
    pub change: CheckedOidcChange,
    /// The client secret; without one, the stored one stays.
    pub secret: Option<SealedSecret>,
    /// What was read from the provider, if the issuer changes.
    pub discovered: Option<Discovered>,
    /// Our new key, if issuer or client ID change.
    pub key: Option<SealedKey>,
}

/// Replaces the settings of a connection.
///
/// If issuer or client ID change, it is another client: secret, keys and pinned subjects are those of the previous one and
/// are dropped. A secret or an assertion must not be sent to another provider than the one it was made for.
pub async fn replace<S: OidcStore + ProviderStore>(
    ctx: &Ctx,
    store: &mut S,
    id: &ProviderId,
    new: OidcReplacement,
) -> Result<Audited<OidcProvider>, ProviderError> {
    let OidcReplacement { change, secret, discovered, key } = new;
    // Locks the tenant's connections, so that no concurrent transaction takes a domain.
    store.count_providers().await?;
    let mut provider = store.oidc_provider(id).await?.ok_or(ProviderError::NotFound)?;
    check_domains_free(store, id, &change.email_domains).await?;
    let before = provider.clone();
    if let Some(discovered) = discovered {
        provider.metadata = discovered.metadata;
        provider.provider_keys = discovered.keys;
        provider.note_refreshed(ctx);
    }
    if provider.metadata.issuer != change.issuer {
        return Err(changed_meanwhile());
    }
    if before.is_other_client(&change) {
        let active = key.ok_or_else(changed_meanwhile)?;
        provider.keys = OurKeys { active, next: None };
        provider.client_secret = None;
        provider.client_since = ctx.now;
        store.unpin_subjects_of_provider(id).await?;
    }
    provider.client_secret = secret.or(provider.client_secret);
    provider.name = change.name;
    provider.email_domains = change.email_domains;
    provider.settings = change.settings;
    if provider.settings.token_endpoint_auth_method == ClientAuth::PrivateKeyJwt {
        provider.client_secret = None;
    }
    check_secret(&provider)?;
    let changed = changed_fields(&before, &provider);
    if !changed.is_empty() {
        provider.updated_at = ctx.now;
    }
    store.update_oidc_provider(&provider).await?;
    let event = updated(&provider, &changed);
    Ok(Audited::of_changes(provider, event.into_iter().collect()))
}

fn changed_meanwhile() -> ProviderError {
    field("issuer", "the connection was changed at the same time; try again")
}

impl OidcProvider {
    /// Returns whether these settings are of another client, at this or another provider.
    pub fn is_other_client(&self, change: &CheckedOidcChange) -> bool {
        self.metadata.issuer != change.issuer || self.settings.client_id != change.settings.client_id
    }
}

/// Returns the JSON names of the fields that differ.
pub(super) fn changed_fields(before: &OidcProvider, now: &OidcProvider) -> Vec<&'static str> {
    let (was, is) = (&before.settings, &now.settings);
    let fields = [
        ("name", before.name != now.name),
        ("emailDomains", before.email_domains != now.email_domains),
        ("issuer", before.metadata.issuer != now.metadata.issuer),
        ("clientId", was.client_id != is.client_id),
        ("tokenEndpointAuthMethod", was.token_endpoint_auth_method != is.token_endpoint_auth_method),
        ("clientAssertionAudience", was.client_assertion_audience != is.client_assertion_audience),
        ("clientSecret", before.client_secret != now.client_secret),
        ("scopes", was.scopes != is.scopes),
        ("prompt", was.prompt != is.prompt),
        ("maxAge", was.max_age != is.max_age),
        ("acrValues", was.acr_values != is.acr_values),
        ("requiredClaims", was.required_claims != is.required_claims),
        ("emailClaim", was.email_claim != is.email_claim),
        ("trustEmailClaim", was.trust_email_claim != is.trust_email_claim),
        ("useUserInfo", was.use_user_info != is.use_user_info),
        ("signOutAtProvider", was.sign_out_at_provider != is.sign_out_at_provider),
        ("signingAlgorithms", was.signing_algorithms != is.signing_algorithms),
        ("provider", before.metadata != now.metadata),
        ("provider.keys", before.provider_keys != now.provider_keys),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Returns the event of changed fields.
pub(super) fn updated(provider: &OidcProvider, changed: &[&'static str]) -> Option<Event> {
    let data = OidcProviderUpdated {
        changed: changed.iter().map(ToString::to_string).collect(),
        issuer: provider.metadata.issuer.clone(),
    };
    (!changed.is_empty()).then(|| Event::new(provider.id.as_str(), &data))
}

/// Removes a connection. Sessions started through it continue.
pub async fn remove<S: OidcStore + ProviderStore + ConnectionAccountStore>(
    ctx: &Ctx,
    store: &mut S,
    id: &ProviderId,
) -> Result<Audited<()>, ProviderError> {
    let removed = store.oidc_provider(id).await?.ok_or(ProviderError::NotFound)?;
    // Locks the tenant, so that no sign-in continues with the removed connection.
    store.count_providers().await?;
    let ended = end_roles(ctx, store, id).await?;
    store.delete_oidc_provider(id).await?;
    let event = Event::new(id.as_str(), &OidcProviderDeleted { issuer: removed.metadata.issuer });
    Ok(Audited::new((), event).with(ended))
}

/// Adds a next key. Our key set lists both; the active one still signs.
pub async fn start_rotation(
    ctx: &Ctx,
    store: &mut dyn OidcStore,
    id: &ProviderId,
    key: SealedKey,
) -> Result<Audited<OidcProvider>, ProviderError> {
    let mut provider = store.oidc_provider(id).await?.ok_or(ProviderError::NotFound)?;
    if provider.keys.next.is_some() {
        return Err(ProviderError::RotationUnderWay);
    }
    let event = rotated(id, "STARTED", &key);
    provider.keys.next = Some(key);
    provider.updated_at = ctx.now;
    store.update_oidc_provider(&provider).await?;
    Ok(Audited::new(provider, event))
}

/// Completes a rotation: the next key signs, and the previous one is removed.
pub async fn complete_rotation(
    ctx: &Ctx,
    store: &mut dyn OidcStore,
    id: &ProviderId,
) -> Result<Audited<OidcProvider>, ProviderError> {
    let mut provider = store.oidc_provider(id).await?.ok_or(ProviderError::NotFound)?;
    provider.keys.active = provider.keys.next.take().ok_or(ProviderError::NoRotation)?;
    provider.updated_at = ctx.now;
    store.update_oidc_provider(&provider).await?;
    let event = rotated(id, "COMPLETED", &provider.keys.active);
    Ok(Audited::new(provider, event))
}

fn rotated(id: &ProviderId, phase: &str, key: &SealedKey) -> Event {
    let certificate = key.certificate.fingerprint();
    Event::new(id.as_str(), &OidcProviderKeyRotated { phase: phase.to_owned(), certificate })
}
