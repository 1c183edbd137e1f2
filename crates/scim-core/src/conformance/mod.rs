//! Conformance suite for implementations of [`UserStore`] and [`GroupStore`](crate::GroupStore), and generated requests with
//! their reference model.
//!
//! A failed check panics with the requirement that was violated.
#![expect(clippy::panic, reason = "a conformance suite fails by panicking")]

use kernel::{Ctx, StoreResult};
use serde_json::{Value, json};

use crate::{
    Cursor, Filter, Page, Query, ResourcePage, Start, User, UserDraft, UserStore,
    schema::{ResourceType, USERS},
};

pub mod fuzz;
pub mod generate;
mod groups;
mod model;
mod sequence;

pub use groups::groups;
pub use sequence::{ActionCounts, BASE, Bench, sequence};

/// Runs the whole suite against an empty store. `ctx` supplies ids and times.
pub async fn users(ctx: &Ctx, store: &mut dyn UserStore) {
    let ada = create(
        ctx,
        &json!({
            "userName": "Ada@Example.com",
            "externalId": "X-1",
            "name": { "givenName": "Ada", "familyName": "Løvelace \u{1F600}" },
            "emails": [
                { "value": "ADA@work.example", "type": "work" },
                { "value": "ada@home.example", "type": "home", "primary": true },
            ],
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { "department": "Engines" },
        }),
    );
    let bob = create(ctx, &json!({ "userName": "bob", "active": false }));

    keeps_and_finds(ctx, store, &ada, &bob).await;
    refuses_taken_keys(ctx, store, &ada).await;
    updates(store, &ada, &bob).await;
    pages(ctx, store).await;
    deletes(ctx, store, &ada).await;
}

async fn keeps_and_finds(ctx: &Ctx, store: &mut dyn UserStore, ada: &User, bob: &User) {
    check("an empty store has no user", ok(store.user(&ada.id).await).is_none());
    check("a new user is inserted", ok(store.insert_user(ada).await));
    check("a user without an email address is inserted", ok(store.insert_user(bob).await));
    let carol = create(ctx, &json!({ "userName": "carol" }));
    check("two users without an email address do not collide", ok(store.insert_user(&carol).await));
    check("a user is read as it was inserted", ok(store.user(&ada.id).await).as_ref() == Some(ada));
    check(
        "reading for update returns the same user",
        ok(store.user_for_update(&ada.id).await).as_ref() == Some(ada),
    );
    let named = ok(store.user_of_name("ada@example.com").await);
    check("a user is found by the key of its name", named.as_ref() == Some(ada));
    check(
        "a user name is matched exactly, without wildcards",
        ok(store.user_of_name("ada@example.co_").await).is_none(),
    );
    let address = ok(store.user_of_sign_in_email("ada@home.example").await);
    check("a user is found by its sign-in address", address.as_ref() == Some(&ada.id));
    check(
        "only the primary address is the sign-in address",
        ok(store.user_of_sign_in_email("ada@work.example").await).is_none(),
    );

    for (filter, expected) in [
        (r#"userName eq "ADA@example.com""#, 1),
        (r#"userName eq "%""#, 0),
        (r#"userName eq "ada@example.co_""#, 0),
        (r#"userName sw "ada@" and active eq true"#, 1),
        (r#"externalId eq "X-1""#, 1),
        (r#"externalId eq "x-1""#, 0),
        (r#"emails.value eq "ada@WORK.example""#, 1),
        (r#"emails eq "ada@home.example""#, 1),
        (r#"emails[type eq "work" and value eq "ada@work.example"]"#, 1),
        (r#"emails[type eq "work" and value eq "ada@home.example"]"#, 0),
        (r#"emails[type eq "work" and value sw "ada@"]"#, 1),
        (r#"emails.value eq "nobody@home.example""#, 0),
        (r#"name.familyName co "LØVE""#, 1),
        (r#"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "engines""#, 1),
        ("not (active eq true) or title pr", 1),
        (r#"meta.resourceType eq "User" and displayName eq null"#, 3),
    ] {
        let found = find(store, Some(filter), 1, 10).await;
        check(&format!("{filter} finds {expected}"), found.total == expected);
    }
    let found = find(store, Some(r#"emails.value sw "ada@home""#), 1, 10).await;
    check("a found user equals the inserted one", found.resources == [ada.clone()]);
}

async fn refuses_taken_keys(ctx: &Ctx, store: &mut dyn UserStore, ada: &User) {
    let name = create(ctx, &json!({ "userName": "ADA@EXAMPLE.COM", "emails": ["other@x.example"] }));
    check("a user name that differs only in case is refused as taken", !ok(store.insert_user(&name).await));
    let address = create(ctx, &json!({ "userName": "dora", "emails": ["Ada@Home.example"] }));
    check(
        "a sign-in address that differs only in case is refused as taken",
        !ok(store.insert_user(&address).await),
    );
    check("a refused user is not stored", ok(store.user(&address.id).await).is_none());
    let found = find(store, Some(r#"emails.value eq "other@x.example""#), 1, 10).await;
    check("no address of a refused user is stored", found.total == 0);
    check("the user who owns the name is unchanged", ok(store.user(&ada.id).await).as_ref() == Some(ada));
}

async fn updates(store: &mut dyn UserStore, ada: &User, bob: &User) {
    let draft = json!({ "userName": "bob", "title": "Builder", "emails": ["bob@x.example"] });
    let mut changed = ok_draft(bob.replaced(draft_of(&draft)));
    changed.last_modified = changed.last_modified.plus_millis(5);
    ok(store.update_user(bob, &changed).await);
    check("an update of a user is stored", ok(store.user(&bob.id).await).as_ref() == Some(&changed));
    let found = find(store, Some(r#"emails.value eq "bob@x.example""#), 1, 10).await;
    check("a new address is found", found.resources == [changed.clone()]);

    let back = ok_draft(changed.replaced(draft_of(&json!({ "userName": "bob" }))));
    ok(store.update_user(&changed, &back).await);
    let found = find(store, Some(r#"emails.value eq "bob@x.example""#), 1, 10).await;
    check("a removed address is not found", found.total == 0);
    check("other users are unchanged", ok(store.user(&ada.id).await).as_ref() == Some(ada));
}

async fn pages(ctx: &Ctx, store: &mut dyn UserStore) {
    let before = find(store, None, 1, 200).await;
    for number in 0..7 {
        let user = create(ctx, &json!({ "userName": format!("page-{number}") }));
        check("a user for paging is inserted", ok(store.insert_user(&user).await));
    }
    let all = find(store, None, 1, 200).await;
    check(
        "the total counts all users",
        all.total == before.total + 7 && all.resources.len() as u64 == all.total,
    );
    let mut walked = Vec::new();
    for start in (1..).step_by(3).take(5) {
        walked.extend(find(store, None, start, 3).await.resources);
    }
    check("the pages contain each user once, in order", walked == all.resources);
    for filter in [None, Some(r#"userName sw "page-" or active eq true"#)] {
        by_cursor(store, filter).await;
    }
    let none = find(store, None, 1, 0).await;
    check("a count of zero returns only the total", none.resources.is_empty() && none.total == all.total);
    let past = find(store, None, all.total + 1, 10).await;
    check(
        "a page past the end is empty and has the total",
        past.resources.is_empty() && past.total == all.total,
    );
    let far = find(store, None, i64::MAX.unsigned_abs(), 10).await;
    check("a page far past the end is empty", far.resources.is_empty());
}

async fn by_cursor(store: &mut dyn UserStore, filter: Option<&str>) {
    let all = find(store, filter, 1, 200).await;
    let filter = filter.map(|text| parse(&USERS, text));
    let mut walked = Vec::new();
    let mut cursor = Some(String::new());
    while let Some(text) = cursor {
        let page = Page::parse(None, Some("3"), Some(&text), 7);
        let query = Query { filter: filter.clone(), page: known(page), belongs_to: 7 };
        let found = ok(store.find_users(&query, true).await);
        check("a page by cursor has the total", found.total == all.total);
        check("a page by cursor respects the count", found.resources.len() <= 3);
        cursor = found.next_cursor(&query, |user| user.id.as_str());
        check("a next cursor is present exactly if more users follow", cursor.is_some() == found.more);
        walked.extend(found.resources);
        check("reading by cursor ends", walked.len() <= all.resources.len());
    }
    check("the pages by cursor contain all users in order", walked == all.resources);
    let Some(first) = all.resources.first() else { return };
    let start = Start::After(Cursor { last: first.id.to_string(), total: 1000 });
    let later = Query { filter, page: Page { start, count: 3 }, belongs_to: 7 };
    let found = ok(store.find_users(&later, true).await);
    check("a page by cursor returns the total of the cursor", found.total == 1000);
}

async fn deletes(ctx: &Ctx, store: &mut dyn UserStore, ada: &User) {
    ok(store.delete_user(ada, ctx.now).await);
    check("a deleted user cannot be read", ok(store.user(&ada.id).await).is_none());
    check("a deleted user cannot be read for update", ok(store.user_for_update(&ada.id).await).is_none());
    check(
        "the name of a deleted user finds nobody",
        ok(store.user_of_name("ada@example.com").await).is_none(),
    );
    check(
        "the address of a deleted user finds nobody",
        ok(store.user_of_sign_in_email("ada@home.example").await).is_none(),
    );
    for filter in [
        r#"userName eq "ada@example.com""#,
        r#"emails.value eq "ada@work.example""#,
        r#"externalId eq "X-1""#,
    ] {
        check("no filter finds a deleted user", find(store, Some(filter), 1, 10).await.total == 0);
    }
    let all = find(store, None, 1, 200).await;
    check("no list contains a deleted user", all.resources.iter().all(|user| user.id != ada.id));
    check("the total does not count a deleted user", all.total == all.resources.len() as u64);
    let again =
        create(ctx, &json!({ "userName": "ada@example.com", "emails": [{ "value": "ada@home.example" }] }));
    check("the names of a deleted user are free", ok(store.insert_user(&again).await));
    check("a new user with the same names has another ID", again.id != ada.id);
}

async fn find(store: &mut dyn UserStore, filter: Option<&str>, start: u64, count: u32) -> ResourcePage<User> {
    let filter = filter.map(|text| parse(&USERS, text));
    let page = Page { start: Start::Index(start), count };
    ok(store.find_users(&Query { filter, page, belongs_to: 0 }, true).await)
}

fn parse(kind: &'static ResourceType, text: &str) -> Filter {
    known(Filter::parse(kind, text))
}

fn known<T>(result: Result<T, crate::Error>) -> T {
    result.unwrap_or_else(|error| panic!("the suite's own queries are well formed: {error}"))
}

fn create(ctx: &Ctx, body: &Value) -> User {
    ok_draft(User::new(ctx, draft_of(body)))
}

fn draft_of(body: &Value) -> UserDraft {
    ok_draft(UserDraft::read(body))
}

fn ok_draft<T>(result: Result<T, crate::Error>) -> T {
    result.unwrap_or_else(|error| panic!("the suite's own users are well formed: {error}"))
}

fn ok<T>(result: StoreResult<T>) -> T {
    result.unwrap_or_else(|error| panic!("storage failed: {error}"))
}

fn check(sentence: &str, holds: bool) {
    assert!(holds, "does not hold: {sentence}");
}
