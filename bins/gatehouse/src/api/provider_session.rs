//! The session at an identity provider that a session was started through.

use gate::errors::Problem;
use saml_sp::Protocol;
use sessions::SessionId;
use sign_in::{
    ProviderSession, ProviderSessionStore,
    sso::oidc::{OidcProvider, OidcStore},
};
use store::Tx;

use super::{Site, oidc::relying_party};

/// An OpenID provider, and the session there.
pub(crate) struct AtProvider {
    provider: OidcProvider,
    session: ProviderSession,
}

impl AtProvider {
    /// Returns the provider that a session was started through; `None` for another kind of sign-in. Read it before the
    /// session is revoked.
    pub(crate) async fn of(tx: &mut Tx, session: &SessionId) -> Result<Option<Self>, Problem> {
        let Some(session) = tx.provider_session(session).await? else { return Ok(None) };
        if session.provider.protocol() != Protocol::Oidc {
            return Ok(None);
        }
        // Without a lock, because users must be able to sign out while the connection is refreshed.
        let provider = tx.current_oidc_provider(&session.provider).await?;
        Ok(provider.map(|provider| Self { provider, session }))
    }

    /// Returns the URL that ends the session at the provider and returns to the sign-in page, if the connection has
    /// `signOutAtProvider`.
    pub(crate) fn logout_url(&self, site: &Site) -> Option<String> {
        let ours = relying_party(site, &self.provider.id);
        let hint = self.session.logout_hint.as_deref();
        self.provider.logout_url(&ours, &site.pipeline.keys.saml(), hint)
    }
}
