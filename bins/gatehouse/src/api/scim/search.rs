//! `/.search`: searches users and groups together.

use actix_web::post;
use kernel::Ctx;
use scim_core::{
    Error, Group, Page, Params, Query, ResourcePage, Start, User, groups,
    schema::{GROUPS, RESOURCE_TYPES, USERS},
    users,
};
use store::{Cost, Tx};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    answers::{Answer, list, unsealed, write_group, write_user},
    groups::by_group,
    root::root,
    shapes::{ScimList, ScimSearch},
};
use crate::api::Call;
use gate::{body::ScimJson, permissions::ScimRead};

pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config.service(search_all);
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
    let params = unsealed(&call, Params::of_search(&body.0)?)?;
    let of_groups = params.query_among(&GROUPS, &RESOURCE_TYPES)?;
    let of_users = params.query_among(&USERS, &RESOURCE_TYPES)?;
    let shown = (params.projection(&GROUPS), params.projection(&USERS));
    let (members, memberships) = (shown.0.wants("members"), shown.1.wants("groups"));
    let query = Query { filter: None, ..of_users.clone() };
    let cost = Cost::of_groups(&of_groups, members).and(Cost::of_users(&of_users));
    let find = async move |_: &Ctx, tx: &mut Tx| both(tx, of_groups, of_users, members, memberships).await;
    let found = call.search(cost, find);
    let root = root(&call.site);
    let write = |one: SearchResult, out: &mut String| match one {
        SearchResult::Group(group, members) => write_group(&group, &members, &shown.0, &root, out),
        SearchResult::User(user) => write_user(*user, &shown.1, &root, out),
    };
    Ok(list(&call, &query, found.await?, SearchResult::id, write))
}

enum SearchResult {
    Group(Group, Vec<kernel::UserId>),
    User(Box<User>),
}

impl SearchResult {
    fn id(&self) -> &str {
        match self {
            Self::Group(group, _) => group.id.as_str(),
            Self::User(user) => user.id.as_str(),
        }
    }
}

/// Returns a page of groups and users, ordered by ID. `grp_…` sorts before `usr_…`.
async fn both(
    tx: &mut Tx,
    of_groups: Query,
    mut of_users: Query,
    members: bool,
    memberships: bool,
) -> Result<ResourcePage<SearchResult>, Error> {
    let page = of_groups.page.clone();
    let (groups, members) = groups::list(tx, &of_groups, members).await?;
    let mut of = by_group(members);
    let mut resources: Vec<_> = groups
        .resources
        .into_iter()
        .map(|group| {
            let members = of.remove(&group.id).unwrap_or_default();
            SearchResult::Group(group, members)
        })
        .collect();
    let left = page.count - u32::try_from(resources.len()).unwrap_or(page.count);
    let start = match page.start.clone() {
        Start::Index(index) => Start::Index(index.saturating_sub(groups.total).max(1)),
        other => other,
    };
    // If groups fill a page by cursor, fetch one user to learn whether there is another page.
    let look_ahead = left == 0 && matches!(start, Start::After(_));
    of_users.page = Page { start, count: if look_ahead { 1 } else { left } };
    let mut users = users::list(tx, &of_users, memberships && !look_ahead).await?;
    let beyond = if look_ahead { !users.resources.is_empty() } else { left == 0 && users.total > 0 };
    if look_ahead {
        users.resources.clear();
    }
    let more = groups.more || users.more || beyond;
    resources.extend(users.resources.into_iter().map(Box::new).map(SearchResult::User));
    let total = match page.start {
        // Both totals come from the cursor, which contains the sum.
        Start::After(_) => users.total,
        _ => groups.total + users.total,
    };
    Ok(ResourcePage { total, resources, more, cut: false })
}
