//! What requests about a stream share.

use std::sync::Arc;

use signals::{Manager, Receiver};
use webhooks::client::AddressGuard;

use super::issuer::issuer;
use crate::api::Call;
use gate::{keys::SignalKeys, permissions::ReceiveSignals};

/// What a request about a stream needs, owned by its unit of work.
pub(super) struct Managing {
    pub(super) receiver: Arc<Receiver>,
    pub(super) issuer: String,
    guard: AddressGuard,
    pub(super) seal: SignalKeys,
}

impl Managing {
    pub(super) fn new(call: &Call<ReceiveSignals>) -> Self {
        Self {
            receiver: call.caller().clone(),
            issuer: issuer(&call.site.pipeline.base_url, call.tenant()),
            guard: call.site.webhooks.client.guard().clone(),
            seal: call.site.pipeline.keys.signals(),
        }
    }

    pub(super) fn manager(&self) -> Manager<'_> {
        Manager { receiver: &self.receiver, issuer: &self.issuer, guard: &self.guard, seal: &self.seal }
    }
}

/// Returns the URL that a stream is polled at.
pub(super) fn poll_url(base_url: &str, stream: &str) -> String {
    format!("{base_url}/api/ssf/poll/{stream}")
}

/// Returns the name of a delivery in audit entries.
pub(super) fn delivery_name(delivery: &signals::Delivery) -> String {
    match delivery {
        signals::Delivery::Push(_) => "push".to_owned(),
        signals::Delivery::Poll => "poll".to_owned(),
    }
}
