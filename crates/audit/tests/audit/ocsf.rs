//! Events for SIEM systems: each event type meets the schema of its OCSF class.

use audit::{
    ListedEntry, StoredEntry,
    events::catalog,
    ocsf::{CHECKPOINT, CheckpointEvent, Class, OcsfEvent, SentRange, Source, VERSION, mapping},
};
use serde_json::{Value, json};

/// The classes and objects in use, compiled from the definitions of OCSF 1.7.0 (Apache License 2.0) without profiles.
const SCHEMA: &str = include_str!("ocsf-1.7.0.json");

fn source() -> Source {
    Source { product: "Gatehouse", version: "1.0.0", tenant: "ten_1".into() }
}

/// Returns the event of an entry with this action and payload.
fn event(action: &str, resource: (&str, &str), actor: (&str, &str), ip: Option<&str>, data: &Value) -> Value {
    let listed = listed(action, resource, actor, ip, data);
    OcsfEvent::of(&listed, Some(17), &source(), |event| serde_json::to_value(event)).unwrap()
}

/// Returns an entry with this action and payload.
fn listed(
    action: &str,
    resource: (&str, &str),
    actor: (&str, &str),
    ip: Option<&str>,
    data: &Value,
) -> ListedEntry {
    let entry = StoredEntry {
        id: "aud_1".into(),
        timestamp: "2026-01-31T09:30:00.123Z".parse().unwrap(),
        actor_type: actor.1.into(),
        actor_id: actor.0.into(),
        action: action.into(),
        resource_type: resource.0.into(),
        resource_id: resource.1.into(),
        ip: ip.map(str::to_owned),
        metadata: data.to_string(),
        leaf: [0; 32],
        salt: None,
        ip_commitment: None,
        mac: None,
    };
    ListedEntry { entry, actor_name: Some("Ada".into()) }
}

/// Appends what is wrong with a value according to the schema of its class or object.
fn check(schema: &Value, of: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let (attributes, members) = (of["attributes"].as_object().unwrap(), value.as_object().unwrap());
    for (name, attribute) in attributes {
        if attribute["requirement"] == "required" && !members.contains_key(name) {
            faults.push(format!("{at}.{name} is missing"));
        }
    }
    if let Some(names) = of["constraints"]["at_least_one"].as_array()
        && !names.iter().any(|name| members.contains_key(name.as_str().unwrap()))
    {
        faults.push(format!("{at}: one of {names:?} is missing"));
    }
    for (name, member) in members {
        let at = format!("{at}.{name}");
        let Some(attribute) = attributes.get(name) else {
            faults.push(format!("{at} is unknown"));
            continue;
        };
        let items = if attribute["array"] == true {
            member.as_array().map(Vec::as_slice).unwrap_or_default()
        } else {
            std::slice::from_ref(member)
        };
        let has_type = match attribute["type"].as_str().unwrap() {
            _ if attribute["array"] == true && !member.is_array() => false,
            "integer" | "long" | "timestamp" | "port" => items.iter().all(Value::is_i64),
            "object" => items.iter().all(Value::is_object),
            "boolean" => items.iter().all(Value::is_boolean),
            _ => items.iter().all(Value::is_string),
        };
        if !has_type {
            faults.push(format!("{at} has another type: {member}"));
        }
        let is_known =
            attribute["enum"].as_object().is_none_or(|known| known.contains_key(&member.to_string()));
        if !is_known {
            faults.push(format!("{at}: {member} is not in the enumeration"));
        }
        let object = attribute["object"].as_str().and_then(|name| schema["objects"].get(name));
        if let Some(object) = object.filter(|_| has_type) {
            for item in items {
                check(schema, object, item, &at, faults);
            }
        }
    }
}

#[test]
fn each_event_type_meets_its_class() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(schema["version"], VERSION);
    let mut faults = Vec::new();
    for spec in catalog().specs() {
        let (example, text) = (&spec.example, |value: &Value| value.as_str().unwrap().to_owned());
        let resource = (spec.resource_type, text(&example["resource"]["id"]));
        let own = (text(&example["actor"]["id"]), text(&example["actor"]["type"]));
        for actor in [own, ("sct_1".into(), "SCIM".into()), ("webhooks".into(), "SYSTEM".into())] {
            for ip in [Some("192.0.2.7"), None] {
                let (resource, actor) =
                    ((resource.0, resource.1.as_str()), (actor.0.as_str(), actor.1.as_str()));
                let event = event(spec.code, resource, actor, ip, &example["data"]);
                let class = &schema["classes"][event["class_uid"].to_string()];
                assert!(class.is_object(), "{}: {}", spec.code, event["class_uid"]);
                check(&schema, class, &event, spec.code, &mut faults);
                let known = &class["attributes"]["activity_id"]["enum"][event["activity_id"].to_string()];
                let expected = if known == "Other" { json!(spec.code) } else { known.clone() };
                assert_eq!((&event["activity_name"], &event["class_name"]), (&expected, &class["caption"]));
                let type_uid =
                    event["class_uid"].as_i64().unwrap() * 100 + event["activity_id"].as_i64().unwrap();
                assert_eq!(event["type_uid"], type_uid, "{}", spec.code);
                assert_eq!(event["unmapped"], example["data"]);
                assert_eq!(event["message"], spec.description);
            }
        }
    }
    faults.dedup();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn sign_ins_and_changes_have_their_own_classes() {
    let failed = mapping("ACCOUNT_SIGN_IN_FAILED");
    assert_eq!((failed.class, failed.activity, failed.is_failure), (Class::Authentication, 1, true));
    let disabled = mapping("ACCOUNT_USER_DEACTIVATED");
    assert_eq!((disabled.class, disabled.activity, disabled.is_failure), (Class::AccountChange, 5, false));
    let invoice = mapping("BILLING_INVOICE_REMOVED");
    assert_eq!((invoice.class, invoice.activity), (Class::EntityManagement, 4));
    let role = json!({ "from": "MEMBER", "to": "ADMIN" });
    let promoted = event("ACCOUNT_USER_ROLE_CHANGED", ("user", "usr_2"), ("usr_1", "USER"), None, &role);
    assert_eq!((&promoted["privileges"], &promoted["user"]["uid"]), (&json!(["ADMIN"]), &json!("usr_2")));
    let cut = json!({ "rows": 3, "outcome": "CUT_OFF" });
    let export =
        event("ACCOUNT_AUDIT_LOG_EXPORT_FINISHED", ("tenant", "ten_1"), ("usr_1", "USER"), None, &cut);
    assert_eq!(export["status"], "Failure");
    let data = json!({ "user": "usr_2" });
    let event =
        event("ACCOUNT_SESSION_REVOKED", ("session", "ses_1"), ("usr_1", "USER"), Some("192.0.2.7"), &data);
    assert_eq!((&event["user"]["uid"], &event["actor"]["user"]["uid"]), (&json!("usr_2"), &json!("usr_1")));
    assert_eq!((&event["actor"]["user"]["name"], event["user"].get("name")), (&json!("Ada"), None));
    assert_eq!((&event["time"], &event["metadata"]["sequence"]), (&json!(1_769_851_800_123_i64), &json!(17)));
}

#[test]
fn user_of_an_event_is_named_or_the_resource_or_the_actor() {
    let uid = |resource, actor, data: Value| {
        event("ACCOUNT_SIGN_IN_FAILED", resource, actor, None, &data)["user"]["uid"].clone()
    };
    let (user, session) = (("user", "usr_2"), ("session", "ses_1"));
    let (person, system) = (("usr_1", "USER"), ("scim", "SYSTEM"));
    assert_eq!(uid(session, person, json!({ "user": "usr_3" })), "usr_3");
    assert_eq!(uid(user, person, json!({})), "usr_2");
    assert_eq!(uid(session, person, json!({})), "usr_1");
    assert_eq!(uid(session, system, json!({})), "unknown");
}

#[test]
fn failures_and_refusals_are_known_before_they_are_written() {
    let is_failure = |action, data| {
        let listed = listed(action, ("user", "usr_2"), ("usr_1", "USER"), None, &data);
        OcsfEvent::of(&listed, None, &source(), |event| Ok(event.is_failure())).unwrap()
    };
    assert!(is_failure("ACCOUNT_SIGN_IN_FAILED", json!({})));
    assert!(!is_failure("ACCOUNT_USER_DEACTIVATED", json!({})));
    assert!(is_failure("ACCOUNT_AUDIT_LOG_EXPORT_FINISHED", json!({ "outcome": "CUT_OFF" })));
    assert!(!is_failure("ACCOUNT_AUDIT_LOG_EXPORT_FINISHED", json!({ "outcome": "COMPLETED" })));
}

#[test]
fn end_of_a_batch_is_a_base_event() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let range = SentRange {
        stream: "lst_1",
        from: 17,
        next: 30,
        entries: 13,
        filtered: false,
        removed_before: None,
        checkpoint: Some("gatehouse/ten_1\n30\n"),
    };
    let source = source();
    let now = "2026-01-31T09:30:00.123Z".parse().unwrap();
    let event = serde_json::to_value(CheckpointEvent::new(&range, "lst_1:17", &source, now)).unwrap();
    // All classes have the attributes of the base event.
    let attributes = &schema["classes"]["6003"]["attributes"];
    for (name, member) in event.as_object().unwrap() {
        assert!(attributes.get(name).is_some(), "{name}");
        let mut faults = Vec::new();
        if let Some(object) = attributes[name]["object"].as_str().and_then(|name| schema["objects"].get(name))
        {
            check(&schema, object, member, name, &mut faults);
        }
        assert!(faults.is_empty() || name == "unmapped", "{faults:?}");
    }
    assert_eq!((&event["type_uid"], &event["metadata"]["event_code"]), (&json!(99), &json!(CHECKPOINT)));
    assert_eq!((&event["unmapped"]["from"], &event["unmapped"]["next"]), (&json!(17), &json!(30)));
}
