//! Storage on SQLite and PostgreSQL: the only crate that knows diesel.
//!
//! A [`Store`] opens units of work. [`Store::write`] runs one in a transaction and commits it only with
//! what the ledger has to say about it ([`audit::Audited`]); [`Store::read`] runs one without. Both hand
//! out a [`Tx`], which belongs to one tenant and implements every area's storage trait. What must be
//! found before the tenant is known is behind [`Store::across`].
//!
//! Each query is written once ([`conn`]'s `on!`) and compiled for both databases.

#![expect(clippy::duplicate_mod, reason = "users::refold is compiled once for each database")]

mod across;
mod administrators;
mod attestation;
mod audit_entries;
mod audit_log;
mod audit_query;
mod audit_retention;
mod audit_verify;
mod conn;
mod credential;
mod db;
mod dialect;
mod enrolled;
mod entry_row;
mod entry_time;
mod error;
mod examine;
mod export;
mod factors;
mod figures;
mod filter;
mod grant_row;
mod groups;
mod guards;
mod holder;
mod holders;
mod json;
mod kept;
mod large_changes;
mod links;
mod list;
mod migrate;
mod network;
mod network_mark;
mod pats;
mod people;
mod postgres;
mod recent;
mod reread;
mod saml;
mod scans;
mod schema;
mod scim_tokens;
mod session_row;
mod sessions;
mod sign_in;
mod sqlite;
mod sqlite_conn;
mod step_up;
mod store;
mod tenants;
#[cfg(feature = "testing")]
#[expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run must not pass")]
pub mod testing;
mod token_rows;
mod turns;
mod tx;
mod users;
mod uses;
mod waiting_line;
mod webhooks;

pub use self::webhooks::{
    Delivered, DeliveryStatus, Fresh, HourOfDeliveries, MAX_REPLAYED, Past, Replayed, Retries, event_payload,
};
pub use across::Across;
pub use administrators::Administrator;
pub use audit_log::Waiting;
pub use credential::AtEnd;
pub use enrolled::EnrolledPasskey;
pub use examine::{Examination, back_up_sqlite};
pub use export::{Ending, Export, Exported, Proof};
pub use figures::Figures;
pub use filter::Cost;
pub use holder::Holder;
pub use holders::{Account, ForeignHolder};
pub use network_mark::NetworkMark;
pub use recent::{MAX_RECENT, Recent};
pub use reread::{Credential, CredentialKey};
pub use saml::{SamlExpiry, SamlOver};
pub use scans::{Outcome, ScanFigures};
pub use store::{DatabaseUrl, ParseDatabaseUrlError, Store};
pub use token_rows::pat_limits;
pub use turns::TenantTurn;
pub use tx::Tx;
pub use uses::{Use, UseOf};
pub use waiting_line::Queue;
