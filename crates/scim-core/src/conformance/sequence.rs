//! Compares generated requests with a reference model, one by one.

use std::{collections::BTreeMap, sync::Arc};

use kernel::{Actor, Ctx, ManualEnv, TenantId};
use serde_json::{Value, json};

use super::{
    generate::Random,
    model::{Model, ModelGroup, ModelUser},
};
use crate::{Answer, MemoryStore, Request};

/// The storage of one tenant under test.
pub trait Bench {
    /// Answers a request in a transaction, which is rolled back if the status is 400 or above.
    fn answer(&mut self, ctx: Ctx, request: Request<'_>) -> impl Future<Output = Answer>;
}

/// The base URL of the requests.
pub const BASE: &str = "https://scim.example/v2";

impl Bench for MemoryStore {
    async fn answer(&mut self, ctx: Ctx, request: Request<'_>) -> Answer {
        Self::answer(self, BASE, &ctx, request).await
    }
}

/// Counts each observed result, so that a suite can assert that it has covered them all.
pub type ActionCounts = BTreeMap<String, usize>;

/// A request, with the status that the model expects.
struct Step {
    method: &'static str,
    path: String,
    body: Value,
    expected: u16,
}

/// Sends `steps` random requests, drawn from `seed`, to the storage of a tenant without users and groups.
///
/// # Panics
/// If the storage or this crate behaves differently from the model.
pub async fn sequence<B: Bench>(
    bench: &mut B,
    tenant: &TenantId,
    env: &Arc<ManualEnv>,
    seed: u64,
    steps: usize,
) -> ActionCounts {
    let ctx = || Ctx::new(env.clone(), tenant.clone(), Actor::system("test"));
    let mut random = Random::new(seed);
    let mut model = Model::default();
    let mut seen = ActionCounts::new();
    for number in 0..steps {
        env.advance_millis(1);
        let mut after = model.clone();
        let step = step(&mut after, &mut random);
        let text = format!("seed {seed}, step {number}: {} {} {}", step.method, step.path, step.body);
        let sent = step.body.to_string();
        let answer = bench.answer(ctx(), request(step.method, &step.path, sent.as_bytes())).await;
        assert_eq!(answer.status, step.expected, "{text}: {:?}", answer.body);
        let kind = step.path.split(['/', '?']).nth(1).unwrap_or_default().to_owned();
        *seen.entry(format!("{} {kind} {}", step.method, answer.status)).or_default() += 1;
        if answer.status >= 400 {
            continue;
        }
        model = after;
        let id = answer.body.as_ref().and_then(|body| body.get("id")).and_then(Value::as_str);
        if let (201, Some(id)) = (answer.status, id) {
            model.name_newest(&kind, id);
        }
        compare(bench, &ctx(), &model, &text).await;
    }
    seen
}

fn request<'a>(method: &'a str, path: &'a str, body: &'a [u8]) -> Request<'a> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    Request { method, path, query, body }
}

/// Draws a request and makes its change in the model. A refused one may leave the model changed.
fn step(model: &mut Model, random: &mut Random) -> Step {
    let user = random.below(model.users.len().max(1));
    let group = random.below(model.groups.len().max(1));
    match random.below(20) {
        0..4 => {
            let new = ModelUser::draw(random);
            let body = new.body();
            let expected = if model.create_user(new) { 201 } else { 409 };
            Step { method: "POST", path: "/Users".into(), body, expected }
        }
        4..7 => {
            let new = ModelUser::draw(random);
            let body = new.body();
            let expected = model.replace_user(user, new);
            Step { method: "PUT", path: model.user_path(user), body, expected }
        }
        7..11 => {
            let (patched, operation) = model.patched_user(user, random);
            let expected = patched.map_or(404, |patched| model.replace_user(user, patched));
            Step { method: "PATCH", path: model.user_path(user), body: patch(&operation), expected }
        }
        11 | 12 => {
            let path = model.user_path(user);
            let expected = if model.delete_user(user) { 204 } else { 404 };
            Step { method: "DELETE", path, body: Value::Null, expected }
        }
        13 | 14 => {
            let new = ModelGroup::draw(model, random);
            let body = new.body();
            let expected = model.create_group(new);
            Step { method: "POST", path: "/Groups".into(), body, expected }
        }
        15 => {
            let new = ModelGroup::draw(model, random);
            let body = new.body();
            let expected = model.replace_group(group, new);
            Step { method: "PUT", path: model.group_path(group), body, expected }
        }
        16..19 => {
            let (patched, operation) = model.patched_group(group, random);
            let expected = patched.map_or(404, |patched| model.replace_group(group, patched));
            Step { method: "PATCH", path: model.group_path(group), body: patch(&operation), expected }
        }
        _ => {
            let path = model.group_path(group);
            let expected = if model.delete_group(group) { 204 } else { 404 };
            Step { method: "DELETE", path, body: Value::Null, expected }
        }
    }
}

fn patch(operation: &Value) -> Value {
    json!({ "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": [operation] })
}

/// Asserts that the stored resources, and lists by filters, match the model.
async fn compare<B: Bench>(bench: &mut B, ctx: &Ctx, model: &Model, text: &str) {
    for (path, expected) in model.lists() {
        let answer = bench.answer(ctx.clone(), request("GET", &path, b"")).await;
        assert_eq!(answer.status, 200, "{text}, then {path}");
        let body = answer.body.unwrap_or_default();
        let resources = body.get("Resources").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut shown: Vec<_> = resources.iter().map(shown).collect();
        shown.sort_by_key(id);
        let mut expected = expected;
        expected.sort_by_key(id);
        assert_eq!(body.get("totalResults"), Some(&json!(expected.len())), "{text}, then {path}");
        assert_eq!(shown, expected, "{text}, then {path}");
    }
}

/// Returns the ID of a resource.
fn id(resource: &Value) -> Option<String> {
    resource.get("id").and_then(Value::as_str).map(str::to_owned)
}

/// Returns the members of a resource that the model has.
fn shown(resource: &Value) -> Value {
    let mut members = serde_json::Map::new();
    for name in ["id", "userName", "externalId", "title", "active", "displayName"] {
        if let Some(value) = resource.get(name) {
            members.insert(name.to_owned(), value.clone());
        }
    }
    let values = |name: &str| {
        let entries = resource.get(name).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(|entry| entry.get("value").cloned()).collect::<Vec<_>>()
    };
    for name in ["emails", "groups", "members"] {
        let mut values = values(name);
        if name != "emails" {
            values.sort_by_key(Value::to_string);
        }
        if !values.is_empty() {
            members.insert(name.to_owned(), values.into());
        }
    }
    let emails = resource.get("emails").and_then(Value::as_array).into_iter().flatten();
    let mut primary = emails.filter(|entry| entry.get("primary") == Some(&json!(true)));
    if let Some(value) = primary.find_map(|entry| entry.get("value")) {
        members.insert("primary".to_owned(), value.clone());
    }
    members.into()
}
