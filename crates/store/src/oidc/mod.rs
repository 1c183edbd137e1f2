//! OpenID Connect.

mod providers;
mod requests;
