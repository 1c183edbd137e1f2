//! Notifies other instances of new webhook work. Notifications are only an optimization, sent outside the
//! transaction: instances also poll every second.

use std::time::Duration;

use ::webhooks::{Key, Wakeups};
use diesel::sql_types::Text;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::{StreamExt, future::join3};
use kernel::StoreResult;
use tokio::time::sleep;

use super::Postgres;
use crate::{conn::on, error::store_error, prepared::Prepared};

const CHANNEL: &str = "gatehouse_webhooks";
/// How long notifications are collected before they are sent.
const COLLECT: Duration = Duration::from_millis(50);
/// How long tenants with new audit entries are collected before they are sent.
const NEWS: Duration = Duration::from_millis(500);
/// How long to wait before reconnecting.
const PAUSE: Duration = Duration::from_secs(2);
/// Keys per notification, whose payload is limited to 8,000 bytes.
const AT_ONCE: usize = 100;

impl Postgres {
    /// Sends the wakeups of `out` to other instances and passes incoming ones to `received`. Never returns.
    pub(crate) async fn relay(&self, out: &Wakeups, received: &Wakeups) {
        join3(self.notify_others(out), self.send_news(), self.listen_for_others(received)).await;
    }

    /// Sends the tenants with new audit entries to other instances, if the database is distributed. Otherwise they
    /// find the entries by polling.
    async fn send_news(&self) {
        loop {
            sleep(NEWS).await;
            match self.is_distributed().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => continue,
            }
            let tenants: Vec<_> = self.shared.unsent_news.take().into_iter().collect();
            for some in tenants.chunks(AT_ONCE) {
                let words: Vec<_> = some.iter().map(|tenant| format!("{tenant}/")).collect();
                if let Err(error) = self.notify(words.join(" ")).await {
                    tracing::debug!(%error, "cannot notify other instances; they look on all shards twice a minute");
                }
            }
        }
    }

    async fn notify_others(&self, out: &Wakeups) {
        loop {
            let keys = out.next().await;
            for some in keys.chunks(AT_ONCE) {
                let written = some.iter().map(|(key, has_changed)| {
                    format!("{}/{}{}", key.tenant, key.subscription, if *has_changed { "!" } else { "" })
                });
                if let Err(error) = self.notify(written.collect::<Vec<_>>().join(" ")).await {
                    tracing::debug!(%error, "cannot notify other instances; they poll every second");
                }
            }
            sleep(COLLECT).await;
        }
    }

    async fn notify(&self, text: String) -> StoreResult<()> {
        self.across(async |across| {
            let notify =
                diesel::sql_query("SELECT pg_notify($1, $2)").bind::<Text, _>(CHANNEL).bind::<Text, _>(text);
            on!(&mut across.conn, c => Prepared(notify).execute(c).await).map(|_| ())
        })
        .await
    }

    async fn listen_for_others(&self, received: &Wakeups) {
        loop {
            if let Err(error) = self.listen(received).await {
                tracing::debug!(%error, "cannot receive notifications from other instances; polling every second");
            }
            sleep(PAUSE).await;
        }
    }

    async fn listen(&self, received: &Wakeups) -> StoreResult<()> {
        let mut conn = self.connection().await?;
        conn.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(store_error)?;
        let mut notifications = std::pin::pin!(conn.notifications_stream());
        while let Some(notification) = notifications.next().await {
            for word in notification.map_err(store_error)?.payload.split(' ') {
                if let Some(tenant) = word.strip_suffix('/').and_then(|tenant| tenant.parse().ok()) {
                    self.shared.news.add(tenant);
                } else if let Some((key, has_changed)) = read(word) {
                    received.notify(key, has_changed);
                }
            }
        }
        Ok(())
    }
}

fn read(word: &str) -> Option<(Key, bool)> {
    let (key, has_changed) = word.strip_suffix('!').map_or((word, false), |key| (key, true));
    let (tenant, subscription) = key.split_once('/')?;
    Some((Key { tenant: tenant.parse().ok()?, subscription: subscription.parse().ok()? }, has_changed))
}
