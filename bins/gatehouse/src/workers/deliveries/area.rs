//! What requests and deliveries have in common.

use std::sync::Arc;

use kernel::{Actor, Ctx, Env, TenantId};
use webhooks::client::{AddressGuard, Client, ClientSettings, SetupError};

use crate::config::WebhookSettings;

/// What requests and deliveries have in common.
pub(crate) struct Webhooks {
    settings: WebhookSettings,
    /// For tests of subscriptions.
    pub(crate) client: Client,
    /// Who receivers are told that they are called by.
    pub(crate) user_agent: &'static str,
}

impl Webhooks {
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self, SetupError> {
        let user_agent = concat!("Gatehouse/", env!("CARGO_PKG_VERSION"));
        Ok(Self { client: client(settings)?, settings: settings.clone(), user_agent })
    }

    /// What the operator has set.
    pub(crate) fn settings(&self) -> &WebhookSettings {
        &self.settings
    }

    /// A client for another runtime.
    pub(crate) fn another_client(&self) -> Result<Client, SetupError> {
        client(&self.settings)
    }
}

/// A client belongs to the runtime that uses it.
fn client(settings: &WebhookSettings) -> Result<Client, SetupError> {
    let guard = AddressGuard::new(settings.allow_cidrs.clone(), settings.allow_http);
    Client::new(guard, ClientSettings::default())
}

/// A unit of work of deliveries.
pub(crate) fn ctx(env: &Arc<dyn Env>, tenant: &TenantId) -> Ctx {
    Ctx::new(Arc::clone(env), tenant.clone(), Actor::system("webhooks"))
}
