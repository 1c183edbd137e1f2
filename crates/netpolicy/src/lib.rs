//! Network policy: the addresses that may reach a tenant, on each of its surfaces.
//!
//! A [`Policy`] combines a tenant's [`Settings`] and [`Rule`]s. [Deciding](Policy::decide) takes tens of nanoseconds
//! for any number of rules and does no I/O. Requests and previews use the same function. [`set`], [`add`], [`rename`]
//! and [`remove`] change a policy behind [`NetworkPolicyStore`] ([`MemoryStore`] implements it). They refuse changes
//! that would lock everybody out, or block the editor's own address without confirmation.
//!
//! ```
//! use netpolicy::{Cidr, Decision, Mode, Policy, Reason, Settings, Surface};
//! let office: Cidr = "203.0.113.0/24".parse()?;
//! let settings = Settings { mode: Mode::Allowlist, admin_bypass: false, ..Settings::default() };
//! let policy = Policy::of_ranges(settings, [office]);
//! let inside = policy.decide(Some([203, 0, 113, 7].into()), Surface::Api, false);
//! assert_eq!((inside.decision, inside.reason), (Decision::Allow, Reason::RuleMatch));
//! let outside = policy.decide(Some([198, 51, 100, 7].into()), Surface::Api, false);
//! assert_eq!((outside.decision, outside.reason), (Decision::Deny, Reason::NoRuleMatch));
//! assert!("203.0.113.7/24".parse::<Cidr>().is_err(), "the host bits are not zero");
//! # Ok::<(), netpolicy::ParseCidrError>(())
//! ```
//!
//! `examples/embed_netpolicy.rs` is a program that restricts access with this crate. The crate does not depend on HTTP or
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
