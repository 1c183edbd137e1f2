//! SCIM 2.0 (RFC 7643, RFC 7644) without HTTP and without SQL: the user resource and its schemas,
//! what a client may send and what it gets back, look-ups, pages, and the rules of creating and
//! replacing, over a storage trait of your own.
//!
//! Everything is driven by one table of attributes ([`schema`]): it validates what comes in, it is
//! what `/Schemas` answers, and it names the attribute in every error. Clients' habits are met where
//! they do no harm: member names in any case, `"True"` for `true`, a bare string where a complex
//! value has a `value`, null and empty arrays for "nothing", unknown attributes ignored.
//!
//! See `examples/embed.rs` for a service in a few lines over [`memory::MemoryStore`].

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod fold;
mod input;
mod lookup;
pub mod memory;
mod page;
pub mod schema;
pub mod service;
mod store;
mod user;
mod users;

pub use error::{Error, ScimType, error_body};
pub use fold::fold;
pub use input::Draft;
pub use lookup::Lookup;
pub use page::{DEFAULT_COUNT, Found, MAX_COUNT, Page, list_response};
pub use store::UserStore;
pub use user::{EmailValue, User};
pub use users::{Created, OnExisting, Replaced, create, get, list, replace};
