//! What signing in needs beside the path of every request.

use std::io;

use credentials::{Passkeys, Passwords};

use super::hashing::Hashing;
use crate::config::Settings;

/// What authenticator apps and passkeys call this installation.
pub(crate) const NAME: &str = "Gatehouse";

/// What signing in needs beside the path of every request.
pub(crate) struct Auth {
    pub(crate) hashing: Hashing,
    /// `None` where the address of the server cannot be that of a relying party.
    pub(crate) passkeys: Option<Passkeys>,
}

impl Auth {
    pub(crate) fn new(settings: &Settings, base_url: &str) -> io::Result<Self> {
        let passkeys = Passkeys::new(NAME, base_url);
        Ok(Self {
            hashing: Hashing::new(Passwords::new(settings.password_cost))?,
            passkeys: passkeys.map_err(|error| tracing::warn!(%error, "passkeys cannot be used")).ok(),
        })
    }

    /// The ceremonies of passkeys.
    pub(crate) fn passkeys(&self) -> Result<&Passkeys, sign_in::Error> {
        self.passkeys.as_ref().ok_or(sign_in::Error::NoPasskeys)
    }
}
