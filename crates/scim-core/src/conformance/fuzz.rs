//! Fuzz targets: properties that must hold for any input.

use std::sync::Arc;

use kernel::{Actor, Ctx, ManualEnv, TenantId, Timestamp};
use serde_json::{Value, json};

use crate::{
    Filter, Group, GroupDraft, Patch, Target, User, UserDraft,
    schema::{GROUPS, RESOURCE_TYPES, USERS},
};

/// Checks that a parsed filter prints as text that parses to the same filter, and that evaluating it does not panic.
///
/// # Panics
/// If a property does not hold.
pub fn filter(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for kind in RESOURCE_TYPES {
        if let Ok(filter) = Filter::parse(kind, &text) {
            let again = Filter::parse(kind, &filter.to_string());
            assert!(again.as_ref().ok() == Some(&filter), "{filter} is parsed again as {again:?}");
            let _either = filter.matches(&user().into_json("http://x"));
        }
        if let Ok(filter) = Filter::parse_among(kind, &RESOURCE_TYPES, &text) {
            let _either = filter.matches(&json!({}));
        }
    }
}

/// Checks that a parsed PATCH path prints as text that parses to the same path.
///
/// # Panics
/// If the property does not hold.
pub fn path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for kind in RESOURCE_TYPES {
        if let Ok(Some(target)) = Target::parse(kind, &text) {
            let again = Target::parse(kind, &target.to_string());
            assert!(
                matches!(&again, Ok(Some(same)) if *same == target),
                "{target} is parsed again as {again:?}"
            );
        }
    }
}

/// Checks that the patched user is one a client could have sent, and that replacing it with its own attributes
/// changes nothing.
///
/// # Panics
/// If a property does not hold.
pub fn patch(data: &[u8]) {
    let Ok(body) = serde_json::from_slice::<Value>(data) else { return };
    if let Some(patched) = Patch::read(&USERS, &body).ok().and_then(|patch| user().patched(&patch).ok()) {
        let draft = UserDraft::read(&Value::Object(patched.document()));
        let same = draft.ok().and_then(|draft| patched.replaced(draft).ok());
        assert!(same.as_ref() == Some(&patched), "{patched:?} is parsed again as {same:?}");
        let whole = json!({ "Operations": [{ "op": "replace", "value": patched.document() }] });
        let again = Patch::read(&USERS, &whole).and_then(|patch| patched.patched(&patch));
        if let Ok(again) = again {
            assert!(patched.changes(&again).is_empty(), "{patched:?} replaced with itself is {again:?}");
        }
    }
    let patched = Patch::read(&GROUPS, &body).ok().and_then(|patch| group().patched(&patch).ok());
    if let Some((group, members)) = patched {
        assert!(!group.display_name.trim().is_empty());
        assert!(members.join.is_disjoint(&members.leave), "a user both joins and leaves: {members:?}");
    }
}

fn ctx() -> Ctx {
    let env = Arc::new(ManualEnv::at(Timestamp::from_unix_millis(1_767_225_600_000)));
    Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("fuzz"))
}

fn user() -> User {
    let body = json!({
        "userName": "ada",
        "externalId": "X-1",
        "title": "Countess",
        "name": { "givenName": "Ada" },
        "emails": [{ "value": "a@b", "type": "work", "primary": true }, { "value": "c@d", "type": "home" }],
        USERS.extensions.first().map_or("", |schema| schema.id): { "manager": { "value": "usr_2" } },
    });
    super::ok_draft(UserDraft::read(&body).and_then(|draft| User::new(&ctx(), draft)))
}

fn group() -> Group {
    super::ok_draft(
        GroupDraft::read(&json!({ "displayName": "Engines" })).and_then(|draft| Group::new(&ctx(), &draft)),
    )
}
