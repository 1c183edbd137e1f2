//! The conformance suite of [`GroupStore`].

use std::collections::BTreeSet;

use kernel::{Ctx, UserId};
use serde_json::json;

use super::{check, create, ok, ok_draft, parse};
use crate::{
    Group, GroupDraft, GroupStore, MemberChanges, MembersChanged, Membership, Query, ResourcePage, User,
    UserStore,
    schema::{GROUPS, USERS},
};

/// Runs the whole suite against a store without groups and without users named `g-…`.
pub async fn groups<S: UserStore + GroupStore>(ctx: &Ctx, store: &mut S) {
    let mut people = Vec::new();
    for number in 0..4 {
        let user = create(ctx, &json!({ "userName": format!("g-{number}") }));
        check("a user for the groups is inserted", ok(store.insert_user(&user).await));
        people.push(user);
    }
    people.sort_by(|one, other| one.id.cmp(&other.id));
    let engines = group(ctx, "Engines É");
    let looms = group(ctx, "Looms");
    check("a new group is inserted", ok(store.insert_group(&engines).await));
    check("a second group is inserted", ok(store.insert_group(&looms).await));
    check(
        "a name that differs only in case is refused as taken",
        !ok(store.insert_group(&group(ctx, "engines é")).await),
    );
    check(
        "a group is read as it was inserted",
        ok(store.group(&engines.id).await).as_ref() == Some(&engines),
    );
    let held = ok(store.group_for_update(&engines.id).await);
    check("reading for update returns the same group", held.as_ref() == Some(&engines));

    members(ctx, store, &engines, &looms, &people).await;
    filters(store, &engines, &looms, &people).await;
    changes(ctx, store, &engines, &looms, &people).await;
}

async fn members<S: UserStore + GroupStore>(
    ctx: &Ctx,
    store: &mut S,
    engines: &Group,
    looms: &Group,
    people: &[User],
) {
    let id = |number: usize| people.get(number).map(|user| user.id.clone()).into_iter().collect::<Vec<_>>();
    let ids = |numbers: &[usize]| numbers.iter().flat_map(|number| id(*number)).collect::<Vec<_>>();
    let set = |numbers: &[usize]| ids(numbers).into_iter().collect::<BTreeSet<_>>();

    let nobody = UserId::new(&*ctx.env);
    let asked: Vec<_> = ids(&[0, 1]).into_iter().chain([nobody.clone()]).collect();
    check("strangers names IDs that are not users", ok(store.strangers(&asked).await) == [nobody]);
    check("strangers of an empty list is empty", ok(store.strangers(&[]).await).is_empty());

    let join = MemberChanges { join: set(&[0, 1, 2]), ..MemberChanges::default() };
    let changed = ok(store.change_members(&engines.id, &join).await);
    check("all three users join", changed == MembersChanged { joined: ids(&[0, 1, 2]), left: vec![] });
    check("joining again changes nothing", ok(store.change_members(&engines.id, &join).await).is_empty());
    let both = MemberChanges { join: set(&[3]), leave: set(&[0]), replace: false };
    let changed = ok(store.change_members(&engines.id, &both).await);
    check("one user joins and one leaves", changed == MembersChanged { joined: ids(&[3]), left: ids(&[0]) });
    let exact = MemberChanges::exactly(set(&[0, 1]));
    let changed = ok(store.change_members(&engines.id, &exact).await);
    check(
        "replacing the members removes those not listed",
        changed == MembersChanged { joined: ids(&[0]), left: ids(&[2, 3]) },
    );
    ok(store.change_members(&looms.id, &MemberChanges::exactly(set(&[1, 2]))).await);

    let mut expected: Vec<_> = ids(&[0, 1]).into_iter().map(|user| (engines.id.clone(), user)).collect();
    expected.extend(ids(&[1, 2]).into_iter().map(|user| (looms.id.clone(), user)));
    expected.sort();
    let read = ok(store.members(&[engines.id.clone(), looms.id.clone()], 100).await);
    check("members are returned in order", read == expected);
    let read = ok(store.members(&[engines.id.clone(), looms.id.clone()], 3).await);
    check("the limit of members is respected", read.as_slice() == expected.get(..3).unwrap_or_default());
}

async fn filters<S: UserStore + GroupStore>(store: &mut S, engines: &Group, looms: &Group, people: &[User]) {
    let user = |number: usize| people.get(number).map_or("", |user| user.id.as_str());
    for (filter, expected) in [
        (r#"displayName eq "ENGINES É""#.to_owned(), 1),
        (r#"displayName co "s" and meta.resourceType eq "Group""#.to_owned(), 2),
        (format!(r#"members.value eq "{}""#, user(1)), 2),
        (format!(r#"members[value eq "{}"]"#, user(2)), 1),
        (format!(r#"id eq "{}" and members eq "{}""#, engines.id, user(0)), 1),
        (format!(r#"members.value eq "{}""#, user(3)), 0),
        ("members pr".to_owned(), 2),
        ("not (members pr) or externalId pr".to_owned(), 0),
    ] {
        let found: ResourcePage<Group> = ok(store.find_groups(&query_groups(&filter)).await);
        check(&format!("{filter} finds {expected}"), found.total == expected);
    }
    for (filter, expected) in [
        (format!(r#"groups.value eq "{}""#, engines.id), 2),
        (format!(r#"groups[value eq "{}" and display eq "LOOMS"]"#, looms.id), 2),
        (r#"groups.display sw "engines é" and userName sw "g-""#.to_owned(), 2),
        (format!(r#"not (groups eq "{}") and userName sw "g-""#, looms.id), 2),
        (r#"userName sw "g-" and not (groups pr)"#.to_owned(), 1),
    ] {
        let query = Query { filter: Some(parse(&USERS, &filter)), ..Query::default() };
        let found = ok(store.find_users(&query, false).await);
        check(&format!("{filter} finds {expected}"), found.total == expected);
    }
}

async fn changes<S: UserStore + GroupStore>(
    ctx: &Ctx,
    store: &mut S,
    engines: &Group,
    looms: &Group,
    people: &[User],
) {
    let [zero, one, ..] = people else { return };
    let in_both = vec![
        Membership { group: engines.id.clone(), display: engines.display_name.clone() },
        Membership { group: looms.id.clone(), display: looms.display_name.clone() },
    ];
    let sorted = |mut groups: Vec<Membership>| {
        groups.sort();
        groups
    };
    let read = ok(store.user(&one.id).await).map(|user| user.groups);
    check("a user lists its groups", read.map(sorted) == Some(sorted(in_both)));
    let only = Query { filter: Some(parse(&USERS, &format!(r#"id eq "{}""#, zero.id))), ..Query::default() };
    for (with_groups, expected) in [(true, 1), (false, 0)] {
        let listed = ok(store.find_users(&only, with_groups).await);
        let groups = listed.resources.first().map(|user| user.groups.len());
        check("a list of users includes their groups only on request", groups == Some(expected));
    }

    let mut renamed = engines.clone();
    renamed.display_name = "Machines".into();
    renamed.external_id = Some("x".into());
    renamed.last_modified = renamed.last_modified.plus_millis(7);
    ok(store.update_group(&renamed).await);
    check("an update of a group is stored", ok(store.group(&engines.id).await).as_ref() == Some(&renamed));

    ok(store.delete_user(one, ctx.now).await);
    let left = ok(store.members(std::slice::from_ref(&looms.id), 10).await);
    check("a deleted user is in no group", left.iter().all(|(_, user)| *user != one.id) && left.len() == 1);
    check(
        "a deleted user is a stranger",
        ok(store.strangers(std::slice::from_ref(&one.id)).await) == [one.id.clone()],
    );

    ok(store.delete_group(&engines.id).await);
    check("a deleted group cannot be read", ok(store.group(&engines.id).await).is_none());
    check(
        "a deleted group has no members",
        ok(store.members(std::slice::from_ref(&engines.id), 10).await).is_empty(),
    );
    let read = ok(store.user(&zero.id).await).map(|user| user.groups);
    check("the members of a deleted group remain and have left it", read == Some(vec![]));
    check("the name of a deleted group is free", ok(store.insert_group(&group(ctx, "Machines")).await));
}

fn query_groups(filter: &str) -> Query {
    Query { filter: Some(parse(&GROUPS, filter)), ..Query::default() }
}

fn group(ctx: &Ctx, name: &str) -> Group {
    ok_draft(GroupDraft::read(&json!({ "displayName": name })).and_then(|draft| Group::new(ctx, &draft)))
}
