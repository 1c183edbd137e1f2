//! SCIM 2.0 (RFC 7643, RFC 7644, RFC 9865) without HTTP framework and without SQL: users and groups, what
//! a client may send and what it gets back, filters, PATCH, pages, and the rules, over storage traits of
//! your own.
//!
//! Everything is driven by one table of attributes ([`schema`]): it validates what comes in, filters and
//! paths are read against it, it is what `/Schemas` answers, and it names the attribute in every error.
//! Clients' habits are met where they do no harm: member names in any case, `"True"` for `true`, a bare
//! string where a complex value has a `value`, null and empty arrays for "nothing", unknown attributes
//! ignored.
//!
//! | to | use |
//! |---|---|
//! | serve users to an identity provider over storage of your own | [`Service`] |
//! | serve groups too | [`groups`], and [`Group`] for bodies and answers |
//! | read a filter and evaluate it on JSON | [`Filter::parse`], [`Filter::matches`] |
//! | compile a filter to a query of your database | walk [`Filter`] |
//! | apply a PATCH to a user | [`Patch::read`], [`User::patched`] |
//! | check your storage | `conformance`, a feature |
//!
//! # SCIM from a `HashMap`, in 60 lines
//!
#![doc = concat!("```no_run\n", include_str!("../examples/hashmap.rs"), "```")]

mod attributes;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
pub mod filter;
mod fold;
mod group;
pub mod groups;
mod input;
mod json;
pub mod memory;
mod page;
mod params;
mod patch;
mod projection;
pub mod schema;
mod service;
mod store;
mod user;
pub mod users;

pub use attributes::Attributes;
pub use error::{Error, ScimType, error_body};
pub use filter::Filter;
pub use fold::fold;
pub use group::{Group, GroupDraft};
pub use input::UserDraft;
pub use page::{DEFAULT_COUNT, MAX_COUNT, Page, Query, ResourcePage, Start, list_response, write_list};
pub use params::Params;
pub use patch::{MemberChanges, Patch, Target};
pub use projection::{Projection, Selected};
pub use service::{Answer, Request, Service, service_provider_config};
pub use store::{GroupStore, MAX_MEMBERSHIPS, MembersChanged, UserStore};
pub use user::{EmailValue, Membership, User};
pub use users::OnExisting;
