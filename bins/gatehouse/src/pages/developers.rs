//! `/developers`: the API reference as a page, rendered from the API description.
#![expect(clippy::indexing_slicing, reason = "a JSON value indexed by a name it lacks is null, not a panic")]

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;
use serde_json::Value;

use crate::api::Site;
use gate::document::Document;
use gate::errors::Problem;

#[derive(Template)]
#[template(path = "developers.html")]
struct Page<'a> {
    base_url: &'a str,
    version: &'a str,
    description: &'a str,
    groups: Vec<Group<'a>>,
    schemas: Vec<Shape<'a>>,
    events: Vec<Event>,
}

struct Group<'a> {
    name: &'a str,
    description: &'a str,
    operations: Vec<Operation<'a>>,
}

struct Operation<'a> {
    id: &'a str,
    method: String,
    path: &'a str,
    summary: &'a str,
    description: Vec<TextRun<'a>>,
    credential: &'a str,
    parameters: Vec<Parameter<'a>>,
    bodies: Vec<Body<'a>>,
    answers: Vec<Answer<'a>>,
}

/// A part of a description: prose, or code between backticks.
struct TextRun<'a> {
    code: bool,
    text: &'a str,
}

struct Parameter<'a> {
    name: &'a str,
    place: &'a str,
    required: bool,
    description: &'a str,
}

struct Body<'a> {
    media: &'a str,
    schema: Option<&'a str>,
    example: Option<String>,
}

struct Answer<'a> {
    status: &'a str,
    description: &'a str,
    bodies: Vec<Body<'a>>,
}

struct Shape<'a> {
    name: &'a str,
    text: String,
}

struct Event {
    code: &'static str,
    description: &'static str,
    example: String,
}

/// Serves the API reference. It is the same for everybody, so it is rendered once.
#[get("/developers")]
pub(crate) async fn developers(site: web::Data<Site>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    if let Some(page) = site.documents.reference.get() {
        return Ok(page.answer(&request));
    }
    let page = draw(&site).map_err(Problem::unexpected)?;
    let page = site.documents.reference.get_or_init(|| Document::new("text/html; charset=utf-8", page).0);
    Ok(page.answer(&request))
}

fn draw(site: &Site) -> Result<String, askama::Error> {
    let document = site.documents.openapi_json();
    let tags = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
    let groups = tags.iter().map(|tag| Group {
        name: text(tag, "name"),
        description: text(tag, "description"),
        operations: operations(document, text(tag, "name")),
    });
    let schemas = members(&document["components"]["schemas"])
        .map(|(name, schema)| Shape { name, text: pretty(schema) });
    let catalog = audit::events::catalog();
    let events = catalog.specs().iter().map(|spec| Event {
        code: spec.code,
        description: spec.description,
        example: pretty(&spec.example),
    });
    Page {
        base_url: &site.pipeline.base_url,
        version: site.documents.spec_version(),
        description: text(&document["info"], "description"),
        groups: groups.collect(),
        schemas: schemas.collect(),
        events: events.collect(),
    }
    .render()
}

fn operations<'a>(document: &'a Value, tag: &str) -> Vec<Operation<'a>> {
    let all = members(&document["paths"])
        .flat_map(|(path, item)| members(item).map(move |(method, operation)| (path, method, operation)));
    let tagged = all.filter(|(_, _, operation)| operation["tags"][0] == tag);
    tagged
        .map(|(path, method, operation)| Operation {
            id: text(operation, "operationId"),
            method: method.to_ascii_uppercase(),
            path,
            summary: text(operation, "summary"),
            description: runs(text(operation, "description")),
            credential: members(&operation["security"][0]).next().map_or("none", |(name, _)| name),
            parameters: list(&operation["parameters"])
                .map(|parameter| Parameter {
                    name: text(parameter, "name"),
                    place: text(parameter, "in"),
                    required: parameter["required"] == true,
                    description: text(parameter, "description"),
                })
                .collect(),
            bodies: bodies(&operation["requestBody"]),
            answers: members(&operation["responses"])
                .map(|(status, answer)| Answer {
                    status,
                    description: text(answer, "description"),
                    bodies: bodies(answer),
                })
                .collect(),
        })
        .collect()
}

fn runs(text: &str) -> Vec<TextRun<'_>> {
    let alternating = [false, true].into_iter().cycle();
    text.split('`').zip(alternating).map(|(text, code)| TextRun { code, text }).collect()
}

fn bodies(of: &Value) -> Vec<Body<'_>> {
    members(&of["content"])
        .map(|(media, content)| Body {
            media,
            schema: content["schema"]["$ref"].as_str().and_then(|name| name.rsplit('/').next()),
            example: content.get("example").map(pretty),
        })
        .collect()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
