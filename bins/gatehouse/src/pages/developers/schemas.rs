//! The schemas of the API description, with the operations that use each.
#![expect(clippy::indexing_slicing, reason = "a JSON value indexed by a name it lacks is null, not a panic")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    json::{members, pretty, referenced, text},
    operations::Group,
};

pub(super) struct Shape<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    pub(super) text: String,
    /// Names of the schemas that it refers to.
    pub(super) parts: BTreeSet<&'a str>,
    /// The operations that send or receive it: path of the page, ID, and summary.
    pub(super) uses: Vec<(String, &'a str, &'a str)>,
}

/// Returns the schemas by name.
pub(super) fn shapes<'a>(document: &'a Value, groups: &[Group<'a>]) -> Vec<Shape<'a>> {
    let mut uses: BTreeMap<&str, Vec<(String, &str, &str)>> = BTreeMap::new();
    for group in groups {
        for operation in &group.operations {
            let answered = operation.answers.iter().flat_map(|answer| &answer.bodies);
            let used: BTreeSet<_> =
                operation.bodies.iter().chain(answered).filter_map(|body| body.schema).collect();
            for schema in used {
                uses.entry(schema).or_default().push((group.path.clone(), operation.id, operation.summary));
            }
        }
    }
    members(&document["components"]["schemas"])
        .map(|(name, schema)| {
            let mut parts = BTreeSet::new();
            gather(schema, &mut parts);
            let uses = uses.remove(name).unwrap_or_default();
            Shape { name, description: text(schema, "description"), text: pretty(schema), parts, uses }
        })
        .collect()
}

/// Adds the names of the schemas that a schema refers to.
fn gather<'a>(schema: &'a Value, found: &mut BTreeSet<&'a str>) {
    found.extend(referenced(schema));
    match schema {
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Object(members) => members.values().for_each(|member| gather(member, found)),
        _ => {}
    }
}
