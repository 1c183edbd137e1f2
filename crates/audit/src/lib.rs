//! The audit ledger: what an entry is, how it is hashed, how entries are found, and the one registry of
//! event codes from which the catalog, the API description and the documentation are generated.
//!
//! A change is not finished without its entry: a unit of work answers with an [`Audited`] value,
//! which holds at least one [`Event`], or says in [`Unaudited`] why there is none. Each entry is
//! hashed alone when it is written ([`Entry::leaf`]); sealing into a Merkle log happens off the path ([`log`]).
//!
//! # What the MAC protects against
//!
//! Each entry has a message authentication code ([`EntryMac`]), made when it is appended with a key that is not in the database
//! ([`EntryKeys`]). Sealing accepts an entry only with a valid MAC, so a writer of the database without the key cannot add
//! an entry to the log, copy one under another id or into another tenant, or change one that waits to be sealed. The MAC does
//! not prevent the removal of an entry before it is sealed, and nothing protects against a holder of the key.
//!
//! ```
//! use audit::{Event, events::users::UserDeactivated};
//! let event = Event::new("usr_1", &UserDeactivated {});
//! assert_eq!(event.code, "ACCOUNT_USER_DEACTIVATED");
//! ```

mod audited;
mod catalog;
pub mod csv;
mod entry;
mod error;
mod event;
pub mod events;
mod leaf;
pub mod log;
mod mac;
mod memory;
mod query;
mod store;

pub use audited::{Audited, Unaudited};
pub use catalog::{Catalog, EventSpec};
pub use entry::{AuditId, Entry, StoredEntry};
pub use error::FilterError;
pub use event::{Event, EventData};
pub use mac::{EntryKeys, EntryMac, MacProblem};
pub use memory::MemoryAuditLog;
pub use query::{
    CODES_BY_INDEX, EntryPage, Filter, ListedEntry, MAX_CODES, MAX_SCANNED, MAX_TEXT, Position, SealedPage,
    Span, find, follow,
};
pub use store::{AuditQueryStore, AuditStore};
