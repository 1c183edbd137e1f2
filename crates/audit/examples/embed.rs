//! A ledger inside a service of your own, with a code of its own: typed payload, entry, hash, catalog.
//!
//! `cargo run -p audit --example embed`

use std::sync::Arc;

use audit::{Audited, Catalog, Entry, Event, EventData};
use kernel::{Actor, Ctx, SystemEnv, TenantId};
use serde::Serialize;
use utoipa::ToSchema;

/// What this service has to say: ids and names of fields, no personal values.
#[derive(Serialize, ToSchema)]
struct InvoicePaid {
    cents: u64,
}

impl EventData for InvoicePaid {
    const CODE: &'static str = "ACCOUNT_INVOICE_PAID";
    const DESCRIPTION: &'static str = "An invoice was paid.";
    const RESOURCE_TYPE: &'static str = "invoice";
    const EXAMPLE_ID: &'static str = "inv_1";

    fn example() -> Self {
        Self { cents: 4200 }
    }
}

fn main() {
    let env = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let ctx = Ctx::new(env, tenant, Actor::system("billing"));

    // A change answers with its value and what the ledger is to say about it.
    let paid = Audited::new("receipt 7", Event::new("inv_7", &InvoicePaid { cents: 999 }));
    let (receipt, events) = paid.into_parts();
    for event in events {
        let entry = Entry::new(&ctx, event);
        let leaf = data_encoding::HEXLOWER.encode(&entry.leaf());
        println!("{receipt}: {} {} {} {leaf}", entry.id, entry.event.code, entry.event.data);
        assert_eq!(entry.leaf(), entry.leaf(), "the hash depends on the entry alone");
    }

    let catalog = Catalog::new().with::<InvoicePaid>();
    assert_eq!(catalog.specs().first().map(|spec| spec.code), Some("ACCOUNT_INVOICE_PAID"));
}
