//! The operations of the API description, by area.
#![expect(clippy::indexing_slicing, reason = "a JSON value indexed by a name it lacks is null, not a panic")]

use serde_json::Value;

use super::{
    curl::{Curl, curls},
    json::{members, pretty, referenced, text},
    sample,
};

/// An area of the API: a tag of the description.
pub(super) struct Group<'a> {
    pub(super) name: &'a str,
    /// Its page below `/developers/`.
    pub(super) path: String,
    pub(super) description: &'a str,
    pub(super) operations: Vec<Operation<'a>>,
}

pub(super) struct Operation<'a> {
    pub(super) id: &'a str,
    pub(super) method: String,
    pub(super) path: &'a str,
    pub(super) summary: &'a str,
    pub(super) description: Vec<TextRun<'a>>,
    /// A command for each credential that the operation accepts.
    pub(super) curls: Vec<Curl>,
    pub(super) parameters: Vec<Parameter<'a>>,
    pub(super) bodies: Vec<Body<'a>>,
    pub(super) answers: Vec<Answer<'a>>,
}

/// A part of a description: prose, or code between backticks.
pub(super) struct TextRun<'a> {
    pub(super) code: bool,
    pub(super) text: &'a str,
}

pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) place: &'a str,
    pub(super) required: bool,
    pub(super) description: &'a str,
}

pub(super) struct Body<'a> {
    pub(super) media: &'a str,
    pub(super) schema: Option<&'a str>,
    pub(super) example: Option<String>,
}

pub(super) struct Answer<'a> {
    pub(super) status: &'a str,
    pub(super) description: &'a str,
    pub(super) bodies: Vec<Body<'a>>,
}

/// Returns the areas with their operations, in the order of the description.
pub(super) fn groups<'a>(document: &'a Value, base_url: &str) -> Vec<Group<'a>> {
    let tags = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
    let group = |tag: &'a Value| {
        let name = text(tag, "name");
        Group {
            name,
            path: name.to_ascii_lowercase().replace(' ', "-"),
            description: text(tag, "description"),
            operations: operations(document, name, base_url),
        }
    };
    tags.iter().map(group).collect()
}

fn operations<'a>(document: &'a Value, tag: &str, base_url: &str) -> Vec<Operation<'a>> {
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
            curls: curls(document, &method.to_ascii_uppercase(), path, operation, base_url),
            parameters: list(&operation["parameters"])
                .map(|parameter| Parameter {
                    name: text(parameter, "name"),
                    place: text(parameter, "in"),
                    required: parameter["required"] == true,
                    description: text(parameter, "description"),
                })
                .collect(),
            bodies: bodies(document, &operation["requestBody"]),
            answers: members(&operation["responses"])
                .map(|(status, answer)| Answer {
                    status,
                    description: text(answer, "description"),
                    bodies: if status.starts_with('2') { bodies(document, answer) } else { Vec::new() },
                })
                .collect(),
        })
        .collect()
}

fn runs(text: &str) -> Vec<TextRun<'_>> {
    let alternating = [false, true].into_iter().cycle();
    text.split('`').zip(alternating).map(|(text, code)| TextRun { code, text }).collect()
}

fn bodies<'a>(document: &Value, of: &'a Value) -> Vec<Body<'a>> {
    members(&of["content"])
        .map(|(media, content)| Body {
            media,
            schema: referenced(&content["schema"]),
            example: content
                .get("example")
                .cloned()
                .or_else(|| sample::of(document, &content["schema"]))
                .map(|json| pretty(&json)),
        })
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
