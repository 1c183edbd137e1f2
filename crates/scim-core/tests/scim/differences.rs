//! What the changes of a dry run would change.

use scim_core::{
    Action, Difference, Group, GroupDraft, OnExisting, Overlay, OverlayChanges, Patch, ResourceKind,
    UserDraft, UserId, groups,
    memory::MemoryStore,
    schema::{GROUPS, USERS},
    users::{self, CreatedUser},
};
use serde_json::{Value, json};

use crate::ctx;

async fn create_user(store: &mut dyn scim_core::UserStore, name: &str, active: bool) -> UserId {
    let draft = UserDraft::read(&json!({ "userName": name, "active": active })).unwrap();
    let created = users::create(&ctx(), store, draft, OnExisting::Refuse).await.unwrap();
    let CreatedUser::New(user) = created else { unreachable!("existing users are refused") };
    user.id
}

async fn create_group(store: &mut dyn scim_core::GroupStore, name: &str, members: &[&UserId]) -> Group {
    let members: Vec<_> = members.iter().map(|id| json!({ "value": id.as_str() })).collect();
    let draft = GroupDraft::read(&json!({ "displayName": name, "members": members })).unwrap();
    groups::create(&ctx(), store, draft).await.unwrap().group
}

fn patch(kind: &'static scim_core::schema::ResourceType, operations: &Value) -> Patch {
    Patch::read(kind, &json!({ "Operations": operations })).unwrap()
}

async fn set(store: &mut dyn scim_core::UserStore, id: &UserId, attributes: &Value) {
    let patch = patch(&USERS, &json!([{ "op": "replace", "value": attributes }]));
    users::patch(&ctx(), store, id, &patch).await.unwrap();
}

fn difference(
    (kind, id): (ResourceKind, &str),
    name: &str,
    action: Action,
    attributes: &[&str],
    (joined, left): (usize, usize),
) -> Difference {
    let attributes = attributes.iter().map(|name| (*name).to_owned()).collect();
    Difference { kind, id: id.to_owned(), name: name.to_owned(), action, attributes, joined, left }
}

fn of_user(id: &UserId, name: &str, action: Action, attributes: &[&str]) -> Difference {
    difference((ResourceKind::User, id.as_str()), name, action, attributes, (0, 0))
}

fn of_group(
    group: &Group,
    name: &str,
    action: Action,
    attributes: &[&str],
    members: (usize, usize),
) -> Difference {
    difference((ResourceKind::Group, group.id.as_str()), name, action, attributes, members)
}

fn by_id(mut differences: Vec<Difference>) -> Vec<Difference> {
    differences.sort_by(|one, other| one.id.cmp(&other.id));
    differences
}

#[tokio::test]
async fn each_changed_resource_has_one_difference() {
    let mut store = MemoryStore::new();
    let ada = create_user(&mut store, "ada", true).await;
    let bob = create_user(&mut store, "bob", false).await;
    let carol = create_user(&mut store, "carol", true).await;
    let dan = create_user(&mut store, "dan", true).await;
    let erin = create_user(&mut store, "erin", true).await;
    let engines = create_group(&mut store, "Engines", &[&ada, &bob]).await;
    let looms = create_group(&mut store, "Looms", &[&carol]).await;
    let old = create_group(&mut store, "Old", &[&dan]).await;
    let guests = create_group(&mut store, "Guests", &[]).await;
    // A group that only loses a deleted user has no difference of its own.
    create_group(&mut store, "Alone", &[&carol]).await;

    let mut changes = OverlayChanges::default();
    assert!(changes.is_empty() && changes.differences(&mut store).await.unwrap().is_empty());
    let mut dry = Overlay::new(&mut store, &mut changes);
    set(&mut dry, &ada, &json!({ "active": false, "title": "Countess" })).await;
    set(&mut dry, &bob, &json!({ "active": true })).await;
    users::delete(&ctx(), &mut dry, &carol).await.unwrap();
    set(&mut dry, &dan, &json!({ "title": "Clerk", "nickName": "d" })).await;
    set(&mut dry, &erin, &json!({ "title": "Clerk" })).await;
    let undo = patch(&USERS, &json!([{ "op": "remove", "path": "title" }]));
    users::patch(&ctx(), &mut dry, &erin, &undo).await.unwrap();
    let frank = create_user(&mut dry, "frank", true).await;
    let gone = create_user(&mut dry, "gone", true).await;
    users::delete(&ctx(), &mut dry, &gone).await.unwrap();

    let members =
        |op: &str, id: &UserId| json!({ "op": op, "path": "members", "value": [{ "value": id.as_str() }] });
    let swap = [("add", &dan), ("add", &erin), ("remove", &ada), ("remove", &bob)];
    let swap: Value = swap.into_iter().map(|(op, user)| members(op, user)).collect();
    groups::patch(&ctx(), &mut dry, &engines.id, &patch(&GROUPS, &swap)).await.unwrap();
    let add = patch(&GROUPS, &json!([members("add", &erin)]));
    groups::patch(&ctx(), &mut dry, &guests.id, &add).await.unwrap();
    let rename = patch(&GROUPS, &json!([{ "op": "replace", "path": "displayName", "value": "Mills" }]));
    groups::patch(&ctx(), &mut dry, &looms.id, &rename).await.unwrap();
    groups::delete(&mut dry, &old.id).await.unwrap();
    let new = create_group(&mut dry, "New", &[&dan, &frank]).await;
    let brief = create_group(&mut dry, "Brief", &[]).await;
    groups::delete(&mut dry, &brief.id).await.unwrap();

    let of_users = by_id(vec![
        of_user(&ada, "ada", Action::Deactivate, &["title"]),
        of_user(&bob, "bob", Action::Reactivate, &[]),
        of_user(&carol, "carol", Action::Delete, &[]),
        of_user(&dan, "dan", Action::Update, &["nickName", "title"]),
        of_user(&frank, "frank", Action::Create, &[]),
    ]);
    let of_groups = by_id(vec![
        of_group(&engines, "Engines", Action::Update, &[], (2, 2)),
        of_group(&guests, "Guests", Action::Update, &[], (1, 0)),
        of_group(&looms, "Mills", Action::Update, &["displayName"], (0, 0)),
        of_group(&old, "Old", Action::Delete, &[], (0, 0)),
        of_group(&new, "New", Action::Create, &[], (2, 0)),
    ]);
    let found = changes.differences(&mut store).await.unwrap();
    assert_eq!(found, [of_users, of_groups].concat());
    let ada = changes.users[&ada].as_ref().unwrap();
    assert_eq!((ada.active, ada.groups.len()), (false, 0), "groups of users are not part of the changes");
    let memberships = changes.len() - changes.users.len() - changes.groups.len();
    // Those of the differences, and the two of the deleted user.
    assert_eq!((changes.is_empty(), memberships), (false, 9));
}
