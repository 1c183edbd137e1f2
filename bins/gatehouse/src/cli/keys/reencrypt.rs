//! `gatehouse keys reencrypt`, and the check that a master key is no longer needed.

use std::sync::Arc;

use audit::{Audited, Event, Unaudited, events::tenants::SecretsReencrypted};
use directory::Tenant;
use gate::keys::Keys;
use kernel::{Ctx, Env, MasterKeys, Reencrypted, StoreError};
use saml_sp::{DomainStore, Method};
use serde_json::{Value, json};
use store::{ReencryptionProgress, Tx};
use webhooks::{Generation, SubscriptionStore};

use crate::{
    cli::{
        operator::Operator,
        report::{Report, Result},
    },
    config::Settings,
};

/// A webhook that signs with an older key.
struct OlderWebhook {
    tenant: String,
    id: String,
    key: String,
}

pub(super) async fn run(settings: &Settings, env: Arc<dyn Env>) -> Result<Report> {
    if !settings.database_url.may_exist() {
        return Err("There is no database. Start the server first".into());
    }
    let keys = Arc::new(Keys::fixed(&settings.master_keys(), &[]));
    let current = keys.current_id().ok_or("master_key: not set")?;
    let office = Operator::open_with(settings, env).await?;
    let tenants = office.tenants().await?;
    let (mut done, mut webhooks) = (Vec::new(), Vec::new());
    for tenant in &tenants {
        done.push((&tenant.slug, reencrypt(&office, tenant, &keys, &current).await?));
        for (id, generation) in generations(&office, tenant).await? {
            if generation.key != current {
                webhooks.push(OlderWebhook { tenant: tenant.slug.clone(), id, key: generation.key });
            }
        }
    }
    Ok(report(&current, &done, &webhooks))
}

/// Encrypts the secrets of a tenant with the current key. Each unit of work does a part and records it.
async fn reencrypt(
    office: &Operator,
    tenant: &Tenant,
    keys: &Arc<Keys>,
    current: &str,
) -> Result<ReencryptionProgress> {
    let mut progress = ReencryptionProgress::default();
    while !progress.is_done {
        let (changed, keys, key) = (progress.changed, Arc::clone(keys), current.to_owned());
        let before = progress;
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let each = |secret, id: &str, sealed: &[u8]| keys.reencrypt(&ctx.tenant, secret, id, sealed);
            let progress = tx.reencrypt(before, each).await?;
            let count = progress.changed - changed;
            let event = Event::new(ctx.tenant.as_str(), &SecretsReencrypted { count, key });
            Ok::<_, StoreError>(if count > 0 {
                Audited::new(progress, event)
            } else {
                Audited::without(progress, Unaudited::NothingChanged)
            })
        };
        progress = office.write(&tenant.id, work).await?;
    }
    Ok(progress)
}

/// Returns an error if a tenant has secrets, webhooks or domains that need another key than those that remain.
pub(super) async fn require_unneeded(
    office: &Operator,
    tenants: &[Tenant],
    all: &MasterKeys,
    remaining: &MasterKeys,
) -> Result<()> {
    let [all, remaining] = [all, remaining].map(|masters| Arc::new(Keys::fixed(masters, &[])));
    for tenant in tenants {
        let secrets = secrets(office, tenant, &all, &remaining).await?;
        let webhooks = generations(office, tenant).await?;
        let webhooks = webhooks
            .iter()
            .filter(|(_, generation)| all.knows(&generation.key) && !remaining.knows(&generation.key))
            .count();
        let read = async |tx: &mut Tx| tx.verified_domains().await;
        let domains = office.store.read::<_, StoreError>(tenant.id.clone(), read).await?;
        let domains =
            domains.iter().filter(|domain| domain.method == Method::Dns && domain.token.is_none()).count();
        if secrets > 0 || webhooks > 0 || domains > 0 {
            return Err(format!(
                "{} still needs this key (secrets: {secrets}, webhooks: {webhooks}, domains: {domains}). See \
                 docs/guides/rotate-keys.md",
                tenant.slug
            )
            .into());
        }
    }
    Ok(())
}

/// Returns the number of a tenant's secrets that all keys decrypt, but those that remain do not.
async fn secrets(office: &Operator, tenant: &Tenant, all: &Arc<Keys>, remaining: &Arc<Keys>) -> Result<u64> {
    let mut progress = ReencryptionProgress::default();
    while !progress.is_done {
        let (before, all, remaining) = (progress, Arc::clone(all), Arc::clone(remaining));
        let id = tenant.id.clone();
        let read = async move |tx: &mut Tx| {
            let look = |secret, row: &str, sealed: &[u8]| {
                let is_lost =
                    |keys: &Keys| keys.reencrypt(&id, secret, row, sealed) == Reencrypted::Unreadable;
                if is_lost(&remaining) && !is_lost(&all) {
                    Reencrypted::Unreadable
                } else {
                    Reencrypted::Unchanged
                }
            };
            tx.reencrypt(before, look).await
        };
        progress = office.store.read::<_, StoreError>(tenant.id.clone(), read).await?;
    }
    Ok(progress.unreadable)
}

/// Returns the generations of secrets that sign, with the ID of their webhook. Secrets are derived from a master key, so only
/// a rotation changes their key.
async fn generations(office: &Operator, tenant: &Tenant) -> Result<Vec<(String, Generation)>> {
    let read = async |tx: &mut Tx| tx.subscriptions().await;
    let all = office.store.read::<_, StoreError>(tenant.id.clone(), read).await?;
    let now = office.env.now();
    let of = |one: webhooks::Subscription| {
        let previous = one.secrets.overlapping(now).map(|previous| previous.generation.clone());
        let signing = std::iter::once(one.secrets.current).chain(previous);
        signing.map(move |generation| (one.id.to_string(), generation)).collect::<Vec<_>>()
    };
    Ok(all.into_iter().flat_map(of).collect())
}

fn report(current: &str, done: &[(&String, ReencryptionProgress)], webhooks: &[OlderWebhook]) -> Report {
    let changed: u64 = done.iter().map(|(_, progress)| progress.changed).sum();
    let mut lines = vec![format!("Secrets encrypted with key {current}: {changed}")];
    let mut unreadable = Vec::new();
    for (tenant, progress) in done.iter().filter(|(_, progress)| progress.unreadable > 0) {
        let rows: Vec<_> = progress.named.iter().map(|(table, id)| format!("{id} in {table}")).collect();
        let count = progress.unreadable;
        lines.push(format!("Secrets of {tenant} that no key decrypts: {count} ({})", rows.join(", ")));
        unreadable.push(json!({ "tenant": tenant, "count": count, "rows": rows }));
    }
    for OlderWebhook { tenant, id, key } in webhooks {
        lines.push(format!("Webhook {id} of {tenant} signs with key {key}. An administrator of {tenant} can rotate its secret."));
    }
    let of = |one: &OlderWebhook| json!({ "tenant": one.tenant, "id": one.id, "key": one.key });
    let webhooks: Vec<Value> = webhooks.iter().map(of).collect();
    let json = json!({
        "key": current, "reencrypted": changed, "unreadable": unreadable, "webhooks": webhooks,
    });
    Report::new(json, lines.join("\n"))
}
