//! A SAML identity provider and an OpenID provider in this process, for the tests of the server. Tests decide what they respond.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod openid;
mod saml;

pub use oidc_rp::conformance::CLIENT;
pub use openid::{ACCESS_TOKEN, Authorization, OpenIdProvider, Received, Responds, oidc_body};
pub use saml::{Idp, Says, Sent};

/// Returns a self-signed certificate for `localhost` and its key, in PEM.
pub fn server_certificate() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}
