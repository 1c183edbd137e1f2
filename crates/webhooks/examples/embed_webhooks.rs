//! Sends webhooks from your own service: a subscription, an in-memory queue, a local receiver that verifies
//! deliveries, and a secret rotation. No database, no web framework.
//!
//! `cargo run -p gatehouse-webhooks --example embed_webhooks`

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kernel::{Actor, Ctx, Env, MasterKeys, Secret, SystemEnv, TenantId};
use serde_json::value::RawValue;
use webhooks::{
    DispatchObserver, Dispatcher, HttpDeliver, Key, Limits, MemoryQueue, New, Payload, PayloadResource,
    PublishedEvent, SecretKeys, Wakeups,
    client::{AddressGuard, Client, ClientSettings},
    verify,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The receiver's secrets and the ids of accepted events.
#[derive(Default)]
struct Receiver {
    secrets: Mutex<Vec<String>>,
    accepted: Mutex<Vec<String>>,
}

/// An observer that ignores everything.
struct Nobody;
impl DispatchObserver for Nobody {}

#[tokio::main]
async fn main() -> Result<()> {
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let receiver = Arc::new(Receiver::default());
    let address = receive(Arc::clone(&receiver), Arc::clone(&env))?;

    // Loopback addresses are not public, so allow them explicitly.
    let guard = AddressGuard::new(vec!["127.0.0.0/8".parse()?], true);
    let keys = Arc::new(SecretKeys::new(&MasterKeys::new(vec![("2026".into(), Secret::new(vec![7; 32]))])?));
    let (queue, news) = (MemoryQueue::default(), Wakeups::default());
    let mut store = queue.of(&tenant);
    let ctx = || Ctx::new(Arc::clone(&env), tenant.clone(), Actor::system("embed"));
    let new = New {
        name: "Invoices".into(),
        url: format!("http://{address}/in"),
        event_filters: vec!["ACCOUNT_INVOICE_*".into()],
        ordered: false,
    };
    let (made, secret) = webhooks::create(&ctx(), &mut store, (&guard, &keys), new).await?;
    println!(
        "{} receives {}, signed with a secret of {} characters",
        made.id,
        made.event_filters.first().map_or("", webhooks::EventFilter::as_str),
        secret.text().len()
    );
    receiver.secrets.lock().unwrap_or_else(PoisonError::into_inner).push(secret.text().to_owned());

    let of_dispatcher = Arc::clone(&keys);
    let dispatcher = Dispatcher {
        queue: Arc::new(queue.clone()),
        deliver: Arc::new(HttpDeliver {
            client: Client::new(guard, ClientSettings::default())?,
            keys: Box::new(move || Arc::clone(&of_dispatcher)),
            env: Arc::clone(&env),
            user_agent: "Embed/1.0",
        }),
        seen: Arc::new(Nobody),
        env: Arc::clone(&env),
        limits: Limits::default(),
        news: news.clone(),
        heard: Wakeups::default(),
    };
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let delivering = tokio::spawn(async move {
        dispatcher.run(async { drop(ended.await) }).await;
    });

    let publish = |id: &str, kind: &str| -> Result<()> {
        let data = RawValue::from_string(r#"{"cents":4200}"#.into())?;
        let payload = Payload {
            id,
            kind,
            created_at: env.now(),
            tenant_id: tenant.as_str(),
            actor: None,
            resource: PayloadResource { kind: "invoice", id: "inv_1" },
            data: &data,
        };
        let event = PublishedEvent { id, kind, subject: "invoice:inv_1", body: &payload.render() };
        for key in queue.publish(&*env, &tenant, &event) {
            news.notify(key, false);
        }
        Ok(())
    };
    publish("evt_1", "ACCOUNT_INVOICE_PAID")?;
    publish("evt_2", "ACCOUNT_USER_CREATED")?;
    accepted(&receiver, 1).await;

    // The receiver still has only the old secret, which keeps working.
    let (_, next) = webhooks::rotate(&ctx(), &mut store, &keys, &made.id, 24).await?;
    news.notify(Key { tenant: tenant.clone(), subscription: made.id.clone() }, true);
    publish("evt_3", "ACCOUNT_INVOICE_PAID")?;
    accepted(&receiver, 2).await;
    // The receiver switches to the new secret, so the rotation can be completed.
    *receiver.secrets.lock().unwrap_or_else(PoisonError::into_inner) = vec![next.text().to_owned()];
    webhooks::complete_rotation(&ctx(), &mut store, &made.id).await?;
    news.notify(Key { tenant: tenant.clone(), subscription: made.id.clone() }, true);
    publish("evt_4", "ACCOUNT_INVOICE_PAID")?;
    let accepted = accepted(&receiver, 3).await;
    assert_eq!(accepted, ["evt_1", "evt_3", "evt_4"]);
    println!("verified during a rotation: {}", accepted.join(", "));

    let _gone = end.send(());
    delivering.await?;
    let key = Key { tenant: tenant.clone(), subscription: made.id };
    let kept = queue.deliveries(&key);
    assert!(kept.iter().all(|delivery| delivery.outcome.as_ref().is_some_and(webhooks::Outcome::is_success)));
    println!("{} deliveries, each with its outcome", kept.len());
    Ok(())
}

/// Waits until the receiver has accepted `count` events, and returns them.
async fn accepted(receiver: &Receiver, count: usize) -> Vec<String> {
    loop {
        let accepted = receiver.accepted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if accepted.len() >= count {
            return accepted;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts a receiver in its own thread.
fn receive(receiver: Arc<Receiver>, env: Arc<dyn Env>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut reader = BufReader::new(&connection);
            while let Some((head, body)) = request(&mut reader) {
                let header = |name: &str| {
                    let found =
                        head.iter().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
                    found.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
                };
                let secrets = receiver.secrets.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let now = env.now().unix_millis() / 1000;
                let (timestamp, signature) = (header("x-service-timestamp"), header("x-service-signature"));
                let verified = verify::ReceiverSecrets::new(&secrets)
                    .map(|secrets| verify::verify(&secrets, timestamp, signature, &body, now));
                let status = match verified {
                    Ok(Ok(())) => {
                        // The ID of the body: the header X-Service-Event-Id is not signed.
                        let event: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
                        let id = event
                            .get("id")
                            .and_then(serde_json::Value::as_str)
                            .unwrap_or_default()
                            .to_owned();
                        receiver.accepted.lock().unwrap_or_else(PoisonError::into_inner).push(id);
                        "204 No Content"
                    }
                    _ => "401 Unauthorized",
                };
                if (&connection).write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    Ok(address)
}

fn request(reader: &mut impl BufRead) -> Option<(Vec<String>, Vec<u8>)> {
    let head: Vec<String> =
        reader.lines().map_while(std::io::Result::ok).take_while(|line| !line.is_empty()).collect();
    let length = head
        .iter()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}
