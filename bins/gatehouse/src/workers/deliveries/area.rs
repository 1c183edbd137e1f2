//! Shared state of requests and deliveries.

use webhooks::client::{AddressGuard, Client, ClientSettings, SetupError};

use crate::config::WebhookSettings;

/// Shared state of requests and deliveries.
pub(crate) struct Webhooks {
    settings: WebhookSettings,
    /// Sends test events.
    pub(crate) client: Client,
    /// `User-Agent` that receivers see.
    pub(crate) user_agent: &'static str,
}

impl Webhooks {
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self, SetupError> {
        let user_agent = concat!("Gatehouse/", env!("CARGO_PKG_VERSION"));
        Ok(Self { client: client(settings)?, settings: settings.clone(), user_agent })
    }

    /// Returns the operator's settings.
    pub(crate) fn settings(&self) -> &WebhookSettings {
        &self.settings
    }

    /// Creates a client for another async runtime.
    pub(crate) fn another_client(&self) -> Result<Client, SetupError> {
        client(&self.settings)
    }
}

/// Creates a client. A client belongs to the runtime that uses it.
fn client(settings: &WebhookSettings) -> Result<Client, SetupError> {
    let guard = AddressGuard::new(settings.allow_cidrs.clone(), settings.allow_http);
    Client::new(guard, ClientSettings::default())
}
