//! Operations on users: uniqueness, activation and the time of the last change.

use scim_core::{
    Ctx, Error, OnExisting, Patch, User, UserDraft,
    memory::MemoryStore,
    schema::USERS,
    users::{self, CreatedUser},
};
use serde_json::{Value, json};

use crate::ctx;

fn draft(body: &Value) -> UserDraft {
    UserDraft::read(body).unwrap()
}

async fn create(store: &mut MemoryStore, body: &Value) -> User {
    let created = users::create(&ctx(), store, draft(body), OnExisting::Refuse).await.unwrap();
    let CreatedUser::New(user) = created else { unreachable!("existing users are refused") };
    user
}

/// Returns the attribute that is taken.
fn taken<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    let Error::Uniqueness { attribute } = result.unwrap_err() else { unreachable!("a value is taken") };
    attribute
}

fn emails(address: &str) -> Value {
    json!([{ "value": address }])
}

#[tokio::test]
async fn user_with_a_taken_name_or_address_is_not_created() {
    let mut store = MemoryStore::new();
    let ada = create(&mut store, &json!({ "userName": "ada", "emails": emails("ada@example.com") })).await;
    for (body, attribute) in [
        (json!({ "userName": "ADA" }), "userName"),
        (json!({ "userName": "bob", "emails": emails("ADA@example.com") }), "emails"),
        (json!({ "userName": "ada@example.com" }), "userName"),
    ] {
        let refused = users::create(&ctx(), &mut store, draft(&body), OnExisting::Refuse).await;
        assert_eq!(taken(refused), attribute, "{body}");
    }
    let same = draft(&json!({ "userName": "ADA", "title": "x" }));
    let answered = users::create(&ctx(), &mut store, same, OnExisting::Answer).await.unwrap();
    assert_eq!(answered, CreatedUser::Existing(ada));
}

#[tokio::test]
async fn name_or_address_of_another_user_is_refused() {
    let mut store = MemoryStore::new();
    create(&mut store, &json!({ "userName": "ada", "emails": emails("ada@example.com") })).await;
    let bob = create(&mut store, &json!({ "userName": "bob", "emails": emails("bob@example.com") })).await;
    for (body, attribute) in [
        (json!({ "userName": "Ada", "emails": emails("bob@example.com") }), "userName"),
        (json!({ "userName": "bob", "emails": emails("Ada@example.com") }), "emails"),
        (json!({ "userName": "ada@example.com" }), "userName"),
    ] {
        let refused = users::replace(&ctx(), &mut store, &bob.id, draft(&body)).await;
        assert_eq!(taken(refused), attribute, "{body}");
    }
    // Its own name and address in another case are not those of another user.
    let own = draft(&json!({ "userName": "BOB", "emails": emails("BOB@example.com") }));
    let changed = users::replace(&ctx(), &mut store, &bob.id, own).await.unwrap();
    assert_eq!(changed.changed, ["userName", "emails"]);
}

#[tokio::test]
async fn plan_says_whether_the_user_is_activated() {
    let mut store = MemoryStore::new();
    let ada = create(&mut store, &json!({ "userName": "ada" })).await;
    for (active, activates, activation) in
        [(Some(true), true, None), (Some(false), false, Some(false)), (None, false, None)]
    {
        let body = json!({ "userName": "ada", "active": active });
        let plan = users::plan_replace(&mut store, &ada.id, draft(&body)).await.unwrap();
        assert_eq!(
            (plan.activates(), plan.activation(), plan.user()),
            (activates, activation, &ada),
            "{body}"
        );
        let operation = json!({ "op": "replace", "value": { "active": active } });
        let patch = Patch::read(&USERS, &json!({ "Operations": [operation] })).unwrap();
        let plan = users::plan_patch(&mut store, &ada.id, &patch).await.unwrap();
        assert_eq!((plan.activates(), plan.activation()), (activates, activation), "{operation}");
    }
}

#[tokio::test]
async fn time_of_the_last_change_moves_forward_only_with_a_change() {
    let mut store = MemoryStore::new();
    let ada = create(&mut store, &json!({ "userName": "ada" })).await;
    let at = |millis| Ctx { now: ada.last_modified.plus_millis(millis), ..ctx() };
    let unchanged = draft(&json!({ "userName": "ada", "active": true }));
    let result = users::replace(&at(1000), &mut store, &ada.id, unchanged).await.unwrap();
    assert_eq!((&result.user, result.changed, result.activation), (&ada, vec![], None));

    let inactive = draft(&json!({ "userName": "ada", "active": false }));
    let result = users::replace(&at(1000), &mut store, &ada.id, inactive).await.unwrap();
    assert_eq!((result.changed, result.activation), (vec![], Some(false)));
    assert_eq!(result.user.last_modified, at(1000).now);

    let titled = draft(&json!({ "userName": "ada", "title": "Countess", "active": false }));
    let result = users::replace(&at(0), &mut store, &ada.id, titled).await.unwrap();
    assert_eq!((result.changed, result.activation), (vec!["title".to_owned()], None));
    assert_eq!(result.user.last_modified, at(1000).now, "the clock of another machine is behind");
    assert_eq!(users::get(&mut store, &ada.id).await.unwrap(), result.user);
}
