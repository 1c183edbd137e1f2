//! What every [`UserStore`](crate::UserStore) has to do, whatever it is made of: run it against yours.
//!
//! Panics with the sentence that does not hold.
#![expect(clippy::panic, reason = "a test suite speaks by panicking")]

use kernel::{Ctx, StoreError};
use serde_json::{Value, json};

use crate::{Draft, Found, Lookup, Page, User, UserStore};

/// Runs the whole suite against an empty store. `ctx` gives ids and times.
pub async fn users(ctx: &Ctx, store: &mut dyn UserStore) {
    let ada = make(
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
    let bob = make(ctx, &json!({ "userName": "bob", "active": false }));

    keeps_and_finds(ctx, store, &ada, &bob).await;
    refuses_taken_keys(ctx, store, &ada).await;
    updates(store, &ada, &bob).await;
    pages(ctx, store).await;
}

async fn keeps_and_finds(ctx: &Ctx, store: &mut dyn UserStore, ada: &User, bob: &User) {
    check("an empty store finds nothing", ok(store.user(&ada.id).await).is_none());
    check("a new user is kept", ok(store.insert_user(ada).await));
    check("a user without an address is kept", ok(store.insert_user(bob).await));
    let carol = make(ctx, &json!({ "userName": "carol" }));
    check("two users without an address do not collide", ok(store.insert_user(&carol).await));
    check("a user is read as it was kept", ok(store.user(&ada.id).await).as_ref() == Some(ada));
    check(
        "reading for update gives the same",
        ok(store.user_for_update(&ada.id).await).as_ref() == Some(ada),
    );
    let named = ok(store.user_of_name("ada@example.com").await);
    check("a user is found by the key of its name", named.as_ref() == Some(ada));
    check("a name is found whole", ok(store.user_of_name("ada@example.co_").await).is_none());
    let address = ok(store.user_of_sign_in_email("ada@home.example").await);
    check("a user is found by its sign-in address", address.as_ref() == Some(&ada.id));
    check(
        "another address is no sign-in address",
        ok(store.user_of_sign_in_email("ada@work.example").await).is_none(),
    );

    for (lookup, expected) in [
        (Lookup::UserName("ada@example.com".into()), 1),
        (Lookup::UserName("ADA@example.com".into()), 0),
        (Lookup::UserName("%".into()), 0),
        (Lookup::ExternalId("X-1".into()), 1),
        (Lookup::ExternalId("x-1".into()), 0),
        (Lookup::Email("ada@work.example".into()), 1),
        (Lookup::Email("ada@home.example".into()), 1),
        (Lookup::Email("nobody@home.example".into()), 0),
    ] {
        let found = find(store, Some(&lookup), 1, 10).await;
        check(&format!("{lookup:?} finds {expected}"), found.total == expected);
        check("what is found is ada", found.users.iter().all(|user| user == ada));
    }
}

async fn refuses_taken_keys(ctx: &Ctx, store: &mut dyn UserStore, ada: &User) {
    let name = make(ctx, &json!({ "userName": "ADA@EXAMPLE.COM", "emails": ["other@x.example"] }));
    check("a name that differs in case alone is taken", !ok(store.insert_user(&name).await));
    let address = make(ctx, &json!({ "userName": "dora", "emails": ["Ada@Home.example"] }));
    check("a sign-in address that differs in case alone is taken", !ok(store.insert_user(&address).await));
    check("nothing of a refused user is kept", ok(store.user(&address.id).await).is_none());
    let found = find(store, Some(&Lookup::Email("other@x.example".into())), 1, 10).await;
    check("no address of a refused user is kept", found.total == 0);
    check("the one who has the key is unchanged", ok(store.user(&ada.id).await).as_ref() == Some(ada));
}

async fn updates(store: &mut dyn UserStore, ada: &User, bob: &User) {
    let draft = json!({ "userName": "bob", "title": "Builder", "emails": ["bob@x.example"] });
    let mut changed = ok_draft(bob.replaced(draft_of(&draft)));
    changed.last_modified = changed.last_modified.plus_millis(5);
    ok(store.update_user(&changed).await);
    check("a change is kept", ok(store.user(&bob.id).await).as_ref() == Some(&changed));
    let found = find(store, Some(&Lookup::Email("bob@x.example".into())), 1, 10).await;
    check("a new address is found", found.users == [changed.clone()]);

    let back = ok_draft(changed.replaced(draft_of(&json!({ "userName": "bob" }))));
    ok(store.update_user(&back).await);
    let found = find(store, Some(&Lookup::Email("bob@x.example".into())), 1, 10).await;
    check("an address that was taken away is not found", found.total == 0);
    check("other users are as they were", ok(store.user(&ada.id).await).as_ref() == Some(ada));
}

async fn pages(ctx: &Ctx, store: &mut dyn UserStore) {
    let before = find(store, None, 1, 200).await;
    for number in 0..7 {
        let user = make(ctx, &json!({ "userName": format!("page-{number}") }));
        check("a user for paging is kept", ok(store.insert_user(&user).await));
    }
    let all = find(store, None, 1, 200).await;
    check("the total counts all", all.total == before.total + 7 && all.users.len() as u64 == all.total);
    let mut walked = Vec::new();
    for start in (1..).step_by(3).take(5) {
        walked.extend(find(store, None, start, 3).await.users);
    }
    check("pages together are the list, once each, in order", walked == all.users);
    let none = find(store, None, 1, 0).await;
    check("a count of zero gives the total alone", none.users.is_empty() && none.total == all.total);
    let past = find(store, None, all.total + 1, 10).await;
    check(
        "a page past the end is empty and knows the total",
        past.users.is_empty() && past.total == all.total,
    );
    let far = find(store, None, i64::MAX.unsigned_abs(), 10).await;
    check("a page far past the end is empty", far.users.is_empty());
}

async fn find(store: &mut dyn UserStore, lookup: Option<&Lookup>, start_index: u64, count: u32) -> Found {
    ok(store.find_users(lookup, Page { start_index, count }).await)
}

fn make(ctx: &Ctx, body: &Value) -> User {
    ok_draft(User::new(ctx, draft_of(body)))
}

fn draft_of(body: &Value) -> Draft {
    ok_draft(Draft::read(body))
}

fn ok_draft<T>(result: Result<T, crate::Error>) -> T {
    result.unwrap_or_else(|error| panic!("the suite's own users are well formed: {error}"))
}

fn ok<T>(result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("storage failed: {error}"))
}

fn check(sentence: &str, holds: bool) {
    assert!(holds, "does not hold: {sentence}");
}
