//! Query parameters, from a query string or the body of a search.

use scim_core::{
    Error, Params, Projection, ResourcePage, Start,
    schema::{GROUPS, RESOURCE_TYPES, USERS},
};
use serde_json::{Value, json};

fn query_params(query: &str) -> Params {
    Params::of_query(query)
}

fn search_params(body: &Value) -> Params {
    Params::of_search(body).unwrap()
}

#[test]
fn query_string_and_search_have_the_same_parameters() {
    let body = json!({
        "FILTER": "title eq \"a b\"",
        "startindex": 2,
        "count": "3",
        "cursor": "x",
        "attributes": ["title", "name,active"],
        "excludedAttributes": "groups, emails,",
        "sortBy": 7,
    });
    let query = "filter=title%20eq+%22a+b%22&filter=x&startIndex=2&startIndex=9&count=3&cursor=x&attributes=title,name\
                 &attributes=active&excludedAttributes=groups,%20emails,&unknown=x&Count=7";
    assert_eq!(query_params(query), search_params(&body));
    for part in ["filter=x", "startIndex=1", "count=1", "cursor=x", "attributes=x", "excludedAttributes=x"] {
        assert_ne!(query_params(part), Params::default(), "{part}");
    }
    assert_eq!(
        search_params(&json!({ "filter": null, "count": null, "attributes": null })),
        Params::default()
    );
}

#[test]
fn numbers_of_a_search_may_have_any_notation() {
    for (count, expected) in [
        (json!(7), Some(7)),
        (json!(7.0), Some(7)),
        (json!(7e1), Some(70)),
        (json!(-7), Some(0)),
        (json!(1e30), Some(200)),
        (json!(u64::MAX), Some(200)),
        (json!("7"), Some(7)),
        (json!(7.5), None),
    ] {
        let query = search_params(&json!({ "count": count })).query(&USERS);
        assert_eq!(query.ok().map(|query| query.page.count), expected, "{count}");
    }
}

#[test]
fn wrong_types_are_refused() {
    let problem = |body: Value| Params::of_search(&body).unwrap_err().to_string();
    assert_eq!(problem(json!([])), "the body must be a JSON object that describes a search");
    assert_eq!(problem(json!({ "filter": 7 })), "filter: has the wrong type");
    assert_eq!(problem(json!({ "count": true })), "count: has the wrong type");
    assert_eq!(problem(json!({ "attributes": 7 })), "attributes: must be an array of names");
    assert_eq!(
        problem(json!({ "excludedAttributes": [7] })),
        "excludedAttributes: must be an array of names"
    );
}

#[test]
fn names_beyond_a_thousand_are_ignored() {
    let names = |count: usize| query_params(&format!("attributes={}", vec!["title"; count].join(",")));
    assert_eq!(names(1000), names(1001));
    assert_ne!(names(999), names(1000));
    assert_eq!(search_params(&json!({ "attributes": vec!["title"; 1001] })), names(1000));
}

#[test]
fn cursor_is_opened() {
    let open = |text: &str| text.strip_prefix("sealed ").map(str::to_owned);
    assert_eq!(query_params("cursor=sealed+x").unsealed(open).unwrap(), query_params("cursor=x"));
    assert!(matches!(query_params("cursor=x").unsealed(open), Err(Error::InvalidCursor)));
    for query in ["cursor=", "count=7"] {
        assert_eq!(query_params(query).unsealed(|_| unreachable!()).unwrap(), query_params(query));
    }
}

#[test]
fn cursor_belongs_to_a_filter_and_a_kind_of_resources() {
    let query = query_params("filter=id+pr&cursor=").query(&USERS).unwrap();
    let page = ResourcePage { total: 7, resources: vec!["usr_1"], more: true, cut: false };
    let cursor = page.next_cursor(&query, |id| id).unwrap();
    let start = |query: &str| query_params(&format!("{query}cursor={cursor}"));
    let of_users = start("filter=id+pr&").query(&USERS).unwrap();
    assert!(matches!(of_users.page.start, Start::After(cursor) if cursor.total == 7));
    assert!(start("").query(&USERS).is_err());
    assert!(start("filter=id+pr&").query(&GROUPS).is_err());
    assert!(start("filter=id+pr&").query_among(&USERS, &RESOURCE_TYPES).is_err());
}

#[test]
fn search_over_all_kinds_may_use_attributes_of_any() {
    let params = query_params("filter=userName+pr+or+displayName+pr&count=7&startIndex=3&attributes=title");
    assert!(params.query(&GROUPS).is_err());
    let query = params.query_among(&GROUPS, &RESOURCE_TYPES).unwrap();
    assert_eq!((query.page.count, query.page.offset()), (7, 2));
    assert!(query.filter.is_some());
    assert!(matches!(params.projection(&USERS), Projection::Only(selected) if selected.len() == 1));
    assert!(matches!(query_params("excludedAttributes=title").projection(&USERS), Projection::Without(_)));
    assert_eq!(query_params("").projection(&USERS), Projection::All);
}
