//! Servers, clients and helpers of the tests.

mod browser;
mod certificates;
mod client;
mod device;
mod dns;
mod files;
mod mail;
mod moved_env;
mod paused_request;
mod process;
mod server;
mod sink;
mod step_ups;

use std::sync::LazyLock;

pub(crate) use browser::Browser;
pub(crate) use certificates::{ending_in, idp_metadata};
pub(crate) use client::{Answer, Caller};
pub(crate) use credentials::conformance::{Attests, Authenticator, Maker};
pub(crate) use device::Device;
pub(crate) use dns::DnsServer;
pub(crate) use files::files_below;
pub(crate) use mail::MailServer;
pub(crate) use moved_env::MovedEnv;
pub(crate) use paused_request::PausedRequest;
pub(crate) use process::{Process, Running, copied_user};
pub(crate) use server::{
    AUTH_SECRET, ORIGIN, PASSWORD, Person, Server, Tenant, eventually, masters, on_both,
};
pub(crate) use sink::Sink;
pub(crate) use test_providers::{
    ACCESS_TOKEN, Authorization, Idp, OpenIdProvider, Received, Responds, Says, Sent, oidc_body,
    server_certificate,
};

use serde_json::{Value, json};

/// The API description, which takes a fraction of a second to build.
pub(crate) static API: LazyLock<Value> = LazyLock::new(gatehouse::api::document);

/// Returns a software authenticator for passkeys of the test servers.
pub(crate) fn authenticator() -> Authenticator {
    Authenticator::new(ORIGIN)
}

/// Reads the SAML request from the page that posts it, or from the redirect.
pub(crate) fn sent(answer: &Answer) -> Sent {
    if answer.status == 303 {
        return Sent::of_url(answer.header("location"));
    }
    assert_eq!(answer.status, 200, "{}", answer.text);
    Sent::of_page(&answer.text)
}

/// Reads the authorization request from the redirect to the provider.
pub(crate) fn authorization(answer: &Answer) -> Authorization {
    assert_eq!(answer.status, 303, "{}", answer.text);
    Authorization::of_url(answer.header("location"))
}

/// Returns the authenticator app's code for this secret, this many time steps from now.
pub(crate) fn code(secret: &str, server: &Server, steps: i64) -> String {
    code_at(secret, kernel::Env::now(&*server.env).unix_millis() / 1000 + steps * 30)
}

/// Returns the authenticator app's code for this secret at a time in seconds since 1970.
pub(crate) fn code_at(secret: &str, seconds: i64) -> String {
    let secret = data_encoding::BASE32_NOPAD.decode(secret.as_bytes()).unwrap();
    totp_lite::totp_custom::<totp_lite::Sha1>(30, 6, &secret, u64::try_from(seconds).unwrap())
}

/// Returns a user as most tests need it.
pub(crate) fn ada() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": "Ada@Example.com",
        "externalId": "00u1",
        "name": { "givenName": "Ada", "familyName": "Lovelace" },
        "emails": [{ "value": "ada@example.com", "type": "work", "primary": true }],
    })
}
