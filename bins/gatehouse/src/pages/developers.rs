//! `/developers`: the API reference as pages, rendered from the API description.

mod curl;
mod json;
mod operations;
mod sample;
mod schemas;

use std::collections::HashMap;

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;
use gate::{document::Document, errors::Problem, shape::AreaProblem};
use serde_json::Value;

use self::{
    json::{pretty, text},
    operations::{Group, groups},
    schemas::{Shape, shapes},
};
use crate::api::Site;

pub(crate) const PATHS: [&str; 3] = ["/developers", "/developers/{page}", "/developers/schemas/{name}"];
const HTML: &str = "text/html; charset=utf-8";

/// Values that all pages of the reference show.
struct Frame<'a> {
    title: String,
    base_url: &'a str,
    version: &'a str,
    groups: &'a [Group<'a>],
    /// The page below `/developers/`, to highlight it in the navigation; empty for the start page.
    here: &'a str,
}

#[derive(Template)]
#[template(path = "developers.html")]
struct Start<'a> {
    frame: Frame<'a>,
    description: &'a str,
}

#[derive(Template)]
#[template(path = "developers_group.html")]
struct GroupPage<'a> {
    frame: Frame<'a>,
    group: &'a Group<'a>,
}

#[derive(Template)]
#[template(path = "developers_schemas.html")]
struct SchemaList<'a> {
    frame: Frame<'a>,
    shapes: &'a [Shape<'a>],
}

#[derive(Template)]
#[template(path = "developers_schema.html")]
struct SchemaPage<'a> {
    frame: Frame<'a>,
    shape: &'a Shape<'a>,
}

#[derive(Template)]
#[template(path = "developers_events.html")]
struct EventList<'a> {
    frame: Frame<'a>,
    events: Vec<EventRow>,
}

#[derive(Template)]
#[template(path = "developers_signatures.html")]
struct Signatures<'a> {
    frame: Frame<'a>,
}

struct EventRow {
    code: &'static str,
    description: &'static str,
    example: String,
}

/// The rendered pages by path.
pub(crate) type Reference = HashMap<String, Document>;

/// Serves the start page.
#[get("/developers")]
pub(crate) async fn start_page(
    site: web::Data<Site>,
    request: HttpRequest,
) -> Result<HttpResponse, AreaProblem> {
    page(&site, &request)
}

/// Serves the operations of an area, the list of schemas or events, or the signature calculator.
#[get("/developers/{page}")]
pub(crate) async fn section_page(
    site: web::Data<Site>,
    request: HttpRequest,
) -> Result<HttpResponse, AreaProblem> {
    page(&site, &request)
}

/// Serves a schema.
#[get("/developers/schemas/{name}")]
pub(crate) async fn schema_page(
    site: web::Data<Site>,
    request: HttpRequest,
) -> Result<HttpResponse, AreaProblem> {
    page(&site, &request)
}

/// Serves a page. They are the same for everybody, so all are rendered once, for the first request.
fn page(site: &Site, request: &HttpRequest) -> Result<HttpResponse, AreaProblem> {
    let reference = &site.documents.reference;
    if reference.get().is_none() {
        let drawn = draw(site).map_err(|error| AreaProblem::of(request, Problem::unexpected(error)))?;
        let _first = reference.set(drawn);
    }
    let found = reference.get().and_then(|pages| pages.get(request.path()));
    let document = found.ok_or_else(|| AreaProblem::of(request, Problem::not_found()))?;
    Ok(document.answer(request))
}

fn draw(site: &Site) -> Result<Reference, askama::Error> {
    let document = site.documents.openapi_json();
    let base_url = site.pipeline.base_url.as_str();
    let groups = groups(document, base_url);
    let shapes = shapes(document, &groups);
    let frame = |title: &str, here| Frame {
        title: title.to_owned(),
        base_url,
        version: site.documents.spec_version(),
        groups: &groups,
        here,
    };
    let mut pages = Reference::new();
    let mut add = |path: String, text: String| pages.insert(path, Document::new(HTML, text).0);
    let description = text(document.get("info").unwrap_or(&Value::Null), "description");
    add("/developers".into(), Start { frame: frame("API reference", ""), description }.render()?);
    for group in &groups {
        let page = GroupPage { frame: frame(group.name, &group.path), group };
        add(format!("/developers/{}", group.path), page.render()?);
    }
    let list = SchemaList { frame: frame("Schemas", "schemas"), shapes: &shapes };
    add("/developers/schemas".into(), list.render()?);
    for shape in &shapes {
        let page = SchemaPage { frame: frame(shape.name, "schemas"), shape };
        add(format!("/developers/schemas/{}", shape.name), page.render()?);
    }
    let catalog = audit::events::catalog();
    let events = catalog.specs().iter().map(|spec| EventRow {
        code: spec.code,
        description: spec.description,
        example: pretty(&spec.example),
    });
    let events = EventList { frame: frame("Events", "events"), events: events.collect() };
    add("/developers/events".into(), events.render()?);
    let signatures = Signatures { frame: frame("Webhook signatures", "signatures") };
    add("/developers/signatures".into(), signatures.render()?);
    Ok(pages)
}
