//! Streams of shared signals on both databases: one worker pushes, and a change takes the stream from it.

use std::sync::Arc;

use audit::{Audited, Event, events::signals::SignalReceiverDeleted, events::users::UserDeactivated};
use kernel::{Ctx, Secret, StoreError};
use serde_json::json;
use signals::{
    Done, Key, KeyError, Lease, Manager, New, Problem, Receiver, SealSecret, SignalQueue, Stream, StreamBody,
    StreamStore,
};
use store::{PushQueue, Tx};
use webhooks::client::AddressGuard;

use crate::support::{World, on_both};

struct NoSecrets;

impl SealSecret for NoSecrets {
    fn seal(&self, _: &str, _: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        Err(KeyError("encrypted"))
    }

    fn open(&self, _: &str, _: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        Err(KeyError("decrypted"))
    }
}

/// Creates a stream that pushes, and queues this number of events.
async fn created(world: &World, events: usize) -> (Key, Receiver, Stream) {
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let new: New = serde_json::from_value(json!({ "name": "P", "audience": "p" })).unwrap();
        let (receiver, _) = signals::create(ctx, tx, new).await.unwrap();
        let delivery = json!({ "method": "urn:ietf:rfc:8935", "endpoint_url": "https://p.example.com/" });
        let body: StreamBody = serde_json::from_value(json!({ "delivery": delivery })).unwrap();
        let guard = AddressGuard::default();
        let manager =
            Manager { receiver: &receiver, issuer: "https://i.example", guard: &guard, seal: &NoSecrets };
        let stream = manager.create(ctx, tx, body).await.unwrap();
        let key = Key { tenant: ctx.tenant.clone(), stream: stream.id.clone() };
        Ok::<_, StoreError>(Audited::new(
            (key, receiver, stream),
            Event::new("rcv_1", &SignalReceiverDeleted {}),
        ))
    };
    let made = world.store.write(world.ctx(), work).await.unwrap();
    for number in 0..events {
        let queue = async move |_: &Ctx, _: &mut Tx| {
            let event = Event::new(format!("usr_{number}"), &UserDeactivated {});
            Ok::<_, StoreError>(Audited::new((), event))
        };
        world.store.write(world.ctx(), queue).await.unwrap();
    }
    made
}

fn queue(world: &World) -> PushQueue {
    PushQueue::new(Arc::new(world.reopened()), Arc::clone(&world.env))
}

fn lease(world: &World, owner: &str, later: i64) -> Lease {
    let now = world.env.now().plus_millis(later);
    Lease { owner: owner.into(), now, until: now.plus_millis(60_000) }
}

#[tokio::test]
async fn one_worker_pushes_a_stream() {
    on_both(async |world| {
        let ((key, ..), queue) = (created(&world, 1).await, queue(&world));
        let (one, other) = (lease(&world, "one", 0), lease(&world, "other", 0));
        assert_eq!(queue.due(&one, 10).await.unwrap(), std::slice::from_ref(&key));
        let taken = queue.take(&key, &one, 20).await.unwrap().unwrap();
        // One change causes three events.
        let jtis: Vec<_> = taken.events.iter().map(|event| event.jti.clone()).collect();
        assert_eq!(jtis.len(), 3);
        assert!(queue.take(&key, &other, 20).await.unwrap().is_none());
        assert!(queue.due(&other, 10).await.unwrap().is_empty());
        assert!(!queue.advance(&key, &other, &jtis, &Done::Accepted).await.unwrap());
        assert!(queue.advance(&key, &one, &jtis[..1], &Done::Accepted).await.unwrap());
        // Another worker continues after the lease has ended, without what was accepted.
        let later = lease(&world, "other", 61_000);
        let taken = queue.take(&key, &later, 20).await.unwrap().unwrap();
        assert_eq!(
            taken.events.iter().map(|event| &event.jti).collect::<Vec<_>>(),
            jtis[1..].iter().collect::<Vec<_>>()
        );
        assert!(!queue.advance(&key, &one, &jtis[1..], &Done::Accepted).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn failing_stream_waits_and_a_refusal_is_no_failure() {
    on_both(async |world| {
        let ((key, receiver, _), queue) = (created(&world, 1).await, queue(&world));
        let now = lease(&world, "one", 0);
        let taken = queue.take(&key, &now, 20).await.unwrap().unwrap();
        let problem = Problem::new("CONNECT");
        let since = queue.fail(&key, &now, &problem, now.now.plus_millis(5_000)).await.unwrap();
        assert_eq!(since, Some(now.now));
        // Also if a new event is announced.
        assert!(queue.take(&key, &now, 20).await.unwrap().is_none());
        assert!(queue.due(&now, 10).await.unwrap().is_empty());
        let later = lease(&world, "one", 6_000);
        assert!(queue.take(&key, &later, 20).await.unwrap().is_some());
        let refused = Done::Refused(Problem::new("REFUSED"));
        assert!(queue.advance(&key, &later, &[taken.events[0].jti.clone()], &refused).await.unwrap());
        let read = async move |tx: &mut Tx| tx.stream_of(&receiver.id).await;
        let (_, state) = world.store.read::<_, StoreError>(key.tenant.clone(), read).await.unwrap().unwrap();
        assert_eq!((state.failing_since, state.delivered_at), (None, None));
        assert_eq!(state.problem, Some(Problem::new("REFUSED")));
    })
    .await;
}

#[tokio::test]
async fn changed_stream_is_taken_from_its_worker() {
    on_both(async |world| {
        let ((key, _, stream), queue) = (created(&world, 1).await, queue(&world));
        let now = lease(&world, "one", 0);
        let taken = queue.take(&key, &now, 20).await.unwrap().unwrap();
        let disable = async move |ctx: &Ctx, tx: &mut Tx| {
            let disabled = Stream { status: signals::Status::Disabled, updated_at: ctx.now, ..stream };
            tx.update_stream(&disabled, &[]).await?;
            Ok::<_, StoreError>(Audited::new((), Event::new("rcv_1", &SignalReceiverDeleted {})))
        };
        world.store.write(world.ctx(), disable).await.unwrap();
        let jti = [taken.events[0].jti.clone()];
        assert!(!queue.advance(&key, &now, &jti, &Done::Accepted).await.unwrap());
        assert!(queue.take(&key, &lease(&world, "one", 1_000), 20).await.unwrap().unwrap().events.is_empty());
    })
    .await;
}
