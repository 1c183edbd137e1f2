//! Secrets that are encrypted again.

use std::sync::{Arc, Mutex};

use ::saml_sp::{DomainRecheck, DomainStore, OurKeys, Provider, ProviderStore, SealedKey, VerifiedDomain};
use audit::{Audited, Unaudited};
use data_encoding::BASE64URL_NOPAD;
use kernel::{Ctx, SealedAgain, StoreError, TenantId};
use sign_in::sso::oidc::{OidcProvider, OidcStore};
use store::{SealedSecret, SealingProgress, Tx};

use crate::{
    oidc_values,
    support::{World, on_both},
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

/// Encrypts all secrets of the world's tenant again, and returns the last progress.
async fn all_again(
    world: &World,
    again: impl Fn(SealedSecret, &str, &[u8]) -> SealedAgain + Clone + Send + 'static,
) -> SealingProgress {
    let mut progress = SealingProgress::default();
    while !progress.is_done {
        let (before, again) = (progress, again.clone());
        let work = async move |_: &Ctx, tx: &mut Tx| {
            let progress = tx.seal_again(before, again).await?;
            Ok::<_, StoreError>(Audited::without(progress, Unaudited::StepTaken))
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
                b"one" => SealedAgain::Unchanged,
                b"two" => SealedAgain::Unreadable,
                _ => SealedAgain::Changed([sealed, b" again"].concat()),
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
async fn malformed_secret_is_named() {
    on_both(async |world| {
        let mut saml = crate::saml::provider(&*world.env, &world.ctx().tenant, &["saml.example"]);
        saml.keys.active.sealed = "not base64url!".into();
        let id = saml.id.to_string();
        let keep = async move |_: &Ctx, tx: &mut Tx| tx.insert_provider(&saml).await;
        world.change(&world.ctx().tenant, keep).await.unwrap();
        let mut progress = SealingProgress::default();
        let problem = loop {
            let before = progress;
            let work = async move |_: &Ctx, tx: &mut Tx| {
                let progress = tx.seal_again(before, |_, _: &str, _: &[u8]| SealedAgain::Unchanged).await?;
                Ok::<_, StoreError>(Audited::without(progress, Unaudited::NothingChanged))
            };
            match world.store.write(world.ctx(), work).await {
                Ok(next) => progress = next,
                Err(problem) => break problem.to_string(),
            }
            assert!(!progress.is_done);
        };
        assert!(problem.contains(&id) && !problem.contains("base64url!"), "{problem}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_of_a_domain_stays_until_another_is_found() {
    on_both(async |world| {
        let (now, domain) = (world.env.now(), "corp.example");
        let month = now.plus_millis(::saml_sp::RECHECK_MILLIS);
        let work = async move |_: &Ctx, tx: &mut Tx| {
            let domain: ::saml_sp::EmailDomain = domain.parse().unwrap();
            let verified = VerifiedDomain {
                domain: domain.clone(),
                method: ::saml_sp::Method::Dns,
                verified_at: now,
                token: Some("first".into()),
            };
            assert!(tx.insert_verified_domain(&verified).await?);
            let taken = tx.take_due_domain(&domain, month, month.plus_millis(1)).await?.unwrap();
            let token = |text: &str| Some(text.to_owned());
            let leased =
                DomainRecheck { token: token("first"), missing_since: None, next_at: month.plus_millis(1) };
            assert_eq!(taken, leased);
            let next = DomainRecheck { token: token("second"), ..taken };
            assert!(tx.reschedule_domain(&domain, &next).await?);
            assert_eq!(tx.verified_domains().await?, [VerifiedDomain { token: token("second"), ..verified }]);
            Ok(())
        };
        world.change(&world.ctx().tenant, work).await.unwrap();
    })
    .await;
}
