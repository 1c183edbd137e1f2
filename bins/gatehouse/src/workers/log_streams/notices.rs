//! Notifies administrators of log streams that fail.

use std::sync::Arc;

use actix_web::web;
use directory::Message;
use kernel::{StoreError, Timestamp};
use log_streams::Key;
use store::{Store, Tx};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::api::Site;

/// Failing streams that wait for their message. Further ones are logged only.
const QUEUED: usize = 1_000;

/// A stream that has failed for an hour.
pub(super) struct FailingStream {
    pub(super) key: Key,
    /// Code of the last problem.
    pub(super) problem: String,
    pub(super) since: Timestamp,
}

/// Returns both ends of the queue of failing streams.
pub(super) fn queue() -> (Sender<FailingStream>, Receiver<FailingStream>) {
    channel(QUEUED)
}

/// Notifies administrators of log streams.
pub(super) struct Notices<'w> {
    pub(super) store: &'w Arc<Store>,
    pub(super) site: &'w web::Data<Site>,
}

impl Notices<'_> {
    /// Runs until cancelled.
    pub(super) async fn run(&self, mut failing: Receiver<FailingStream>) {
        while let Some(stream) = failing.recv().await {
            if let Err(error) = self.notify(&stream).await {
                let tenant = stream.key.tenant.as_str();
                tracing::warn!(tenant, %error, "administrators could not be notified of a failing log stream");
            }
        }
    }

    async fn notify(&self, failing: &FailingStream) -> Result<(), StoreError> {
        let Some(mail) = &self.site.mail else { return Ok(()) };
        let id = failing.key.stream.clone();
        let find = async move |tx: &mut Tx| tx.log_stream_notice(&id).await;
        let Some(notice) = self.store.read::<_, StoreError>(failing.key.tenant.clone(), find).await? else {
            return Ok(());
        };
        let base_url = self.site.pipeline.base_url.trim_end_matches('/');
        let page = format!("{base_url}{}?id={}", crate::pages::LOG_STREAMS, failing.key.stream);
        let (tenant, name) = (&notice.tenant, &notice.stream.name);
        let message = Message::log_stream_failing(tenant, name, failing.since, &failing.problem, &page);
        mail.notify(failing.key.tenant.as_str(), &notice.recipients, &message).await;
        Ok(())
    }
}
