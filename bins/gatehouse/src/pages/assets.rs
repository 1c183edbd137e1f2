//! Styles, modules and pictures: in the program, so that they are of its version.

use actix_web::{HttpRequest, HttpResponse, get, http::header, web};
use ring::digest::{SHA256, digest};

use crate::http::{AreaProblem, Problem};

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// File name, type, content.
const FILES: [(&str, &str, &str); 13] = [
    ("gatehouse.css", CSS, include_str!("../../assets/gatehouse.css")),
    ("parts.css", CSS, include_str!("../../assets/parts.css")),
    ("developers.css", CSS, include_str!("../../assets/developers.css")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    ("api.js", JS, include_str!("../../assets/js/api.js")),
    ("page.js", JS, include_str!("../../assets/js/page.js")),
    ("passkeys.js", JS, include_str!("../../assets/js/passkeys.js")),
    ("factors.js", JS, include_str!("../../assets/js/factors.js")),
    ("login.js", JS, include_str!("../../assets/js/login.js")),
    ("enrol.js", JS, include_str!("../../assets/js/enrol.js")),
    ("session.js", JS, include_str!("../../assets/js/session.js")),
    ("stepup.js", JS, include_str!("../../assets/js/stepup.js")),
    ("security.js", JS, include_str!("../../assets/js/security.js")),
];

/// Asked for anew each time and sent when it has changed: pages and their modules are never of two versions.
#[get("/assets/{file}")]
pub(super) async fn asset(
    request: HttpRequest,
    file: web::Path<String>,
) -> Result<HttpResponse, AreaProblem> {
    let Some((_, kind, text)) = FILES.into_iter().find(|(name, ..)| *name == *file) else {
        return Err(AreaProblem::of(&request, Problem::not_found()));
    };
    let hash = digest(&SHA256, text.as_bytes());
    let tag = header::EntityTag::new_strong(data_encoding::HEXLOWER.encode(hash.as_ref()));
    let known = request.headers().get(header::IF_NONE_MATCH).and_then(|sent| sent.to_str().ok());
    let mut answer =
        if known == Some(&tag.to_string()) { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    answer.insert_header((header::CACHE_CONTROL, "no-cache")).insert_header(header::ETag(tag.clone()));
    if known == Some(&tag.to_string()) {
        return Ok(answer.finish());
    }
    Ok(answer.content_type(kind).body(text))
}
