//! Unexpected request bodies: arrays instead of objects, and malformed bodies that must not be examined before the
//! caller is authorized.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    operations::{Operation, World, body, nobody, operations, request},
    support::{API, Answer, Browser, Server, on_both},
};

/// Operations for which the body, or a resource that it names, decides whether a step-up is required.
const BODY_DECIDES: [&str; 7] = [
    "consume_step_up",
    "create_token",
    "invite_user",
    "invite_users",
    "patch_settings_user",
    "verify_totp",
    "verify_passkey",
];

fn described(operation: &Operation) -> Value {
    API["paths"][&operation.path][operation.method.to_lowercase()].clone()
}

/// Returns the media type and schema of the operation's JSON body, if it has one.
fn media(operation: &Operation) -> Option<(String, Value)> {
    let described = described(operation);
    let content = described["requestBody"]["content"].as_object()?;
    let scim = content.get_key_value("application/scim+json");
    let (kind, taken) = scim.or_else(|| content.get_key_value("application/json"))?;
    Some((kind.clone(), taken["schema"].clone()))
}

/// Resolves references, and the non-null alternative of a nullable schema.
fn resolved(document: &Value, schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        return resolved(document, document.pointer(pointer).unwrap());
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        let of_choice = schema[choice].as_array().into_iter().flatten();
        if let Some(found) = of_choice.map(|one| resolved(document, one)).find(is_object) {
            return found;
        }
    }
    schema.clone()
}

fn is_object(schema: &Value) -> bool {
    let kind = &schema["type"];
    kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")))
}

fn is_array(schema: &Value) -> bool {
    let kind = &schema["type"];
    kind == "array" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("array")))
}

/// Collects JSON pointers to every object within a body.
fn objects(document: &Value, schema: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    let schema = resolved(document, schema);
    if depth > 4 {
        return;
    }
    if is_object(&schema) {
        found.push(at.to_owned());
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            objects(document, property, &format!("{at}/{name}"), depth + 1, found);
        }
    } else if is_array(&schema) {
        objects(document, &schema["items"], &format!("{at}/0"), depth + 1, found);
    }
}

/// Sets the value at a JSON pointer and creates missing objects on the way.
fn put(body: &mut Value, pointer: &str, value: Value) {
    let mut place = body;
    for name in pointer.split('/').skip(1) {
        if name == "0" {
            if place.get(0).is_none() {
                *place = json!([null]);
            }
            place = &mut place[0];
        } else {
            if !place.is_object() {
                *place = json!({});
            }
            place = &mut place[name];
        }
    }
    *place = value;
}

/// Sends requests with an accepted credential, and with a step-up token if one is required.
struct Sender<'w> {
    world: &'w World<'w>,
    proved: std::cell::RefCell<BTreeMap<String, Browser>>,
}

impl<'w> Sender<'w> {
    fn new(world: &'w World<'w>) -> Self {
        Self { world, proved: std::cell::RefCell::default() }
    }

    /// Sends the operation without a body to another path.
    fn at(&self, operation: &Operation, path: &str) -> Answer {
        self.to(operation, path, None, "")
    }

    fn send(&self, operation: &Operation, kind: &str, text: &str) -> Answer {
        let (path, _) = request(operation, &nobody());
        self.to(operation, &path, Some(kind), text)
    }

    fn to(&self, operation: &Operation, path: &str, kind: Option<&str>, text: &str) -> Answer {
        if operation.credentials.contains("scimToken") {
            return self.world.tenant.scim.send(&operation.method, path, kind, text);
        }
        if operation.credentials.contains("receiverToken") {
            return self.world.receiver().send(&operation.method, path, kind, text);
        }
        if operation.credentials.is_empty() {
            return self.world.server.anonymous().send(&operation.method, path, kind, text);
        }
        let send = |browser: &Browser| browser.raw(&operation.method, path, kind, text);
        let answer = send(&self.world.admin);
        let purpose = serde_json::from_str::<Value>(&answer.text).ok().and_then(|body| {
            let purpose = body["purpose"].as_str().map(str::to_owned);
            purpose.filter(|_| answer.status == 401)
        });
        let Some(purpose) = purpose else { return answer };
        let mut proved = self.proved.borrow_mut();
        let browser = proved
            .entry(purpose)
            .or_insert_with_key(|purpose| self.world.server.proved(&self.world.admin, purpose));
        send(browser)
    }
}

#[test]
fn arrays_are_refused_where_a_body_needs_an_object() {
    on_both(|server: &Server| {
        let world = World::new(server, "acme");
        let sender = Sender::new(&world);
        let mut tried = 0;
        for operation in operations() {
            let Some((kind, schema)) = media(&operation) else { continue };
            let whole = body(&operation).unwrap();
            let mut parts = Vec::new();
            objects(&API, &schema, "", 0, &mut parts);
            assert!(parts.contains(&String::new()), "{} takes an object", operation.id);
            // The value of a PATCH operation may have any type.
            for part in parts.iter().filter(|part| *part != "/Operations/0/value") {
                let object = whole.pointer(part).and_then(Value::as_object);
                let values: Vec<Value> =
                    object.into_iter().flat_map(|object| object.values().cloned()).collect();
                for array in [json!([]), Value::Array(values), json!(["x", "x", "x", "x", "x", "x", "x"])] {
                    let mut sent = whole.clone();
                    put(&mut sent, part, array);
                    let answer = sender.send(&operation, &kind, &sent.to_string());
                    assert_eq!(answer.status, 400, "{} {part}: {sent}: {}", operation.id, answer.text);
                    assert_ne!(answer.json()["code"], "INTERNAL");
                    tried += 1;
                }
            }
        }
        assert!(tried > 150, "{tried}");
    });
}

#[test]
fn caller_is_authorized_before_the_body_is_examined() {
    on_both(|server: &Server| {
        let world = World::new(server, "acme");
        let sender = Sender::new(&world);
        let mut late = Vec::new();
        for operation in operations() {
            let Some((kind, _)) = media(&operation) else { continue };
            let (path, _) = request(&operation, &nobody());
            let malformed = "{\"";
            let unauthenticated = server.anonymous().send(&operation.method, &path, Some(&kind), malformed);
            let expected = if operation.credentials.is_empty() { 400 } else { 401 };
            assert_eq!(unauthenticated.status, expected, "{}: {}", operation.id, unauthenticated.text);
            let guard = described(&operation)["responses"]["401"]["description"].clone();
            let guarded = guard.as_str().is_some_and(|guard| guard.contains("STEP_UP_REQUIRED"));
            if guarded && !BODY_DECIDES.contains(&operation.id.as_str()) {
                for malformed in ["", "[]", "{", "{\"unknown\":1}"] {
                    let answer = world.admin.raw(&operation.method, &path, Some(&kind), malformed);
                    if answer.status != 401 || answer.json()["code"] != "STEP_UP_REQUIRED" {
                        late.push(format!("{} {malformed:?}: {}", operation.id, answer.text));
                    }
                }
            }
            let answer = sender.send(&operation, &kind, malformed);
            if answer.status != 400 {
                late.push(format!("{} with a step-up: {}", operation.id, answer.text));
            }
        }
        assert!(late.is_empty(), "{late:#?}");
    });
}

#[test]
fn missing_field_is_reported_first() {
    on_both(|server: &Server| {
        let world = World::new(server, "acme");
        let sender = Sender::new(&world);
        for operation in operations() {
            let Some((kind, schema)) = media(&operation) else { continue };
            let schema = resolved(&API, &schema);
            if operation.credentials.contains("scimToken") {
                continue;
            }
            let whole = body(&operation).unwrap();
            for field in schema["required"].as_array().into_iter().flatten() {
                let field = field.as_str().unwrap();
                let mut sent = whole.clone();
                sent.as_object_mut().unwrap().remove(field);
                let answer = sender.send(&operation, &kind, &sent.to_string());
                let error = answer.json()["error"].as_str().unwrap().to_owned();
                assert_eq!(answer.status, 400, "{} {field}: {error}", operation.id);
                assert!(error.starts_with(&format!("{field}: ")), "{} {field}: {error}", operation.id);
            }
            let mut sent = whole.clone();
            sent["unheard"] = json!(1);
            let answer = sender.send(&operation, &kind, &sent.to_string());
            let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
            // The Shared Signals Framework lets receivers send members that transmitters do not know.
            let is_ignored = operation.path.starts_with("/api/ssf/");
            let is_refused = answer.status == 400 && error.starts_with("unheard: ");
            assert!(is_refused || is_ignored, "{}: {error}", operation.id);
            if let Some((name, value)) = whole.as_object().unwrap().iter().next() {
                let twice = format!("{{\"{name}\":{value},\"{name}\":{value}}}");
                let answer = sender.send(&operation, &kind, &twice);
                let error = answer.json()["error"].as_str().unwrap().to_owned();
                let named = error.starts_with(&format!("{name}: must appear only once"));
                assert!(answer.status == 400 && named, "{}: {error}", operation.id);
            }
        }
    });
}

#[test]
fn responses_to_malformed_requests_are_documented() {
    on_both(|server: &Server| {
        let world = World::new(server, "acme");
        let sender = Sender::new(&world);
        let mut undescribed = Vec::new();
        // Signing out would end the session of the other requests.
        for operation in operations().into_iter().filter(|operation| operation.id != "sign_out") {
            let described = described(&operation);
            let known = described["responses"].as_object().unwrap();
            if described.get("requestBody").is_some() {
                assert!(known.contains_key("400"), "{} takes a body", operation.id);
            }
            let mut queries = vec![String::new()];
            for parameter in described["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] == "query" {
                    let name = parameter["name"].as_str().unwrap();
                    queries.extend(["%00", "x", "-1", "%ff"].map(|value| format!("?{name}={value}")));
                }
            }
            for query in queries {
                let (path, _) = request(&operation, &nobody());
                for path in
                    [path.clone(), path.replace(&nobody()[0], "%00"), path.replace(&nobody()[0], "%ff")]
                {
                    let path = format!("{}{query}", path.split('?').next().unwrap());
                    let answer = sender.at(&operation, &path);
                    let status = answer.status.to_string();
                    if !known.contains_key(&status) {
                        undescribed.push(format!("{} {path}: {}", operation.id, answer.text));
                    }
                }
            }
        }
        assert!(undescribed.is_empty(), "{undescribed:#?}");
    });
}
