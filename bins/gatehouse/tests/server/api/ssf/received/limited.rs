//! Limits of the rate of tokens.

use kernel::Env;
use serde_json::json;
use store::testing::Kind;

use super::{Site, transmitter::post_as};
use crate::support::Server;

#[test]
fn strangers_are_limited_by_their_address_and_do_not_use_up_the_rate_of_the_transmitter() {
    let server = Server::start(Kind::Sqlite, &[]);
    let site = Site::new(&server, &json!({}));
    let open = site.change(&server, &json!({ "requiresAuthorization": false })).json();
    let refused = (0..5000).map(|_| post_as(&server, &open, None, "nonsense"));
    let limited = refused.into_iter().find(|answer| answer.status != 400).expect("there is a limit");
    assert_eq!((limited.status, &limited.json()["code"]), (429, &json!("RATE_LIMITED")), "{}", limited.text);
    assert!(limited.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds >= 1));
    let admin = server.proved(&site.oidc.admin, "SSO_PROVIDER_CHANGE");
    let closed = admin.post(&format!("{}/replace-token", site.settings()), &json!({})).json();
    let subject = json!({ "format": "opaque", "id": "stream" });
    let sound = site.token(&site.claims("v1", "verification", &subject, server.env.now()));
    let accepted = post_as(&server, &closed, closed["authorization"].as_str(), &sound);
    assert_eq!(accepted.status, 202, "{}", accepted.text);
}
