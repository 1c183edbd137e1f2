//! `/.search`: searches users and groups together.

use actix_web::post;
use scim_core::{Params, Query, ScimStore, Search, SearchResult};
use store::Cost;

use super::{
    answers::{Answer, list, unsealed},
    root::root,
    shapes::{ScimList, ScimSearch},
    target,
};
use crate::api::{Call, Registry};
use gate::{body::ScimJson, permissions::ScimRead};

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry.service(search_all);
}

/// Search users and groups
///
/// RFC 7644, section 3.4.3 over both resource types: groups first, then users, oldest first. A resource omits
/// attributes that its type does not have.
#[utoipa::path(
    request_body = ScimSearch,
    responses(
        (status = 200, description = "RFC 7644, section 3.4.2.", body = ScimList),
        (status = 400, description = "invalidFilter, invalidSyntax, invalidValue, invalidCursor or tooMany."),
    )
)]
#[post("/api/scim/v2/.search")]
async fn search_all(call: Call<ScimRead>, body: ScimJson) -> Answer {
    let search = Search::read(&unsealed(&call, Params::of_search(&body.0)?)?)?;
    let cost = Cost::of_groups(&search.groups, search.wants_members()).and(Cost::of_users(&search.users));
    let query = Query { filter: None, ..search.users.clone() };
    let projections = (search.group_projection.clone(), search.user_projection.clone());
    let run = async move |store: &mut dyn ScimStore| search.run(store).await;
    let found = target::search(&call, cost, run).await?;
    let root = root(&call.site);
    let write = |one: SearchResult, out: &mut String| match one {
        SearchResult::Group(group, members) => projections.0.write_group(&group, &members, &root, out),
        SearchResult::User(user) => projections.1.write_user(*user, &root, out),
    };
    Ok(list(&call, &query, found, SearchResult::id, write))
}
