//! Checks tokens with the keys of a provider, and reads its key set again if the provider may have a new key.

use gate::{access::Visitor, errors::Problem};
use kernel::{Actor, Ctx, TenantId};
use oidc_rp::KeySet;
use sign_in::sso::oidc::{KeyRead, OidcProvider, TokenKind, learn_keys, reserve_key_read};
use store::Tx;

use crate::{api::site::Site, oidc_client};

/// A provider whose tokens are checked.
pub(super) struct TokenIssuer<'a> {
    pub(super) site: &'a Site,
    pub(super) visitor: &'a Visitor,
    pub(super) tenant: &'a TenantId,
    pub(super) provider: &'a OidcProvider,
    pub(super) kind: TokenKind,
}

impl TokenIssuer<'_> {
    /// Runs a check with the stored keys, and once more with newer ones if its result is `is_unknown`.
    pub(super) async fn check<T: Send + 'static>(
        &self,
        check: impl Fn(&KeySet) -> T + Clone + Send + 'static,
        is_unknown: impl Fn(&T) -> bool,
    ) -> Result<T, Problem> {
        let provider = self.provider;
        let checked = self.with_keys(check.clone(), provider.provider_keys.clone()).await?;
        if !is_unknown(&checked) {
            return Ok(checked);
        }
        match self.newer_keys().await? {
            Some(keys) => self.with_keys(check, keys).await,
            None => Ok(checked),
        }
    }

    /// Reads the key set again, unless that was done a moment ago.
    async fn newer_keys(&self) -> Result<Option<KeySet>, Problem> {
        let (known, kind) = (self.provider.clone(), self.kind);
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            Ok::<_, Problem>(reserve_key_read(ctx, tx, &known, kind).await?)
        };
        match self.visitor.write_as(self.tenant, Actor::system("oidc"), work).await? {
            KeyRead::Newer(keys) => return Ok(Some(keys)),
            KeyRead::TooEarly => return Ok(None),
            KeyRead::Reserved => {}
        }
        let (client, url) = (&self.site.webhooks.client, &self.provider.metadata.jwks_uri);
        match self.visitor.without_slot(oidc_client::read_keys(client, url)).await? {
            Ok(keys) => {
                self.store(keys.clone()).await;
                Ok(Some(keys))
            }
            Err(problem) => {
                let provider = self.provider.id.as_str();
                tracing::warn!(provider, problem, "the keys of an OpenID provider could not be read");
                Ok(None)
            }
        }
    }

    /// Runs a check outside of the request threads.
    async fn with_keys<T: Send + 'static>(
        &self,
        check: impl Fn(&KeySet) -> T + Send + 'static,
        keys: KeySet,
    ) -> Result<T, Problem> {
        self.visitor.without_slot(self.site.saml.compute(move || check(&keys))).await?
    }

    /// Stores a key set that was read early. The request goes on without that.
    async fn store(&self, keys: KeySet) {
        let provider = self.provider.clone();
        let work =
            async move |ctx: &Ctx, tx: &mut Tx| Ok::<_, Problem>(learn_keys(ctx, tx, &provider, keys).await?);
        if let Err(problem) = self.visitor.write_as(self.tenant, Actor::system("oidc"), work).await {
            tracing::warn!(%problem, "the keys of an OpenID provider could not be stored");
        }
    }
}
