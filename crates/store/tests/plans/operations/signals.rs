//! Shared signals.

use std::sync::Arc;

use audit::{Audited, Event, events::signals::SignalReceiverDeleted, events::users::UserDeactivated};
use kernel::{Ctx, Secret, StoreError, UserId};
use oidc_rp::KeySet;
use serde_json::json;
use signals::{
    Done, EventStore, Jwk, Key, KeyError, KeyStore, Lease, Manager, New, NewTransmitter, Poll, Problem,
    ReceivedStore, ReceivedToken, ReceiverStore, SealSecret, SignalQueue, StoredKey, StreamBody, StreamStore,
    Subject, SubjectStore, TransmitterStore,
};
use store::{CredentialKey, PushQueue, Store, Tx};
use webhooks::client::AddressGuard;

/// Stores secrets as they are.
struct Plain;

impl SealSecret for Plain {
    fn seal(&self, _: &str, secret: &Secret<Vec<u8>>) -> Result<String, KeyError> {
        Ok(String::from_utf8(secret.expose().clone()).unwrap())
    }

    fn open(&self, _: &str, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError> {
        Ok(Secret::new(sealed.as_bytes().to_vec()))
    }
}

/// Runs the operations.
pub(super) async fn run(store: &Store, ctx: Ctx) {
    let deleted = || Event::new("rcv_1", &SignalReceiverDeleted {});
    let create = async move |ctx: &Ctx, tx: &mut Tx| {
        let new: New = serde_json::from_value(json!({ "name": "P", "audience": "p" })).unwrap();
        let (receiver, token) = signals::create(ctx, tx, new).await.unwrap();
        let delivery = json!({ "method": "urn:ietf:rfc:8935", "endpoint_url": "https://p.example.com/", "authorization_header": "Bearer x" });
        let body: StreamBody = serde_json::from_value(json!({ "delivery": delivery })).unwrap();
        let guard = AddressGuard::default();
        let manager =
            Manager { receiver: &receiver, issuer: "https://i.example", guard: &guard, seal: &Plain };
        let stream = manager.create(ctx, tx, body).await.unwrap();
        tx.receivers().await?;
        let id = stream.id.as_str();
        manager.verify(ctx, tx, (id, None)).await.unwrap();
        let subject = Subject::Email { email: "a@example.com".into() };
        manager.set_subject(tx, (id, &subject, true)).await.unwrap();
        let user = UserId::new(&*ctx.env);
        tx.count_removed_subjects(&stream.id).await?;
        tx.exclude_subject(&stream.id, &user).await?;
        tx.include_subject(&stream.id, &user).await?;
        let jwk = Jwk {
            kty: "RSA".into(),
            usage: "sig".into(),
            alg: "RS256".into(),
            kid: "k".into(),
            n: "n".into(),
            e: "e".into(),
        };
        let key = StoredKey { jwk, sealed: "s".into(), created_at: ctx.now, replaced_at: None };
        tx.add_signing_key(&key, ctx.now).await?;
        Ok::<_, StoreError>(Audited::new((receiver, stream, token), deleted()))
    };
    let (receiver, stream, token) = store.write(ctx.clone(), create).await.unwrap();
    let hash = token.hash();
    let tenant = ctx.tenant.clone();
    let find = async |across: &mut store::Across| {
        across.credential(&tenant, &CredentialKey::Receiver(hash.clone())).await
    };
    store.across(find).await.unwrap();
    let queue = PushQueue::new(Arc::new(store.for_this_runtime().unwrap()), Arc::clone(&ctx.env));
    let key = Key { tenant: ctx.tenant.clone(), stream: stream.id.clone() };
    let now = ctx.env.now();
    let lease = Lease { owner: "one".into(), now, until: now.plus_millis(60_000) };
    queue.due(&lease, 10).await.unwrap();
    let taken = queue.take(&key, &lease, 20).await.unwrap().unwrap();
    let done: Vec<_> = taken.events.into_iter().map(|event| event.jti).collect();
    assert_eq!(done.len(), 1);
    assert!(queue.advance(&key, &lease, &done, &Done::Accepted).await.unwrap());
    queue.fail(&key, &lease, &Problem::new("CONNECT"), now).await.unwrap().unwrap();
    queue.take(&key, &lease, 20).await.unwrap().unwrap();
    queue.release(&key, &lease).await.unwrap();
    let receiving = async move |ctx: &Ctx, tx: &mut Tx| {
        let new =
            json!({ "name": "T", "issuer": "https://t.example", "audience": "g", "connectionId": "oidc_1" });
        let new: NewTransmitter = serde_json::from_value(new).unwrap();
        let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "k", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
        let keys = KeySet::parse(&json!({ "keys": [key] }).to_string()).unwrap();
        let (transmitter, _) = signals::add_transmitter(ctx, tx, new.check().unwrap(), keys).await.unwrap();
        tx.transmitters().await?;
        let id = &transmitter.id;
        let known = tx.transmitter(id).await?.unwrap();
        tx.update_transmitter(&known).await?;
        tx.note_keys_read(id, &known.keys).await?;
        let restored = Some([2; 32]);
        let token = ReceivedToken { id: [1; 32], restored, occurred_at: ctx.now, until: ctx.now };
        assert!(tx.remember_token(id, &token).await? && !tx.remember_token(id, &token).await?);
        assert!(tx.was_restored(id, &[2; 32], ctx.now.plus_millis(-1)).await?);
        assert!(!tx.was_restored(id, &[2; 32], ctx.now).await?);
        tx.delete_transmitter(id).await?;
        Ok::<_, StoreError>(Audited::new((), deleted()))
    };
    store.write(ctx.clone(), receiving).await.unwrap();
    let rest = async move |ctx: &Ctx, tx: &mut Tx| {
        let poll = Poll { ack: vec!["x".into()], ..Poll::default() };
        signals::acknowledge(tx, &stream.id, &poll, ctx.now).await.unwrap();
        tx.pending_events(&stream.id, false, 10).await?;
        tx.note_polled(&stream.id, Some(ctx.now), None).await?;
        tx.count_events(&stream.id).await?;
        let disabled = signals::Stream { status: signals::Status::Disabled, ..stream };
        tx.update_stream(&disabled, &[]).await?;
        let change = serde_json::from_value(json!({ "name": "Q" })).unwrap();
        signals::change(ctx, tx, &receiver.id, change).await.unwrap();
        signals::remove(tx, &receiver.id).await.unwrap();
        Ok::<_, StoreError>(Audited::new((), Event::new("usr_1", &UserDeactivated {})))
    };
    store.write(ctx, rest).await.unwrap();
}
