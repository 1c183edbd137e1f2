//! `gatehouse keys reencrypt`

use std::sync::Arc;

use audit::{Audited, Event, Unaudited, events::tenants::SecretsReencrypted};
use directory::Tenant;
use gate::keys::Keys;
use kernel::{Ctx, Env, StoreError};
use serde_json::{Value, json};
use store::{Across, SealingProgress, Tx};
use webhooks::SubscriptionStore;

use crate::{
    cli::{
        operator::Operator,
        report::{Report, Result},
    },
    config::Settings,
};

/// What was done for all tenants.
#[derive(Default)]
struct Outcome {
    changed: u64,
    unreadable: Vec<(String, u64)>,
    /// Slugs of tenants, with the ID and key of each webhook that signs with an older key.
    webhooks: Vec<(String, String, String)>,
}

pub(super) async fn run(settings: &Settings, env: Arc<dyn Env>) -> Result<Report> {
    let keys = Arc::new(Keys::fixed(&settings.master_keys(), &[]));
    let newest = keys.newest().ok_or("master_key: not set")?;
    let office = Operator::open_with(settings, env).await?;
    let tenants =
        office.store.across(async |across: &mut Across| across.some_tenants(i64::MAX).await).await?;
    let mut outcome = Outcome::default();
    for tenant in tenants {
        let done = reencrypt(&office, &tenant, &keys, &newest).await?;
        outcome.changed += done.changed;
        if done.unreadable > 0 {
            outcome.unreadable.push((tenant.slug.clone(), done.unreadable));
        }
        outcome.webhooks.extend(older_webhooks(&office, &tenant, &newest).await?);
    }
    Ok(report(&newest, &outcome))
}

/// Encrypts the secrets of a tenant again, a part per unit of work, and records it.
async fn reencrypt(
    office: &Operator,
    tenant: &Tenant,
    keys: &Arc<Keys>,
    newest: &str,
) -> Result<SealingProgress> {
    let mut progress = SealingProgress::default();
    while !progress.is_done {
        let (before, keys, newest) = (progress, Arc::clone(keys), newest.to_owned());
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let again = |secret, id: &str, sealed: &[u8]| keys.seal_again(&ctx.tenant, secret, id, sealed);
            let progress = tx.seal_again(before, again).await?;
            let data = SecretsReencrypted { count: progress.changed, key: newest };
            let event = Event::new(ctx.tenant.as_str(), &data);
            Ok::<_, StoreError>(if progress.is_done && progress.changed > 0 {
                Audited::new(progress, event)
            } else {
                Audited::without(progress, Unaudited::StepTaken)
            })
        };
        progress = office.write(&tenant.id, work).await?;
    }
    Ok(progress)
}

/// Returns the webhooks that sign with an older key. Their secrets are derived from it, so only a rotation changes them.
async fn older_webhooks(
    office: &Operator,
    tenant: &Tenant,
    newest: &str,
) -> Result<Vec<(String, String, String)>> {
    let read = async |tx: &mut Tx| tx.subscriptions().await;
    let all = office.store.read::<_, StoreError>(tenant.id.clone(), read).await?;
    let of = |(id, key): (String, String)| (tenant.slug.clone(), id, key);
    let keys = all.into_iter().map(|one| (one.id.to_string(), one.secrets.current.key));
    Ok(keys.filter(|(_, key)| key != newest).map(of).collect())
}

fn report(newest: &str, outcome: &Outcome) -> Report {
    let mut lines = vec![format!("Secrets encrypted again with key {newest}: {}", outcome.changed)];
    for (tenant, count) in &outcome.unreadable {
        lines.push(format!("Secrets of {tenant} whose key is missing: {count}"));
    }
    for (tenant, id, key) in &outcome.webhooks {
        lines.push(format!(
            "Webhook {id} of {tenant} signs with key {key}. Rotate its secret before you retire the key."
        ));
    }
    let unreadable: Vec<Value> = outcome
        .unreadable
        .iter()
        .map(|(tenant, count)| json!({ "tenant": tenant, "count": count }))
        .collect();
    let webhooks: Vec<Value> = outcome
        .webhooks
        .iter()
        .map(|(tenant, id, key)| json!({ "tenant": tenant, "id": id, "key": key }))
        .collect();
    let json = json!({
        "key": newest, "reencrypted": outcome.changed, "unreadable": unreadable, "webhooks": webhooks,
    });
    Report::new(json, lines.join("\n"))
}
