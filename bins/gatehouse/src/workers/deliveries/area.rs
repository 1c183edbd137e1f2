//! Shared state of requests and deliveries.

use webhooks::client::{AddressGuard, Client, ClientSettings, SetupError};

use crate::config::WebhookSettings;

/// Shared state of requests and deliveries.
pub(crate) struct Webhooks {
    settings: WebhookSettings,
    /// Sends test events.
    pub(crate) client: Client,
    /// Sends requests that must not be sent twice.
    pub(crate) exchanges: Client,
    /// `User-Agent` that receivers see.
    pub(crate) user_agent: &'static str,
}

impl Webhooks {
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self, SetupError> {
        let user_agent = concat!("Gatehouse/", env!("CARGO_PKG_VERSION"));
        let exchanges = client_with(settings, false)?;
        Ok(Self { client: client(settings)?, exchanges, settings: settings.clone(), user_agent })
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
pub(crate) fn client(settings: &WebhookSettings) -> Result<Client, SetupError> {
    client_with(settings, true)
}

fn client_with(settings: &WebhookSettings, keeps_connections: bool) -> Result<Client, SetupError> {
    let guard = AddressGuard::new(settings.allow_cidrs.clone(), settings.allow_http);
    let extra_roots = settings.extra_roots.clone();
    Client::new(guard, ClientSettings { extra_roots, keeps_connections, ..Default::default() })
}
