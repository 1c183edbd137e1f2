//! Styles, modules and images, embedded in the binary so that they match its version. Their URLs contain a hash of all
//! of them, so browsers cache them for ever and a page never mixes the assets of two versions.

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use actix_web::{HttpRequest, HttpResponse, get, http::header, web};
use gate::{document::Document, errors::Problem, middleware::DATA_POLICY, shape::AreaProblem};
use ring::digest;
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
        "svg" => Some("image/svg+xml; charset=utf-8"),
        _ => None,
    }
}

static ROOT: LazyLock<String> = LazyLock::new(|| {
    let mut hash = digest::Context::new(&digest::SHA256);
    for path in Assets::iter() {
        hash.update(path.as_bytes());
        hash.update(&Assets::get(&path).map(|file| file.metadata.sha256_hash()).unwrap_or_default());
    }
    let hash = data_encoding::HEXLOWER.encode(hash.finish().as_ref());
    format!("/assets/{}", hash.chars().take(12).collect::<String>())
});

/// Returns the path of the assets, without a final slash.
pub(crate) fn root() -> &'static str {
    &ROOT
}

/// The modules that each module imports, directly or through others.
static IMPORTS: LazyLock<HashMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let modules = Assets::iter().filter_map(|path| path.strip_prefix("js/").map(str::to_owned));
    let closure = |module: String| {
        let (mut found, mut left) = (BTreeSet::new(), vec![module.clone()]);
        while let Some(next) = left.pop() {
            left.extend(direct_imports(&next).into_iter().filter(|import| found.insert(import.clone())));
        }
        (module, found)
    };
    modules.map(closure).collect()
});

/// Returns the modules that a module imports when it is loaded.
fn direct_imports(module: &str) -> Vec<String> {
    let text = Assets::get(&format!("js/{module}")).map(|file| file.data).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let name = |rest: &str| rest.split('"').next().map(str::to_owned);
    text.split("from \"./").skip(1).filter_map(name).collect()
}

/// Returns the modules that a page's module imports, directly or through others. A page names them all, so that browsers
/// load them at once instead of one after the other.
pub(crate) fn imports(module: &str) -> impl Iterator<Item = &'static str> {
    IMPORTS.get(module).into_iter().flatten().map(String::as_str)
}

/// Serves an asset. Another version's page, as during an upgrade, gets this version's asset without caching it.
#[get("/assets/{version}/{file}")]
pub(crate) async fn asset(
    request: HttpRequest,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, AreaProblem> {
    let (version, file) = path.into_inner();
    let document = DOCUMENTS.get(&file).ok_or_else(|| AreaProblem::of(&request, Problem::not_found()))?;
    let is_current = root().strip_prefix("/assets/") == Some(version.as_str());
    let mut response =
        if is_current { document.answer_for_ever(&request) } else { document.answer(&request) };
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, DATA_POLICY);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_media_type_and_a_name_of_its_own() {
        assert_eq!(DOCUMENTS.len(), Assets::iter().count());
    }

    #[test]
    fn imports_include_those_of_imports() {
        let found: Vec<_> = imports("security.js").collect();
        assert!(found.contains(&"session.js"), "direct: {found:?}");
        assert!(found.contains(&"stepup.js"), "through session.js: {found:?}");
        let all: BTreeSet<_> = IMPORTS.values().flatten().collect();
        assert!(all.len() > 20 && all.iter().all(|name| DOCUMENTS.contains_key(*name)), "{all:?}");
    }
}
