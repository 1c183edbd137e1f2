//! The OpenID provider as a transmitter of shared signals.

use serde_json::json;
use test_providers::OpenIdProvider;
use xtask::{server::member, sh::Result};

use super::{
    client::{Caller, request},
    step_up::StepUpUser,
};

/// The `aud` of its tokens.
pub(super) const AUDIENCE: &str = "https://gate.example/";
/// Number of its address.
const NUMBER: usize = 98;

/// A transmitter whose event `session-revoked` ends sessions.
pub(super) struct Transmitter {
    path: String,
    authorization: String,
}

impl Transmitter {
    /// Adds the provider of this connection as a transmitter.
    pub(super) fn add(
        provider: &OpenIdProvider,
        connection: &str,
        admin: &mut StepUpUser,
        caller: &mut Caller,
    ) -> Result<Self> {
        provider.serve_transmitter();
        let body = json!({
            "name": "Provider", "issuer": provider.issuer, "audience": AUDIENCE, "connectionId": connection,
            "consequences": { "sessionRevoked": "END_SESSIONS" },
        });
        let change = ("/api/settings/signals/transmitters", &*body.to_string());
        let added = admin.change("SSO_PROVIDER_CHANGE", change, caller)?;
        let url = member(&added, "endpointUrl")?;
        let path = url.find("/api/").and_then(|start| url.get(start..)).ok_or("no path in endpointUrl")?;
        Ok(Self { path: path.to_owned(), authorization: member(&added, "authorization")? })
    }

    /// Builds the request that pushes a token (RFC 8935).
    pub(super) fn request(&self, token: &str) -> String {
        let headers =
            format!("Authorization: {}\r\nContent-Type: application/secevent+jwt\r\n", self.authorization);
        request("POST", &self.path, NUMBER, &headers, token)
    }
}
