//! The service over the in-memory stores: users and groups, ids of the host's own, errors for the host's log.

use std::collections::{BTreeMap, HashMap};

use scim_core::{
    Answer, AuthenticationScheme, BearerToken, Ctx, Error, InvalidBearerToken, OnExisting, ProviderConfig,
    Query, Request, ResourcePage, Service, StoreError, StoreResult, TableStore, Timestamp, UniqueKey, User,
    UserId, UserStore, UserTable, async_trait, conformance, memory::MemoryStore,
};
use serde_json::{Value, json};

use crate::ctx;

const BASE: &str = "https://host.example/scim";

async fn send(service: &mut Service<'_>, method: &str, url: &str, body: &Value) -> Answer {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    service.answer(&ctx(), Request { method, path, query, body: body.as_bytes() }).await
}

#[tokio::test]
async fn tables_conform() {
    conformance::users(&ctx(), &mut TableStore(HashMap::new())).await;
    conformance::users(&ctx(), &mut TableStore(BTreeMap::new())).await;
}

#[tokio::test]
async fn service_has_users_and_groups() {
    let mut store = MemoryStore::new();
    let mut service = Service::new(BASE, &mut store).on_existing(OnExisting::Answer);
    let ada = send(&mut service, "POST", "/Users", &json!({ "userName": "ada" })).await;
    assert_eq!(ada.status, 201);
    let location = ada.location.clone().unwrap();
    assert_eq!(ada.headers(), [("Content-Type", "application/scim+json"), ("Location", &*location)]);
    assert_eq!(ada.text(), ada.body.as_ref().unwrap().to_string());
    let ada = ada.body.unwrap();
    assert_eq!(send(&mut service, "POST", "/Users", &json!({ "userName": "ADA" })).await.status, 200);

    let path = location.strip_prefix(BASE).unwrap();
    let replaced = send(&mut service, "PUT", path, &json!({ "userName": "ada", "title": "Countess" }))
        .await
        .body
        .unwrap();
    assert_eq!((&replaced["title"], &replaced["id"]), (&json!("Countess"), &ada["id"]));
    assert_eq!(send(&mut service, "PUT", path, &json!({ "title": "x" })).await.status, 400);
    let patch = json!({ "Operations": [{ "op": "replace", "path": "title", "value": "Baroness" }] });
    assert_eq!(send(&mut service, "PATCH", path, &patch).await.body.unwrap()["title"], "Baroness");
    assert_eq!(send(&mut service, "GET", path, &Value::Null).await.body.unwrap()["title"], "Baroness");

    let body = json!({ "displayName": "Engines", "members": [{ "value": ada["id"] }] });
    let group = send(&mut service, "POST", "/Groups", &body).await;
    assert_eq!(group.status, 201);
    let location = group.location.unwrap();
    let path = location.strip_prefix(BASE).unwrap();
    let shown = group.body.unwrap();
    assert_eq!(shown["members"][0]["$ref"], ada["meta"]["location"]);
    let read = send(&mut service, "GET", path, &Value::Null).await;
    assert_eq!(read.body.unwrap(), shown);
    let bare = send(&mut service, "GET", &format!("{path}?excludedAttributes=members"), &Value::Null).await;
    assert_eq!(bare.body.unwrap()["members"], Value::Null);
    let found =
        send(&mut service, "GET", "/Groups?filter=displayName%20eq%20%22engines%22", &Value::Null).await;
    assert_eq!(found.body.unwrap()["Resources"], json!([shown]));
    let search = json!({ "filter": "displayName sw \"Loom\"" });
    let found = send(&mut service, "POST", "/Groups/.search", &search).await;
    assert_eq!(found.body.unwrap()["totalResults"], 0);

    let patch = json!({ "Operations": [{ "op": "remove", "path": "members" }] });
    let patched = send(&mut service, "PATCH", path, &patch).await;
    assert_eq!((patched.status, &patched.body.unwrap()["members"]), (200, &Value::Null));
    let renamed = send(&mut service, "PUT", path, &json!({ "displayName": "Looms" })).await;
    assert_eq!(renamed.body.unwrap()["displayName"], "Looms");
    assert_eq!(send(&mut service, "PUT", path, &json!({})).await.status, 400);
    let deleted = send(&mut service, "DELETE", path, &Value::Null).await;
    assert_eq!((deleted.status, deleted.headers(), deleted.text()), (204, vec![], String::new()));
    assert_eq!(send(&mut service, "GET", path, &Value::Null).await.status, 404);
    assert_eq!(send(&mut service, "DELETE", "/Groups", &Value::Null).await.status, 405);
    let stranger = json!({ "displayName": "Engines", "members": [{ "value": "42" }] });
    let refused = send(&mut service, "POST", "/Groups", &stranger).await.body.unwrap();
    assert_eq!((&refused["status"], &refused["scimType"]), (&json!("400"), &json!("invalidValue")));

    let types = send(&mut service, "GET", "/ResourceTypes", &Value::Null).await.body.unwrap();
    assert_eq!(types["totalResults"], 2);
    let kind = send(&mut service, "GET", "/ResourceTypes/Group", &Value::Null).await;
    assert_eq!(kind.body.unwrap()["endpoint"], "/Groups");
    assert_eq!(send(&mut service, "GET", "/ResourceTypes/Device", &Value::Null).await.status, 404);
    let schemas = send(&mut service, "GET", "/Schemas", &Value::Null).await.body.unwrap();
    assert_eq!(schemas["totalResults"], 3);
}

#[tokio::test]
async fn service_of_users_has_no_groups() {
    let mut store = TableStore(HashMap::new());
    let config = ProviderConfig {
        documentation_uri: Some("https://host.example/docs".into()),
        authentication_schemes: ["API key", "Token of the mesh"]
            .map(|name| AuthenticationScheme::bearer(name, "Create one in the console."))
            .into(),
    };
    let mut service = Service::of_users(BASE, &mut store).config(config);
    assert_eq!(send(&mut service, "GET", "/Groups", &Value::Null).await.status, 404);
    let types = send(&mut service, "GET", "/ResourceTypes", &Value::Null).await.body.unwrap();
    assert_eq!((&types["totalResults"], &types["Resources"][0]["id"]), (&json!(1), &json!("User")));
    let schemas = send(&mut service, "GET", "/Schemas", &Value::Null).await.body.unwrap();
    assert_eq!(schemas["totalResults"], 2);
    let config = send(&mut service, "GET", "/ServiceProviderConfig", &Value::Null).await.body.unwrap();
    assert_eq!(config["documentationUri"], "https://host.example/docs");
    let schemes = &config["authenticationSchemes"];
    assert_eq!((&schemes[0]["name"], &schemes[0]["primary"]), (&json!("API key"), &json!(true)));
    assert_eq!((&schemes[1]["name"], &schemes[1]["primary"]), (&json!("Token of the mesh"), &json!(false)));
    assert_eq!(send(&mut service, "POST", "/Schemas", &json!({})).await.status, 405);
}

/// Users with numbers from a sequence.
#[derive(Default)]
struct Numbered(BTreeMap<UserId, User>, u64);

#[async_trait]
impl UserTable for Numbered {
    async fn users(&mut self) -> StoreResult<Vec<User>> {
        self.0.users().await
    }
    async fn put(&mut self, user: &User) -> StoreResult<()> {
        self.0.put(user).await
    }
    async fn delete(&mut self, id: &UserId) -> StoreResult<()> {
        UserTable::delete(&mut self.0, id).await
    }
    async fn new_id(&mut self, _: &Ctx) -> StoreResult<Option<UserId>> {
        self.1 += 1;
        Ok(Some(self.1.into()))
    }
}

#[tokio::test]
async fn host_assigns_its_own_ids() {
    let mut store = TableStore(Numbered::default());
    let mut service = Service::of_users(BASE, &mut store);
    let created = send(&mut service, "POST", "/Users", &json!({ "userName": "ada" })).await;
    assert_eq!(created.body.unwrap()["id"], "1");
    let second = send(&mut service, "POST", "/Users", &json!({ "userName": "bob" })).await;
    assert_eq!(second.location.as_deref(), Some("https://host.example/scim/Users/2"));
    assert_eq!(send(&mut service, "GET", "/Users/2", &Value::Null).await.body.unwrap()["userName"], "bob");
    let page = send(&mut service, "GET", "/Users?count=1&cursor=", &Value::Null).await.body.unwrap();
    let next = format!("/Users?count=1&cursor={}", page["nextCursor"].as_str().unwrap());
    let page = send(&mut service, "GET", &next, &Value::Null).await.body.unwrap();
    assert_eq!(page["Resources"][0]["id"], "2");
    assert_eq!(send(&mut service, "DELETE", "/Users/1", &Value::Null).await.status, 204);
    assert_eq!(send(&mut service, "GET", "/Users/1", &Value::Null).await.status, 404);

    // An id may have any characters; its URL is one segment.
    let id: UserId = "a/b c".parse().unwrap();
    let mut ada = store.0.0.values().next().unwrap().clone();
    ada.id = id.clone();
    store.0.0 = BTreeMap::from([(id, ada)]);
    let mut service = Service::of_users(BASE, &mut store);
    let read = send(&mut service, "GET", "/Users/a%2Fb%20c", &Value::Null).await;
    assert_eq!(read.location.as_deref(), Some("https://host.example/scim/Users/a%2Fb%20c"));
    assert_eq!(read.body.unwrap()["id"], "a/b c");
}

/// A store whose every operation fails.
struct Broken(fn() -> StoreError);

#[async_trait]
impl UserStore for Broken {
    async fn user(&mut self, _: &UserId) -> StoreResult<Option<User>> {
        Err((self.0)())
    }
    async fn user_of_name(&mut self, _: &str) -> StoreResult<Option<User>> {
        Err((self.0)())
    }
    async fn user_of_sign_in_email(&mut self, _: &str) -> StoreResult<Option<UserId>> {
        Err((self.0)())
    }
    async fn find_users(&mut self, _: &Query, _: bool) -> StoreResult<ResourcePage<User>> {
        Err((self.0)())
    }
    async fn insert_user(&mut self, _: &User) -> StoreResult<bool> {
        Err((self.0)())
    }
    async fn update_user(&mut self, _: &User, _: &User) -> StoreResult<()> {
        Err((self.0)())
    }
    async fn delete_user(&mut self, _: &User, _: Timestamp) -> StoreResult<()> {
        Err((self.0)())
    }
}

#[tokio::test]
async fn storage_errors_are_for_the_log_only() {
    let mut store = Broken(|| StoreError::Corrupt("column secret".into()));
    let mut service = Service::of_users(BASE, &mut store);
    let answer = send(&mut service, "GET", "/Users/1", &Value::Null).await;
    assert!(answer.status >= 500 && !answer.text().contains("secret"), "{}", answer.text());
    assert!(matches!(answer.error, Some(Error::Store(StoreError::Corrupt(text))) if text == "column secret"));

    for (taken, attribute) in [
        (UniqueKey::UserName, "userName"),
        (UniqueKey::SignInEmail, "emails"),
        (UniqueKey::GroupName, "displayName"),
        (UniqueKey::Other("people_email_idx".into()), "another attribute"),
    ] {
        let error = Error::from(StoreError::Taken(taken));
        assert!(matches!(error, Error::Uniqueness { attribute: found } if found == attribute), "{error}");
        assert_eq!(error.status(), 409);
    }
}

#[tokio::test]
async fn status_says_whether_a_retry_may_succeed() {
    let cases: [(fn() -> StoreError, u16); 3] = [
        (|| StoreError::Unavailable("no connection".into()), 503),
        (|| StoreError::TenantBusy("searches"), 429),
        (|| StoreError::Corrupt("a column".into()), 500),
    ];
    for (error, status) in cases {
        let mut store = Broken(error);
        let answer = send(&mut Service::of_users(BASE, &mut store), "GET", "/Users/1", &Value::Null).await;
        assert_eq!(answer.status, status, "{:?}", answer.error);
    }
}

#[test]
fn bearer_token_is_checked_without_regard_to_the_case_of_its_scheme() {
    let token = BearerToken::new("c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/==").unwrap();
    for sent in [
        "Bearer c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/==",
        "bearer c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/==",
        "BEARER  c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/==",
    ] {
        assert!(token.check(Some(sent)).is_ok(), "{sent}");
    }
    for sent in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/=="),
        Some("Bearer c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/="),
        Some("Bearer c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/== x"),
        Some("Basic c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0-._~+/=="),
    ] {
        let refused = token.check(sent).unwrap_err();
        assert_eq!((refused.status, refused.body.clone().unwrap()["status"].as_str()), (401, Some("401")));
        assert!(refused.headers().contains(&("WWW-Authenticate", "Bearer")), "{sent:?}");
    }
    let long = "a".repeat(BearerToken::MIN_LENGTH);
    assert!(BearerToken::new(&*long).is_ok() && BearerToken::new(format!("{long}=")).is_ok());
    for end in [" b", "=b", "\n", "ä", "\0"] {
        assert_eq!(
            BearerToken::new(format!("{long}{end}")).err(),
            Some(InvalidBearerToken::Malformed),
            "{end}"
        );
    }
    for text in [String::new(), format!("{}=", &long[1..])] {
        assert_eq!(BearerToken::new(text).err(), Some(InvalidBearerToken::Malformed));
    }
    let unset = BearerToken::from_env("SCIM_CORE_TOKEN_THAT_NOBODY_SETS").err().unwrap();
    assert_eq!(format!("{unset:?}"), "SCIM_CORE_TOKEN_THAT_NOBODY_SETS: is not set");
}

#[test]
fn of_two_authorization_headers_neither_counts() {
    let token = BearerToken::new("c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0").unwrap();
    for (count, is_valid) in [(0, false), (1, true), (2, false)] {
        let mut request = http::Request::builder();
        for _ in 0..count {
            request = request.header("authorization", "Bearer c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0");
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(token.check_request(&parts).is_ok(), is_valid, "{count}");
    }
}

#[tokio::test]
async fn refused_request_changes_nothing_in_memory() {
    let (mut store, ctx) = (MemoryStore::new(), Ctx::system(1.into(), "test"));
    let send = async |store: &mut MemoryStore, method, path: &str, body: Value| {
        let body = body.to_string();
        let request = Request { method, path, query: "", body: body.as_bytes() };
        store.answer("https://scim.example", &ctx, request).await
    };
    let made = send(&mut store, "POST", "/Users", json!({ "userName": "ada@example.com" })).await;
    assert_eq!(made.status, 201);
    let before = store.clone();
    let id = made.body.unwrap()["id"].as_str().unwrap().to_owned();
    let members = json!([{ "value": id }, { "value": "unknown" }]);
    let refused =
        send(&mut store, "POST", "/Groups", json!({ "displayName": "A", "members": members })).await;
    assert_eq!((refused.status, store == before), (400, true));
    assert_eq!(send(&mut store, "DELETE", &format!("/Users/{id}"), json!(null)).await.status, 204);
    assert_ne!(store, before);
}
