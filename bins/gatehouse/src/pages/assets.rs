//! Styles, modules and images, embedded in the binary so that they match its version.

use std::{collections::HashMap, sync::LazyLock};

use actix_web::{HttpRequest, HttpResponse, get, web};
use gate::{document::Document, errors::Problem, shape::AreaProblem};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "assets"]
struct Assets;

/// The files by name, without their folder.
static DOCUMENTS: LazyLock<HashMap<String, Document>> = LazyLock::new(|| {
    let document = |path: &str| {
        let (name, content) = (path.rsplit('/').next()?, Assets::get(path)?);
        Some((name.to_owned(), Document::new(media_type(name)?, content.data.into_owned()).0))
    };
    Assets::iter().filter_map(|path| document(&path)).collect()
});

fn media_type(name: &str) -> Option<&'static str> {
    match name.rsplit('.').next()? {
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

/// Serves an asset. Browsers revalidate it on each use, so that a page and its modules always have the same version.
#[get("/assets/{file}")]
pub(crate) async fn asset(
    request: HttpRequest,
    file: web::Path<String>,
) -> Result<HttpResponse, AreaProblem> {
    match DOCUMENTS.get(file.as_str()) {
        Some(document) => Ok(document.answer(&request)),
        None => Err(AreaProblem::of(&request, Problem::not_found())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_media_type_and_a_name_of_its_own() {
        assert_eq!(DOCUMENTS.len(), Assets::iter().count());
    }
}
