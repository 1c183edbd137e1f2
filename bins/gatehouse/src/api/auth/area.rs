//! State that the sign-in routes need in addition to the request pipeline.

use std::{io, sync::Arc};

use actix_web::web;
use credentials::{Passkeys, Passwords, WeakPassword};
use gate::{errors::Problem, hashing::Hashing};
use kernel::Secret;

use crate::{
    area_metrics,
    breached::{BreachedPasswords, PasswordDigest},
    config::Settings,
};

/// Name that authenticator apps and passkeys show for this installation.
pub(crate) const NAME: &str = "Gatehouse";

/// State that the sign-in routes need in addition to the request pipeline.
pub(crate) struct Auth {
    pub(crate) hashing: Hashing,
    /// `None` if the server's address cannot be the ID of a WebAuthn relying party.
    pub(crate) passkeys: Option<Passkeys>,
    /// Origins at which the passkeys can be used: that of the server first.
    pub(crate) passkey_origins: Vec<String>,
    breached: Option<Arc<BreachedPasswords>>,
}

impl Auth {
    pub(crate) fn new(settings: &Settings, base_url: &str) -> io::Result<Self> {
        let related = &settings.webauthn_related_origins;
        let passkeys = Passkeys::new(NAME, base_url, related);
        let breached = settings.breached_passwords.as_deref().map(BreachedPasswords::open).transpose()?;
        Ok(Self {
            hashing: Hashing::new(Passwords::new(settings.password_cost), area_metrics::passwords_waiting())?,
            breached: breached.map(Arc::new),
            passkey_origins: [vec![base_url.to_owned()], related.clone()].concat(),
            passkeys: passkeys.map_err(|error| tracing::warn!(%error, "passkeys are not available")).ok(),
        })
    }

    /// Refuses a new password, in this field of the body, that has leaked.
    pub(crate) async fn refuse_breached(
        &self,
        field: &str,
        password: &Secret<String>,
    ) -> Result<(), Problem> {
        let Some(breached) = self.breached.clone() else { return Ok(()) };
        let digest = PasswordDigest::of(password);
        let found = web::block(move || breached.contains(digest)).await.map_err(Problem::unexpected)?;
        match found {
            Ok(false) => Ok(()),
            Ok(true) => Err(Problem::invalid_request(format!("{field}: {}", WeakPassword::Breached))),
            Err(error) => {
                Err(Problem::unavailable_for("Passwords cannot be checked now", 60).because(&error))
            }
        }
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
