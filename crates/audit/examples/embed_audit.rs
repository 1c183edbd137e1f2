//! An audit log inside your own service, with your own event codes: typed payloads, and entries that are searched,
//! sealed and proved. One entry is then tampered with and detected. Needs neither a database nor a web server.
//!
//! `cargo run -p gatehouse-audit --example embed_audit`

use std::sync::Arc;

use audit::{
    AuditStore, Audited, Catalog, Entry, EntryKeys, Event, EventData, Filter, MemoryAuditLog, find, follow,
    log::{
        Checkpoint, CheckpointKeys, Lease, Nodes, SealPolicy, VerifyKeys, inclusion, seal, verify,
        verify_inclusion,
    },
};
use kernel::{Actor, Ctx, Env, MasterKeys, Secret, SystemEnv, TenantId};
use serde::Serialize;

/// The payload of an event. Payloads contain IDs and names of fields, not personal data.
#[derive(Serialize)]
struct InvoicePaid {
    cents: u64,
}

impl EventData for InvoicePaid {
    const CODE: &'static str = "ACCOUNT_INVOICE_PAID";
    const RESOURCE_TYPE: &'static str = "invoice";
    const DESCRIPTION: &'static str = "An invoice was paid.";

    fn example() -> Option<Self> {
        Some(Self { cents: 4200 })
    }
}

#[derive(Serialize)]
struct InvoiceVoided {
    reason: &'static str,
}

impl EventData for InvoiceVoided {
    const CODE: &'static str = "ACCOUNT_INVOICE_VOIDED";
    const RESOURCE_TYPE: &'static str = "invoice";
}

/// Returns the result together with its audit event, so that the event cannot be forgotten.
fn pay(invoice: &str, cents: u64) -> Audited<String> {
    Audited::new(format!("receipt of {invoice}"), Event::new(invoice, &InvoicePaid { cents }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let ctx = Ctx::new(env.clone(), tenant.clone(), Actor::system("billing"));
    // The master key yields the keys for the entries' MACs and the keys for checkpoints.
    let masters = MasterKeys::new(vec![("k1".into(), Secret::new(vec![7; 32]))])?;
    let (keys, entry_keys) = (CheckpointKeys::derive(&masters), EntryKeys::derive(&masters));
    let mut audit_log = MemoryAuditLog::new(entry_keys.clone());

    let mut receipts = Vec::new();
    for (invoice, cents) in [("inv_7", 999), ("inv_8", 1250), ("inv_9", 300)] {
        let (receipt, events) = pay(invoice, cents).into_parts();
        let entries: Vec<_> = events.into_iter().map(|event| Entry::new(&ctx, event)).collect();
        audit_log.append(&entries).await?;
        receipts.push(receipt);
    }
    let voided = Event::new("inv_8", &InvoiceVoided { reason: "DUPLICATE" });
    audit_log.append(&[Entry::new(&ctx, voided)]).await?;
    println!("{}", receipts.join(", "));

    // Search by code.
    let catalog = Catalog::new().with::<InvoicePaid>().with::<InvoiceVoided>();
    let paid = Filter::default().with_actions("ACCOUNT_INVOICE_PAID", &catalog)?;
    let found = find(&mut audit_log, &paid, None, 50).await?;
    println!("{} invoices were paid", found.entries.len());
    assert_eq!(found.entries.len(), 3);

    // A background task seals entries periodically: each gets its position, and the log is signed.
    let now = env.now();
    let lease = Lease { owner: "billing".into(), now, until: now.plus_millis(3_000) };
    let policy = SealPolicy { checkpoints: &keys, entries: &entry_keys, accepts_missing_macs: false };
    let sealed = seal(&mut audit_log, policy, &tenant, &lease, None).await?.count;
    let note = audit_log.checkpoint().ok_or("the seal left no checkpoint")?.to_owned();
    println!("{sealed} entries are sealed:\n{note}");

    // A follower continues where it stopped and misses no entry.
    let page = follow(&mut audit_log, &Filter::default(), 0, 3).await?;
    let rest = follow(&mut audit_log, &Filter::default(), page.next, 3).await?;
    assert_eq!((page.entries.len(), rest.entries.len()), (3, 1));

    // Prove an entry to someone who has only the public key.
    let public = keys.of(tenant.as_str());
    let checkpoint = Checkpoint::verified(&note, &public)?;
    let (place, entry) = page.entries.first().ok_or("the page has no entry")?;
    let path = inclusion(&mut audit_log, &mut Nodes::default(), *place, checkpoint.size).await?;
    let path = path.ok_or("hashes of the log are missing")?;
    let leaf = entry.entry.content_leaf(tenant.as_str()).ok_or("the address of the entry was erased")?;
    assert!(verify_inclusion(&leaf, *place, checkpoint.size, &path, &checkpoint.root));
    println!("{} has position {place}, proved by {} hashes", entry.entry.id, path.len());

    // Tamper with an entry.
    let verifying = VerifyKeys { checkpoints: &public, entries: Some(&entry_keys), retired: &[] };
    assert_eq!(verify(&mut audit_log, tenant.as_str(), verifying, vec![checkpoint.clone()]).await?.count, 0);
    if let Some(entry) = audit_log.tamper().get_mut(&entry.entry.id) {
        entry.metadata = r#"{"cents":1}"#.into();
    }
    let found = verify(&mut audit_log, tenant.as_str(), verifying, vec![checkpoint]).await?;
    for finding in &found.findings {
        println!("found: {finding}");
    }
    assert_eq!(found.count, 1);
    Ok(())
}
