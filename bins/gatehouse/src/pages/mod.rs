//! Pages drawn on the server. No inline script, no inline style, nothing from elsewhere.

mod developers;

use actix_web::{
    HttpResponse, get,
    http::header,
    web::{self, ServiceConfig},
};

/// The pages' paths, for the table of operations.
pub(crate) const PATHS: [&str; 2] = ["/developers", "/assets/{file}"];

pub(crate) fn routes(config: &mut ServiceConfig) {
    config.service(developers::developers).service(asset);
}

const STYLE: &str = include_str!("../../assets/gatehouse.css");
const ICON: &str = include_str!("../../assets/icon.svg");

#[get("/assets/{file}")]
async fn asset(file: web::Path<String>) -> Result<HttpResponse, crate::http::Problem> {
    let (kind, text) = match file.as_str() {
        "gatehouse.css" => ("text/css; charset=utf-8", STYLE),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return Err(crate::http::Problem::not_found()),
    };
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "public, max-age=300"))
        .content_type(kind)
        .body(text))
}
