//! The session at an identity provider that a session was started through.

use gate::errors::Problem;
use kernel::Timestamp;
use saml_sp::{Protocol, Provider};
use sessions::SessionId;
use sign_in::{
    ProviderSession, ProviderSessionStore,
    sso::{
        logout_token,
        oidc::{OidcProvider, OidcStore},
    },
};
use store::Tx;

use super::{Site, oidc::relying_party};

/// An identity provider, and the session there.
pub(crate) struct AtProvider {
    provider: Connection,
    session: ProviderSession,
}

enum Connection {
    Saml(Box<Provider>),
    Oidc(Box<OidcProvider>),
}

impl AtProvider {
    /// Returns the identity provider that a session was started through; `None` for another kind of sign-in. Read it before
    /// the session is revoked.
    pub(crate) async fn of(tx: &mut Tx, session: &SessionId) -> Result<Option<Self>, Problem> {
        let Some(session) = tx.provider_session(session).await? else { return Ok(None) };
        // Without a lock, because users must be able to sign out while the connection is refreshed.
        let provider = match session.provider.protocol() {
            Protocol::Saml => {
                let provider = tx.current_provider(&session.provider).await?;
                provider.map(|provider| Connection::Saml(Box::new(provider)))
            }
            Protocol::Oidc => {
                let provider = tx.current_oidc_provider(&session.provider).await?;
                provider.map(|provider| Connection::Oidc(Box::new(provider)))
            }
        };
        Ok(provider.map(|provider| Self { provider, session }))
    }

    /// Returns the URL that ends the session at the identity provider and returns to the sign-in page, if the connection has
    /// `signOutAtProvider`.
    pub(crate) fn logout_url(&self, site: &Site, now: Timestamp) -> Option<String> {
        let seal = site.pipeline.keys.saml();
        match &self.provider {
            Connection::Saml(provider) => {
                let token = logout_token(provider, &seal, &self.session, now)?;
                let query =
                    form_urlencoded::Serializer::new(String::new()).append_pair("token", &token).finish();
                let base_url = site.pipeline.base_url.trim_end_matches('/');
                Some(format!("{base_url}/api/saml/{}/logout?{query}", provider.id))
            }
            Connection::Oidc(provider) => {
                let ours = relying_party(site, &provider.id);
                provider.logout_url(&ours, &seal, self.session.logout_hint.as_deref())
            }
        }
    }
}
