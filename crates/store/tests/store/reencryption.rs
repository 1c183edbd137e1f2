//! Encryption of stored secrets with another key.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use ::saml_sp::{OurKeys, Provider, ProviderStore, SealedKey};
use audit::{Audited, Event, Unaudited, events::tenants::SecretsReencrypted};
use data_encoding::BASE64URL_NOPAD;
use kernel::{Ctx, Reencrypted, StoreError, TenantId};
use sign_in::sso::oidc::{OidcProvider, OidcStore};
use store::{ReencryptionProgress, SealedSecret, Tx, testing::Kind};
use tokio::runtime::Handle;

use crate::{
    oidc_values,
    support::{World, on_both, world},
};

/// Stores a connection of each protocol, with these private keys.
async fn connections(world: &World, tenant: &TenantId) -> (Provider, OidcProvider) {
    let mut oidc = oidc_values::provider(&*world.env, tenant, "oidc.example");
    oidc.keys = keys(&oidc.keys.active, [b"one", b"two"]);
    let mut saml = crate::saml::provider(&*world.env, tenant, &["saml.example"]);
    saml.keys = keys(&saml.keys.active, [b"three", b"four"]);
    let kept = (saml.clone(), oidc.clone());
    let work = async move |_: &Ctx, tx: &mut Tx| {
        tx.insert_provider(&saml).await?;
        tx.insert_oidc_provider(&oidc).await
    };
    world.change(tenant, work).await.unwrap();
    kept
}

fn keys(like: &SealedKey, sealed: [&[u8]; 2]) -> OurKeys {
    let [active, next] =
        sealed.map(|sealed| SealedKey { sealed: BASE64URL_NOPAD.encode(sealed), ..like.clone() });
    OurKeys { active, next: Some(next) }
}

/// Replaces all secrets of the world's tenant, and returns the last progress.
async fn all_again(
    world: &World,
    again: impl Fn(SealedSecret, &str, &[u8]) -> Reencrypted + Clone + Send + Sync + 'static,
) -> ReencryptionProgress {
    let mut progress = ReencryptionProgress::default();
    while !progress.is_done {
        let (before, again) = (progress, again.clone());
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let changed = before.changed;
            let progress = tx.reencrypt(before, again).await?;
            let count = progress.changed - changed;
            let event = Event::new(ctx.tenant.as_str(), &SecretsReencrypted { count, key: "2".into() });
            Ok::<_, StoreError>(if count > 0 {
                Audited::new(progress, event)
            } else {
                Audited::without(progress, Unaudited::NothingChanged)
            })
        };
        progress = world.store.write(world.ctx(), work).await.unwrap();
    }
    progress
}

#[tokio::test(flavor = "multi_thread")]
async fn each_secret_of_the_tenant_is_replaced_once() {
    on_both(async |world| {
        let (saml, oidc) = connections(&world, &world.ctx().tenant).await;
        let neighbor = world.other_tenant();
        let theirs = connections(&world, &neighbor).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let look = Arc::clone(&seen);
        let done = all_again(&world, move |secret, id: &str, sealed: &[u8]| {
            look.lock().unwrap().push((secret, id.to_owned(), sealed.to_vec()));
            match sealed {
                b"one" => Reencrypted::Unchanged,
                b"two" => Reencrypted::Unreadable,
                _ => Reencrypted::Changed([sealed, b" again"].concat()),
            }
        })
        .await;
        assert_eq!((done.changed, done.unreadable), (2, 1));
        let of = |id: &str, sealed: &[u8]| (SealedSecret::Connection, id.to_owned(), sealed.to_vec());
        let (o, s) = (oidc.id.as_str(), saml.id.as_str());
        assert_eq!(*seen.lock().unwrap(), [of(o, b"one"), of(o, b"two"), of(s, b"three"), of(s, b"four")]);

        let again = keys(&saml.keys.active, [b"three again", b"four again"]);
        let saml = Provider { keys: again, ..saml };
        let read = async move |tx: &mut Tx| {
            assert_eq!(tx.providers().await?, [saml]);
            assert_eq!(tx.oidc_providers().await?, [oidc]);
            Ok::<_, StoreError>(())
        };
        world.store.read(world.ctx().tenant, read).await.unwrap();
        let read = async move |tx: &mut Tx| {
            assert_eq!((tx.providers().await?, tx.oidc_providers().await?), (vec![theirs.0], vec![theirs.1]));
            Ok::<_, StoreError>(())
        };
        world.store.read(neighbor, read).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_part_and_malformed_secrets_are_passed_over() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let mut ids = Vec::new();
        for number in 0..101 {
            let mut saml = crate::saml::provider(&*world.env, &tenant, &[&format!("d{number}.example")]);
            saml.keys = keys(&saml.keys.active, [b"one", b"two"]);
            if number == 50 {
                saml.keys.active.sealed = "not base64url!".into();
            }
            ids.push(saml.id.to_string());
            let keep = async move |_: &Ctx, tx: &mut Tx| tx.insert_provider(&saml).await;
            world.change(&tenant, keep).await.unwrap();
        }
        let done = all_again(&world, |_, _: &str, _: &[u8]| Reencrypted::Changed(vec![1])).await;
        assert_eq!((done.changed, done.unreadable), (200, 1));
        assert_eq!(done.named, [("saml_providers", ids[50].clone())]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_that_is_changed_meanwhile_is_read_again() {
    // SQLite has a single writer.
    let world = Arc::new(world(Kind::Postgres).await);
    let (saml, _) = connections(&world, &world.ctx().tenant).await;
    let newer = Provider { keys: keys(&saml.keys.active, [b"new three", b"new four"]), ..saml.clone() };
    let change = {
        let (world, newer, changed) = (Arc::clone(&world), newer.clone(), AtomicBool::new(false));
        move || {
            if changed.swap(true, Ordering::SeqCst) {
                return;
            }
            let newer = newer.clone();
            let unit = async move |_: &Ctx, tx: &mut Tx| tx.update_provider(&newer).await;
            let tenant = world.ctx().tenant;
            let done = world.change(&tenant, unit);
            tokio::task::block_in_place(|| Handle::current().block_on(done)).unwrap();
        }
    };
    let change = Arc::new(change);
    let done = all_again(&world, move |_, _: &str, sealed: &[u8]| match sealed {
        b"one" | b"two" => Reencrypted::Unchanged,
        _ => {
            change();
            Reencrypted::Changed([sealed, b" again"].concat())
        }
    })
    .await;
    assert_eq!((done.changed, done.unreadable), (2, 0));
    let again = keys(&saml.keys.active, [b"new three again", b"new four again"]);
    let read = async move |tx: &mut Tx| {
        assert_eq!(tx.providers().await?, [Provider { keys: again, ..newer }]);
        Ok::<_, StoreError>(())
    };
    world.store.read(world.ctx().tenant, read).await.unwrap();
}
