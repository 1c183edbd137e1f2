//! An HTTP client for addresses that strangers choose.
//!
//! Whoever may write down a URL that a server then asks for can make that server ask its own network: the database
//! beside it, the metadata of the cloud it runs in. So nothing is left here of what makes that easy. A [`AddressGuard`] says
//! which addresses may be talked to, by default only those that the whole Internet reaches. There is one place where
//! connections are made, it sees what a name has been resolved to, and it connects to exactly what it has checked: no
//! second look-up between the check and the connection, no redirects, no proxies from the environment.
//!
//! The other half is what an answer may cost. Time, header fields and body are bounded before a connection is opened,
//! and nothing is decompressed.
//!
//! ```
//! use webhooks::client::{AddressGuard, UrlError};
//! let guard = AddressGuard::new(Vec::new(), false);
//! let target = guard.target("https://hooks.example.com/gatehouse")?;
//! assert!(guard.check_literal(&target), "a name is judged by what it resolves to, later");
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
