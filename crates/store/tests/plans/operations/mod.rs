//! Runs every operation of the storage layer.

mod audit_log;
mod log_streams;
mod oidc;
mod removals;
mod roles;
mod saml;
mod sign_in;
mod signals;
mod webhooks;

use std::{sync::Arc, time::Duration};

use audit::{AuditStore, Audited, Entry, Event, Filter, events::users::UserDeactivated};
use kernel::{Actor, Ctx, Env, Id, StoreError, SystemEnv, TenantId};
use store::{CredentialKey, Store};
use tokens::{NewScimToken, ScimTokenStore};

/// Runs every operation.
pub(crate) async fn run_all(store: &Store) {
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let ip = Some("192.0.2.7".parse().unwrap());
    let ctx = Ctx { ip, ..Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test")) };
    let everything = async |ctx: &Ctx, tx: &mut store::Tx| {
        scim_core::conformance::users(ctx, tx).await;
        scim_core::conformance::groups(ctx, tx).await;
        let new = NewScimToken { name: "Okta".into(), create_conflict: false, dry_run: false };
        let (token, raw) = tokens::mint(ctx, tx, new).await.unwrap();
        tx.scim_token(&token.id).await?;
        tx.revoke_scim_token(&token.id, ctx.now).await?;
        tx.latest(10).await?;
        sign_in::run(ctx, tx).await?;
        audit_log::search(ctx, tx).await?;
        audit_log::run(ctx, tx).await?;
        webhooks::run(ctx, tx).await?;
        saml::run(ctx, tx).await?;
        oidc::run(ctx, tx).await?;
        removals::run(ctx, tx).await?;
        roles::run(ctx, tx).await?;
        // The export asks for their names.
        let actors = ["usr_1", "sct_1", "sso_1"].map(Actor::system);
        let by = |actor| Entry::new(&Ctx { actor, ..ctx.clone() }, Event::new("test", &UserDeactivated {}));
        tx.append(&actors.map(by)).await?;
        Ok::<_, StoreError>(Audited::new((token, raw), Event::new("test", &UserDeactivated {})))
    };
    let (token, raw) = Box::pin(store.write(ctx.clone(), everything)).await.unwrap();
    log_streams::run(store, ctx.clone()).await;
    signals::run(store, ctx).await;
    let text = || Some("user".to_owned());
    for filter in [
        Filter::default(),
        Filter { actor: text(), ..Filter::default() },
        Filter { actions: Some(vec!["A".into(), "B".into()]), ..Filter::default() },
        Filter { resource_id: text(), text: text(), ..Filter::default() },
        Filter { text: text(), ..Filter::default() },
    ] {
        let mut export = store
            .export(raw.tenant().clone(), filter, 10, true, Duration::from_mins(1), |_, _| {})
            .await
            .unwrap();
        while let Some(some) = export.next().await {
            some.unwrap();
        }
    }
    let across = async |across: &mut store::Across| {
        across.credential(raw.tenant(), &CredentialKey::ScimToken(raw.hash())).await?;
        across.tenant(raw.tenant()).await?;
        across.next_unsealed(Some(raw.tenant())).await?;
        let lease = ::webhooks::Lease::new("test", env.now());
        let key = ::webhooks::Key { tenant: raw.tenant().clone(), subscription: Id::new(&*env) };
        across.next_with_fresh(Some(&key), &lease).await?;
        across.with_retries(&lease, Some(&(lease.now, key.clone())), 10).await?;
        across.webhooks_after(Some(&key), 10).await?;
        across.failing_webhooks(Some(&key), lease.now, 10).await?;
        across.webhook_backlog(lease.now).await?;
        across.tenants_to_publish(Some(raw.tenant()), lease.now, 10).await?;
        across.tenant_of_slug("acme").await?;
        let session = Id::from_key(token.id.key()).unwrap();
        across.credential(raw.tenant(), &CredentialKey::Session(session)).await?;
        across.credential(raw.tenant(), &CredentialKey::Pat(raw.hash())).await?;
        across.has_administrator().await?;
        across.users_of_address("ada@example.com", None).await?;
        across.users_of_address("ada@example.com", Some(raw.tenant())).await?;
        across.accounts("ada@example.com", None, "here").await?;
        across.accounts("ada@example.com", Some(raw.tenant()), "here").await?;
        across.foreign_session(&[0; 32], None, Some("ada@example.com")).await?;
        across.foreign_session(&[0; 32], Some(raw.tenant()), None).await?;
        across.foreign_holder("ada@example.com", None).await?;
        across.provider_for_domain(&"a.example".parse().unwrap()).await?;
        across.saml_due(lease.now, 10).await?;
        across.oidc_due(lease.now, 10).await?;
        across.saml_expiry(lease.now).await?;
        across.domains_due(lease.now, 10).await?;
        across.tenant_of_pat(&Id::from_key(token.id.key()).unwrap()).await?;
        across.tenant_of_scim_token(&token.id).await
    };
    store.across(across).await.unwrap();
    saml::purge_expired_rows(store, &env).await;
}
