//! Network policy: the addresses that may reach a tenant, on each of its surfaces.
//!
//! A [`Policy`] combines a tenant's [`Settings`] and [`Rule`]s. [Deciding](Policy::decide) takes tens of nanoseconds
//! for any number of rules and does no I/O. Requests and previews use the same function. [`set`], [`add`], [`rename`]
//! and [`remove`] change a policy behind [`NetworkPolicyStore`] ([`MemoryStore`] implements it). They refuse changes
//! that would lock everybody out, or block the editor's own address without confirmation.
//!
//! ```
//! use netpolicy::{Decision, Policy, Reason, Surface};
//!
//! let policy = Policy::allow_only(["203.0.113.0/24".parse()?]);
//! assert!(policy.permits([203, 0, 113, 7].into()));
//! let outside = policy.decide(Some([198, 51, 100, 7].into()), Surface::Api, false);
//! assert_eq!((outside.decision, outside.reason), (Decision::Deny, Reason::NoRuleMatch));
//! # Ok::<(), netpolicy::ParseCidrError>(())
//! ```
//!
//! # An allowlist for an axum service
//!
//! With the feature `tower`, [`tower::NetworkPolicyLayer`] guards a service of any framework that uses tower:
//!
#![doc = concat!("```no_run\n", include_str!("../examples/allowlist.rs"), "```")]
//!
//! `examples/embed_netpolicy.rs` changes a policy without locking everybody out. The crate does not depend on HTTP or
//! databases.

mod change;
mod cidr;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod memory;
#[cfg(feature = "openapi")]
pub mod openapi;
mod policy;
mod preview;
mod proxies;
mod range_index;
mod store;
#[cfg(feature = "tower")]
pub mod tower;

/// The attribute for implementations of [`NetworkPolicyStore`].
pub use async_trait::async_trait;
pub use kernel::{
    Actor, ActorKind, Ctx, Env, Id, ParseIdError, ParseTimestampError, StoreError, StoreResult, SystemEnv,
    TenantId, Timestamp, TraceContext,
};

pub use change::{Editor, MAX_LABEL, MAX_RULES, add, remove, rename, set};
pub use cidr::{Cidr, ParseCidrError};
pub use error::{Error, PreviewError};
pub use memory::MemoryStore;
pub use policy::{
    BLOCKED, Decision, Enforcement, Mode, Policy, Reason, Rule, RuleId, RuleKind, Settings, Surface, Verdict,
};
pub use preview::{
    AddressDecision, AddressTest, DraftPolicy, Impact, MAX_ADDRESSES, NetworkDecision, RecentUse,
    TestedAddresses, UsedCredential,
};
pub use proxies::{Proxies, ProxyHeader};
pub use store::NetworkPolicyStore;
