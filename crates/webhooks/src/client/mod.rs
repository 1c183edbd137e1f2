//! An HTTP client for untrusted URLs, hardened against server-side request forgery (SSRF).
//!
//! A user who can make a server request any URL can reach its internal network: a database, or the metadata service
//! of the cloud. An [`AddressGuard`] decides which addresses may be connected to; by default only those that are
//! globally reachable. Connections are established in one place, to exactly the resolved address that was checked.
//! There is no second DNS lookup between check and connection, no redirect, and no proxy from the environment.
//!
//! The cost of a response is limited too: time, header fields and body size are bounded, and nothing is decompressed.
//!
//! ```
//! use webhooks::client::{AddressGuard, UrlError};
//! let guard = AddressGuard::new(Vec::new(), false);
//! let target = guard.target("https://hooks.example.com/gatehouse")?;
//! assert!(guard.check_literal(&target), "a host name is checked later, by the addresses it resolves to");
//! let metadata = guard.target("https://0xa9fea9fe/latest")?;
//! assert_eq!(metadata.as_str(), "https://169.254.169.254/latest");
//! assert!(!guard.check_literal(&metadata));
//! assert_eq!(guard.target("http://hooks.example.com/"), Err(UrlError::Http));
//! # Ok::<(), UrlError>(())
//! ```

mod answer;
mod connect;
mod connection;
mod failure;
mod guard;
mod resolve;
mod send;
mod target;

pub use answer::Answer;
pub use failure::Failure;
pub use guard::AddressGuard;
pub use resolve::{Resolve, SystemResolver};
pub use send::{Client, ClientSettings, SetupError};
pub use target::{Target, UrlError};
