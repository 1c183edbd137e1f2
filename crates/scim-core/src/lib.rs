//! SCIM 2.0 (RFC 7643, RFC 7644, RFC 9865) without an HTTP framework or SQL: users, groups, filters, PATCH,
//! pagination and the operations on them, over storage traits that you implement.
//!
//! One table of attributes ([`schema`]) drives everything: it validates input, resolves filters and paths, generates
//! `/Schemas`, and names the attribute in every error. Deviations of common clients are accepted where they are
//! harmless: member names in any case, `"True"` for `true`, a bare string where a complex value has a `value`, null
//! and empty arrays for "nothing". Unknown attributes are ignored.
//!
//! | to | use |
//! |---|---|
//! | serve users and groups to an identity provider | [`Service`] |
//! | keep a small number of users | [`UserTable`] |
//! | keep any number of users and groups | [`UserStore`], [`GroupStore`] |
//! | call operations yourself | [`users`], [`groups`] |
//! | parse a filter and evaluate it on JSON | [`Filter::parse`], [`Filter::matches`] |
//! | compile a filter to a query of your database | match on [`Filter`] |
//! | apply a PATCH to a user | [`Patch::read`], [`User::patched`] |
//! | try changes without making them | [`Overlay`] |
//! | test your storage | the feature `conformance` |
//!
//! # SCIM from a `HashMap`
//!
#![doc = concat!("```no_run\n", include_str!("../examples/hashmap.rs"), "```")]

/// The attribute for implementations of [`UserStore`], [`GroupStore`] and [`UserTable`].
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Email, Env, GroupId, Id, ParseEmailError, ParseIdError, ParseTimestampError,
    StoreError, StoreResult, SystemEnv, TenantId, Timestamp, TraceContext, UniqueKey, UserId,
    constant_time_eq,
};
pub use serde_json::Value;

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
mod location;
pub mod memory;
mod overlay;
mod page;
mod params;
mod patch;
mod projection;
pub mod schema;
mod search;
mod service;
mod store;
mod table;
mod user;
pub mod users;

pub use attributes::Attributes;
pub use error::{Error, ScimType, error_body};
pub use filter::Filter;
pub use fold::fold;
pub use group::{Group, GroupDraft};
pub use input::UserDraft;
pub use memory::MemoryStore;
pub use overlay::{Action, Difference, MembershipChanges, Overlay, OverlayChanges, ResourceKind};
pub use page::{
    Cursor, DEFAULT_COUNT, MAX_COUNT, Page, Query, ResourcePage, Start, list_response, write_list,
};
pub use params::Params;
pub use patch::{MemberChanges, Patch, Target};
pub use projection::{Projection, Selected};
pub use search::{Search, SearchResult};
pub use service::{
    Answer, AuthenticationScheme, BearerToken, InvalidBearerToken, ProviderConfig, Request, Service,
    service_provider_config,
};
pub use store::{GroupStore, MAX_MEMBERSHIPS, MembersChanged, ScimStore, UserStore};
pub use table::{TableStore, UserTable};
pub use user::{EmailValue, Membership, User};
pub use users::OnExisting;
