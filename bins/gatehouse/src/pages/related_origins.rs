//! `/.well-known/webauthn`: the origins at which passkeys of this server can be used.

use actix_web::{HttpResponse, get, web};
use serde_json::json;

use crate::api::Site;

pub(crate) const PATH: &str = "/.well-known/webauthn";

/// Lists the origins (WebAuthn Level 3, section 5.11.1). Browsers read it when a page of another origin asks for a passkey.
#[get("/.well-known/webauthn")]
pub(crate) async fn related_origins(site: web::Data<Site>) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "origins": site.auth.passkey_origins }))
}
