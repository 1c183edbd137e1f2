//! The SSO connections whose users the events of transmitters are about.

use gate::errors::Problem;
use saml_sp::{Protocol, ProviderId, ProviderStore as _};
use sign_in::sso::oidc::OidcStore as _;
use store::Tx;

/// Returns an SSO connection, with the issuer or entity ID of its identity provider.
pub(crate) async fn connection_of(tx: &mut Tx, id: &str) -> Result<Option<(ProviderId, String)>, Problem> {
    let Ok(id) = id.parse::<ProviderId>() else { return Ok(None) };
    let issuer = match id.protocol() {
        Protocol::Oidc => tx.oidc_provider(&id).await?.map(|provider| provider.metadata.issuer),
        Protocol::Saml => tx.provider(&id).await?.map(|provider| provider.idp.entity_id),
    };
    Ok(issuer.map(|issuer| (id, issuer)))
}
