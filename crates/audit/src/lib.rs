//! The audit log: entries, their hashes, searches, and the registry of event codes from which the catalog, the API
//! description and the documentation are generated.
//!
//! A change is incomplete without its entry: a unit of work returns an [`Audited`] value, which holds at least one
//! [`Event`] or states in [`Unaudited`] why there is none. Each entry is hashed when it is written ([`Entry::leaf`]).
//! Sealing into a Merkle tree happens later in the background ([`log`]).
//!
//! # What the MAC protects against
//!
//! Each entry has a message authentication code ([`EntryMac`]), computed when it is appended with a key that is not
//! in the database ([`EntryKeys`]). Sealing accepts only entries with a valid MAC. So someone who can write to the
//! database but lacks the key cannot add an entry to the log, copy one under another id or to another tenant, or
//! change an unsealed one. The MAC does not prevent the deletion of an entry before it is sealed, and does not
//! protect against a holder of the key.
//!
//! # Example
//!
//! A service defines its own events:
//!
//! ```
//! use audit::{Ctx, Entry, EntryKeys, Event, EventData, MasterKeys, MemoryAuditLog};
//! use audit::AuditStore as _;
//!
//! #[derive(serde::Serialize)]
//! struct InvoicePaid {
//!     cents: u64,
//! }
//! impl EventData for InvoicePaid {
//!     const CODE: &'static str = "INVOICE_PAID";
//!     const RESOURCE_TYPE: &'static str = "invoice";
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ctx = Ctx::system("acme".parse()?, "billing");
//! let mut log = MemoryAuditLog::new(EntryKeys::derive(&MasterKeys::random(&*ctx.env)));
//! let paid = Event::new("inv_7", &InvoicePaid { cents: 4200 });
//! log.append(&[Entry::new(&ctx, paid)]).await?;
//! # Ok(())
//! # }
//! ```
//!
//! `examples/embed_audit.rs` searches, seals and proves entries, and finds one that was changed.

mod activity;
mod audited;
mod catalog;
pub mod csv;
mod entry;
mod error;
mod event;
pub mod events;
mod export;
mod export_slots;
#[cfg(feature = "gatehouse-events")]
mod groups;
mod leaf;
pub mod log;
mod mac;
mod memory;
pub mod ocsf;
mod page;
mod parameters;
mod query;
mod store;
mod view;

/// The attribute for implementations of [`AuditStore`] and [`AuditQueryStore`].
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Env, Id, InvalidMasterKey, MasterKeys, ParseIdError, ParseMasterKeysError,
    ParseTimestampError, Secret, SigningKeys, StoreError, StoreResult, SystemEnv, TenantId, Timestamp,
    TraceContext, UserId,
};

pub use activity::{DayCount, MAX_COUNTED, count_days};
pub use audited::{Audited, Unaudited};
pub use catalog::{Catalog, EventSpec};
pub use entry::{AuditId, Entry, StoredEntry};
pub use error::{FilterError, InvalidParameter, SearchError};
pub use event::{Event, EventData, subject};
pub use export::{ExportFormat, ExportWriter, Exported, Proof};
pub use export_slots::{ExportSlot, ExportSlots};
#[cfg(feature = "gatehouse-events")]
pub use groups::EventGroup;
pub use mac::{EntryKeys, EntryMac, MacProblem};
pub use memory::MemoryAuditLog;
pub use page::{AuditPage, Order, Search};
pub use parameters::FilterParameters;
pub use query::{
    CODES_BY_INDEX, EntryPage, Filter, ListedEntry, MAX_CODES, MAX_SCANNED, MAX_TEXT, Position, SealedPage,
    Span, find, follow,
};
pub use store::{AuditQueryStore, AuditStore};
pub use view::EntryView;
