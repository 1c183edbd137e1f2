//! State that the sign-in routes need in addition to the request pipeline.

use std::io;

use credentials::{Passkeys, Passwords};
use gate::hashing::Hashing;

use crate::{area_metrics, config::Settings};

/// Name that authenticator apps and passkeys show for this installation.
pub(crate) const NAME: &str = "Gatehouse";

/// State that the sign-in routes need in addition to the request pipeline.
pub(crate) struct Auth {
    pub(crate) hashing: Hashing,
    /// `None` if the server's address cannot be the ID of a WebAuthn relying party.
    pub(crate) passkeys: Option<Passkeys>,
    /// Origins at which the passkeys can be used: that of the server first.
    pub(crate) passkey_origins: Vec<String>,
}

impl Auth {
    pub(crate) fn new(settings: &Settings, base_url: &str) -> io::Result<Self> {
        let related = &settings.webauthn_related_origins;
        let passkeys = Passkeys::new(NAME, base_url, related);
        Ok(Self {
            hashing: Hashing::new(Passwords::new(settings.password_cost), area_metrics::passwords_waiting())?,
            passkey_origins: [vec![base_url.to_owned()], related.clone()].concat(),
            passkeys: passkeys.map_err(|error| tracing::warn!(%error, "passkeys are not available")).ok(),
        })
    }

    /// Returns the WebAuthn ceremonies.
    pub(crate) fn passkeys(&self) -> Result<&Passkeys, sign_in::Error> {
        self.passkeys.as_ref().ok_or(sign_in::Error::NoPasskeys)
    }

    /// Returns whether users can sign in with passkeys at the server's address.
    pub(crate) fn passkeys_work(&self) -> bool {
        self.passkeys.is_some()
    }
}
