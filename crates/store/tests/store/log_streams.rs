//! Streams of audit logs on both databases: one worker sends, in order, and a position is recorded once.

use std::sync::Arc;

use audit::{Audited, Event, Unaudited, events::log_streams::LogStreamDeleted, log::CheckpointKeys};
use kernel::{Ctx, MasterKeys, Secret, StoreError};
use log_streams::{
    Key, Lease, LogStreamId, LogStreamStore, New, Problem, SealSecret, SecretError, StreamQueue, StreamState,
};
use serde_json::json;
use store::{LogStreamQueue, Tx};
use webhooks::client::AddressGuard;

use crate::support::{World, on_both};

struct NoSecrets;

impl SealSecret for NoSecrets {
    fn seal(&self, _: &LogStreamId, _: &Secret<String>) -> Result<String, SecretError> {
        Err(SecretError("encrypted"))
    }

    fn open(&self, _: &LogStreamId, _: &str) -> Result<Secret<String>, SecretError> {
        Err(SecretError("decrypted"))
    }
}

async fn created(world: &World) -> Key {
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let new = json!({ "name": "SIEM", "type": "HTTPS", "url": "https://siem.example.com/", "from": 0 });
        let new: New = serde_json::from_value(new).unwrap();
        let (stream, _) =
            log_streams::create(ctx, tx, (&AddressGuard::default(), &NoSecrets), new).await.unwrap();
        Ok(Key { tenant: ctx.tenant.clone(), stream: stream.id })
    };
    let tenant = world.ctx().tenant;
    let key = world.change(&tenant, work).await.unwrap();
    seal(world).await;
    key
}

/// Seals the tenant's entries: those of the change that created the stream.
async fn seal(world: &World) {
    let keys = MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![7; 32]))]).unwrap();
    let now = world.env.now();
    let lease = audit::log::Lease { owner: "s".into(), now, until: now };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (checkpoints, entries) = (&CheckpointKeys::derive(&keys), &store::testing::entry_keys());
        let policy = audit::log::SealPolicy { checkpoints, entries, accepts_missing_macs: false };
        audit::log::seal(tx, policy, &ctx.tenant, &lease, None).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::Sealed))
    };
    world.store.write(world.ctx(), work).await.unwrap();
}

fn queue(world: &World) -> LogStreamQueue {
    LogStreamQueue::new(Arc::new(world.reopened()), Arc::clone(&world.env))
}

fn lease(world: &World, owner: &str, later: i64) -> Lease {
    let now = world.env.now().plus_millis(later);
    Lease { owner: owner.into(), now, until: now.plus_millis(60_000) }
}

async fn state(world: &World, key: &Key) -> StreamState {
    let id = key.stream.clone();
    let read = async move |tx: &mut Tx| tx.log_stream(&id).await;
    world.store.read::<_, StoreError>(key.tenant.clone(), read).await.unwrap().unwrap().1
}

#[tokio::test]
async fn one_worker_sends_a_stream() {
    on_both(async |world| {
        let (key, queue) = (created(&world).await, queue(&world));
        let (one, other) = (lease(&world, "one", 0), lease(&world, "other", 0));
        assert_eq!(queue.due(&one, 10).await.unwrap(), std::slice::from_ref(&key));
        let taken = queue.take(&key, &one).await.unwrap().unwrap();
        assert_eq!((taken.state.position, taken.range_from), (0, 0));
        assert!(queue.take(&key, &other).await.unwrap().is_none());
        assert!(queue.due(&other, 10).await.unwrap().is_empty());
        assert_eq!(
            queue.due(&one, 10).await.unwrap(),
            std::slice::from_ref(&key),
            "after an outage its worker goes on"
        );
        let page = queue.read(&key.tenant, 0, 10).await.unwrap();
        assert!(page.size > 0 && page.next == page.size && page.entries.len() as u64 == page.size);
        assert!(page.checkpoint.is_some() && page.removed_before.is_none());
        assert!(!queue.advance(&key, &other, (0, page.next), Some(0)).await.unwrap());
        assert!(queue.advance(&key, &one, (0, page.next), Some(0)).await.unwrap());
        assert!(!queue.advance(&key, &one, (0, page.next), Some(0)).await.unwrap(), "only once");
        queue.release(&key, &one, one.now, true).await.unwrap();
        assert!(queue.due(&other, 10).await.unwrap().is_empty(), "all is sent");
        assert!(state(&world, &key).await.delivered_at.is_some());
        // The lease of a worker that was killed ends.
        queue.take(&key, &one).await.unwrap().unwrap();
        let late = lease(&world, "other", 61_000);
        assert!(queue.take(&key, &late).await.unwrap().is_some());
        assert!(!queue.advance(&key, &one, (page.next, page.next + 1), None).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn failures_are_recorded_until_the_next_success() {
    on_both(async |world| {
        let (key, queue) = (created(&world).await, queue(&world));
        let one = lease(&world, "one", 0);
        queue.take(&key, &one).await.unwrap().unwrap();
        assert!(queue.advance(&key, &one, (0, 1), Some(0)).await.unwrap());
        let refused = Problem { status: Some(503), ..Problem::new("REFUSED") };
        let next = one.now.plus_millis(5_000);
        let note = queue.fail(&key, &one, &refused, next, false).await.unwrap().unwrap();
        assert!(!note.is_notice_due);
        let failing = state(&world, &key).await;
        assert_eq!((failing.problem, failing.next_attempt_at), (Some(refused.clone()), Some(next)));
        assert_eq!((failing.position, failing.failing_since), (1, Some(note.since)));
        assert!(
            queue.due(&lease(&world, "one", 0), 10).await.unwrap().is_empty(),
            "the next attempt is not due"
        );
        assert!(
            queue.fail(&key, &one, &refused, next, false).await.unwrap().is_none(),
            "the lease has ended"
        );
        // A notice after an hour, once.
        for is_due in [true, false] {
            let later = lease(&world, "one", 3_601_000);
            queue.take(&key, &later).await.unwrap().unwrap();
            let noted = queue.fail(&key, &later, &refused, later.now, true).await.unwrap().unwrap();
            assert_eq!((noted.is_notice_due, noted.since), (is_due, note.since));
        }
        assert_eq!(state(&world, &key).await.position, 0, "the last range is repeated");
        let later = lease(&world, "one", 3_602_000);
        queue.take(&key, &later).await.unwrap().unwrap();
        assert!(queue.advance(&key, &later, (0, 1), Some(0)).await.unwrap());
        let healthy = state(&world, &key).await;
        assert_eq!((healthy.failing_since, healthy.problem, healthy.next_attempt_at), (None, None, None));
    })
    .await;
}

#[tokio::test]
async fn moved_stream_ignores_what_its_worker_sends() {
    on_both(async |world| {
        let (key, queue) = (created(&world).await, queue(&world));
        let one = lease(&world, "one", 0);
        queue.take(&key, &one).await.unwrap().unwrap();
        let id = key.stream.clone();
        let back = async move |ctx: &Ctx, tx: &mut Tx| {
            log_streams::resend(ctx, tx, &id, 0).await.unwrap();
            let size = tx.log_size().await?;
            assert!(log_streams::resend(ctx, tx, &id, size + 1).await.is_err(), "after the end of the log");
            Ok::<_, StoreError>(Audited::new((), Event::new(id.as_str(), &LogStreamDeleted {})))
        };
        world.store.write(world.ctx(), back).await.unwrap();
        assert!(!queue.advance(&key, &one, (0, 1), Some(0)).await.unwrap());
        assert_eq!(queue.due(&lease(&world, "two", 0), 10).await.unwrap(), std::slice::from_ref(&key));
    })
    .await;
}

#[tokio::test]
async fn stream_that_is_ahead_of_its_log_is_due() {
    on_both(async |world| {
        let (key, queue) = (created(&world).await, queue(&world));
        let one = lease(&world, "one", 0);
        queue.take(&key, &one).await.unwrap().unwrap();
        assert!(queue.advance(&key, &one, (0, 1_000), Some(0)).await.unwrap());
        queue.release(&key, &one, one.now, true).await.unwrap();
        assert_eq!(queue.due(&lease(&world, "one", 0), 10).await.unwrap(), std::slice::from_ref(&key));
        let page = queue.read(&key.tenant, 1_000, 10).await.unwrap();
        assert!(page.size < 1_000 && page.entries.is_empty() && page.next == 1_000);
    })
    .await;
}
