//! Changes of SSO connections, with their audit entries.

use audit::{
    Audited, Event,
    events::{
        oidc::{OidcProviderTested, OidcSubjectUnpinned},
        saml::{
            SamlProviderCertificateExpiring, SamlProviderCreated, SamlProviderDeleted,
            SamlProviderKeyRotated, SamlProviderTested, SamlProviderUpdated, SamlSubjectUnpinned,
        },
    },
};
use credentials::{SignInMode, SignInStore};
use directory::ConnectionAccountStore;
use kernel::{Ctx, StoreResult, UserId};
use saml_sp::{
    Certificate, CertificateExpiry, CheckedChange, ConnectionTest, ConnectionTestStore, DomainStore, New,
    Protocol, Provider, ProviderError, ProviderId, ProviderStore, RefreshOutcome, ResolvedMetadata,
    SealedKey, SubjectStore, TenantSetup,
};

use super::accounts::end_roles;

/// Reads the settings that the checks of SSO connections depend on, and locks the tenant. Lock the connection first, as
/// a sign-in does. Another order deadlocks on PostgreSQL.
pub async fn tenant_setup<S: DomainStore + SignInStore>(store: &mut S) -> StoreResult<TenantSetup> {
    let mode = store.sign_in_policy().await?.sign_in_mode;
    tenant_setup_under(mode, store).await
}

/// Reads the settings that the checks of SSO connections depend on, in a tenant with this sign-in mode.
pub async fn tenant_setup_under(mode: SignInMode, store: &mut dyn DomainStore) -> StoreResult<TenantSetup> {
    let verified = store.verified_domains().await?.into_iter().map(|domain| domain.domain).collect();
    Ok(TenantSetup { verified, is_sso_allowed: mode != SignInMode::CredentialsOnly })
}

/// Adds an SSO connection.
pub async fn create(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    new: New,
) -> Result<Audited<Provider>, ProviderError> {
    let provider = saml_sp::create(ctx, store, new).await?;
    let data = SamlProviderCreated {
        entity_id: provider.idp.entity_id.clone(),
        email_domains: provider.email_domains.iter().map(ToString::to_string).collect(),
        certificates: fingerprints(&provider),
    };
    let event = Event::new(provider.id.as_str(), &data);
    Ok(Audited::new(provider, event))
}

/// Replaces the settings of an SSO connection.
pub async fn replace(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
    change: CheckedChange,
    known: Option<ResolvedMetadata>,
) -> Result<Audited<Provider>, ProviderError> {
    let (provider, changed) = saml_sp::replace(ctx, store, id, change, known).await?;
    let event = updated(&provider, &changed);
    Ok(Audited::of_changes(provider, event.into_iter().collect()))
}

/// Removes an SSO connection.
pub async fn remove<S: ProviderStore + ConnectionAccountStore>(
    ctx: &Ctx,
    store: &mut S,
    id: &ProviderId,
) -> Result<Audited<()>, ProviderError> {
    let ended = end_roles(ctx, store, id).await?;
    let removed = saml_sp::remove(store, id).await?;
    let event = Event::new(id.as_str(), &SamlProviderDeleted { entity_id: removed.idp.entity_id });
    Ok(Audited::new((), event).with(ended))
}

/// Adds a next key to an SSO connection.
pub async fn start_rotation(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
    key: SealedKey,
) -> Result<Audited<Provider>, ProviderError> {
    let certificate = key.certificate.fingerprint();
    let provider = saml_sp::start_rotation(ctx, store, id, key).await?;
    let event = rotated(id, "STARTED", certificate);
    Ok(Audited::new(provider, event))
}

/// Makes the next key of an SSO connection the one that signs.
pub async fn complete_rotation(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
) -> Result<Audited<Provider>, ProviderError> {
    let provider = saml_sp::complete_rotation(ctx, store, id).await?;
    let event = rotated(id, "COMPLETED", provider.keys.active.certificate.fingerprint());
    Ok(Audited::new(provider, event))
}

/// Applies metadata that was fetched from the URL of an SSO connection, or records why fetching failed.
pub async fn refresh(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
    url: &str,
    read: Result<String, String>,
) -> Result<Audited<RefreshOutcome>, ProviderError> {
    let refreshed = saml_sp::refreshed(ctx, store, id, url, read).await?;
    let event = updated(&refreshed.provider, &refreshed.changed);
    Ok(Audited::of_changes(refreshed, event.into_iter().collect()))
}

/// What the maintenance of an SSO connection has done.
#[derive(Debug, Default)]
pub struct Maintenance {
    /// The result of the metadata refresh; `None` if none was due or the connection was removed.
    pub refreshed: Option<RefreshOutcome>,
    /// The expiry to warn about.
    pub expiring: Option<CertificateExpiry>,
}

/// Applies the metadata of an SSO connection that is due for maintenance, if it was fetched from a URL, and records
/// that its certificates expire soon.
pub async fn maintain(
    ctx: &Ctx,
    store: &mut dyn ProviderStore,
    id: &ProviderId,
    fetched: Option<(String, Result<String, String>)>,
) -> StoreResult<Audited<Maintenance>> {
    let (mut done, mut events) = (Maintenance::default(), Vec::new());
    if let Some((url, read)) = fetched {
        match refresh(ctx, store, id, &url, read).await {
            Ok(refreshed) => {
                let (refreshed, changes) = refreshed.into_parts();
                (done.refreshed, events) = (Some(refreshed), changes);
            }
            Err(ProviderError::Store(error)) => return Err(error),
            // The SSO connection was removed meanwhile.
            Err(_) => {}
        }
    }
    done.expiring = saml_sp::apply_refresh(ctx, store, id).await?;
    events.extend(done.expiring.as_ref().map(|expiring| {
        let data = SamlProviderCertificateExpiring {
            expires_at: expiring.expires_at.to_string(),
            days: expiring.days,
            certificate: expiring.certificate.clone(),
        };
        Event::new(id.as_str(), &data)
    }));
    Ok(Audited::of_changes(done, events))
}

/// Starts a connection test.
pub async fn start_test(
    ctx: &Ctx,
    store: &mut dyn ConnectionTestStore,
    provider: ProviderId,
    user: UserId,
) -> StoreResult<Audited<ConnectionTest>> {
    let test = ConnectionTest::new(ctx, provider, user);
    store.insert_connection_test(&test).await?;
    let (provider, id) = (test.provider.as_str(), test.id.as_str().to_owned());
    let event = match test.provider.protocol() {
        Protocol::Saml => Event::new(provider, &SamlProviderTested { test: id }),
        Protocol::Oidc => Event::new(provider, &OidcProviderTested { test: id }),
    };
    Ok(Audited::new(test, event))
}

/// Removes the subject that is pinned to a user; `None` if the provider has pinned none.
pub async fn unpin_subject<S: SubjectStore + ConnectionAccountStore>(
    store: &mut S,
    provider: &ProviderId,
    user: &UserId,
) -> StoreResult<Option<Audited<()>>> {
    let pinned = store.pinned_subjects(user).await?.into_iter().find(|one| one.provider == *provider);
    let Some(pinned) = pinned else { return Ok(None) };
    if !store.unpin_subject(provider, user).await? {
        return Ok(None);
    }
    // Groups belong to the identity that is unlinked.
    store.replace_claimed_groups(user, provider.as_str(), &[]).await?;
    let (name, subject) = (provider.to_string(), pinned.subject.to_string());
    let event = match provider.protocol() {
        Protocol::Saml => Event::new(user.as_str(), &SamlSubjectUnpinned { provider: name, subject }),
        Protocol::Oidc => Event::new(user.as_str(), &OidcSubjectUnpinned { provider: name, subject }),
    };
    Ok(Some(Audited::new((), event)))
}

fn fingerprints(provider: &Provider) -> Vec<String> {
    provider.idp.certificates.iter().map(Certificate::fingerprint).collect()
}

fn updated(provider: &Provider, changed: &[&'static str]) -> Option<Event> {
    let data = SamlProviderUpdated {
        changed: changed.iter().map(ToString::to_string).collect(),
        certificates: fingerprints(provider),
    };
    (!changed.is_empty()).then(|| Event::new(provider.id.as_str(), &data))
}

fn rotated(id: &ProviderId, phase: &str, certificate: String) -> Event {
    Event::new(id.as_str(), &SamlProviderKeyRotated { phase: phase.to_owned(), certificate })
}
