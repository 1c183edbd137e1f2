//! Pictures of authenticators: those of the FIDO Alliance's metadata, or a symbol.

use actix_web::{HttpRequest, HttpResponse, get, http::header, web};
use attestation::{Aaguid, Group, find};
use credentials::Factor;
use gate::{errors::Problem, middleware::DATA_POLICY, shape::AreaProblem};

use super::assets;
use crate::api::Site;

pub(crate) const PATH: &str = "/authenticators/{aaguid}";

/// Serves the picture of an authenticator model. It is public, as the metadata is.
#[get("/authenticators/{aaguid}")]
pub(crate) async fn picture(
    request: HttpRequest,
    site: web::Data<Site>,
    aaguid: web::Path<String>,
) -> Result<HttpResponse, AreaProblem> {
    let found = aaguid.parse().ok().and_then(|aaguid| site.makers.picture(aaguid));
    let png = found.ok_or_else(|| AreaProblem::of(&request, Problem::not_found()))?;
    Ok(HttpResponse::Ok()
        .content_type("image/png")
        .insert_header((header::CACHE_CONTROL, "public, max-age=86400"))
        .insert_header((header::CONTENT_SECURITY_POLICY, DATA_POLICY))
        .body(png.to_vec()))
}

/// Returns the URL of a factor's picture.
pub(super) fn of_factor(site: &Site, factor: &Factor) -> String {
    match factor.passkey() {
        None => symbol("app"),
        Some(passkey) => {
            let unknown = if passkey.backup_eligible() { "synced" } else { "passkey" };
            of_model(site, Aaguid(passkey.aaguid.0), unknown)
        }
    }
}

/// Returns the URL of a model's picture. `unknown` is the symbol of models that are not in the catalog.
pub(super) fn of_model(site: &Site, aaguid: Aaguid, unknown: &str) -> String {
    if site.makers.picture(aaguid).is_some() {
        return format!("/authenticators/{aaguid}");
    }
    symbol(find(aaguid).map_or(unknown, |known| match known.group {
        Group::FipsHardware | Group::Hardware => "security-key",
        Group::Platform => "device",
        Group::Synced => "synced",
    }))
}

fn symbol(name: &str) -> String {
    format!("{}/{name}.svg", assets::root())
}
