//! Streams of the audit log.

use std::sync::Arc;

use audit::{Audited, Event, events::log_streams::LogStreamDeleted};
use kernel::{Ctx, Secret, StoreError};
use log_streams::{
    Change, Lease, LogStreamId, LogStreamStore, New, Problem, SealSecret, SecretError, StreamQueue,
};
use serde_json::json;
use store::{LogStreamQueue, Store, Tx};
use webhooks::client::AddressGuard;

/// Stores secrets as they are.
pub(super) struct Plain;

impl SealSecret for Plain {
    fn seal(&self, _: &LogStreamId, secret: &Secret<String>) -> Result<String, SecretError> {
        Ok(secret.expose().clone())
    }

    fn open(&self, _: &LogStreamId, sealed: &str) -> Result<Secret<String>, SecretError> {
        Ok(Secret::new(sealed.to_owned()))
    }
}

/// Runs the operations.
pub(super) async fn run(store: &Store, ctx: Ctx) {
    let queue = LogStreamQueue::new(Arc::new(store.for_this_runtime().unwrap()), Arc::clone(&ctx.env));
    let create = async |ctx: &Ctx, tx: &mut Tx| {
        let new = json!({ "name": "SIEM", "type": "HTTPS", "url": "https://siem.example.com/", "from": 0 });
        let new: New = serde_json::from_value(new).unwrap();
        let (stream, _) =
            log_streams::create(ctx, tx, (&AddressGuard::default(), &Plain), new).await.unwrap();
        assert_eq!(tx.log_streams().await?.len(), 1);
        Ok::<_, StoreError>(Audited::new(stream, Event::new("lst_1", &LogStreamDeleted {})))
    };
    let stream = store.write(ctx.clone(), create).await.unwrap();
    let key = log_streams::Key { tenant: ctx.tenant.clone(), stream: stream.id.clone() };
    let now = ctx.env.now();
    let lease = Lease { owner: "one".into(), now, until: now.plus_millis(60_000) };
    queue.due(&lease, 10).await.unwrap();
    let count = async |across: &mut store::Across| across.log_stream_backlog().await;
    store.across(count).await.unwrap();
    queue.take(&key, &lease).await.unwrap().unwrap();
    queue.read(&key.tenant, 0, 10).await.unwrap();
    assert!(queue.advance(&key, &lease, (0, 5), Some(0)).await.unwrap());
    assert!(queue.advance(&key, &lease, (5, 6), None).await.unwrap());
    queue.fail(&key, &lease, &Problem::new("CONNECT"), now, false).await.unwrap().unwrap();
    queue.take(&key, &lease).await.unwrap().unwrap();
    queue.fail(&key, &lease, &Problem::new("CLOSED"), now, true).await.unwrap().unwrap();
    queue.take(&key, &lease).await.unwrap().unwrap();
    queue.release(&key, &lease, now, true).await.unwrap();
    queue.release(&key, &lease, now, false).await.unwrap();
    let rest = async move |ctx: &Ctx, tx: &mut Tx| {
        let change: Change = serde_json::from_value(json!({ "name": "Other", "enabled": false })).unwrap();
        let guard = AddressGuard::default();
        log_streams::change(ctx, tx, (&guard, &Plain), &stream.id, change).await.unwrap();
        log_streams::resend(ctx, tx, &stream.id, 0).await.unwrap();
        tx.log_stream_notice(&stream.id).await?.unwrap();
        log_streams::remove(tx, &stream.id).await.unwrap();
        Ok::<_, StoreError>(Audited::new((), Event::new("lst_1", &LogStreamDeleted {})))
    };
    store.write(ctx, rest).await.unwrap();
}
