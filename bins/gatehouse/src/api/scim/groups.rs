//! `/Groups`

use actix_web::{HttpRequest, HttpResponse, delete, get, http::StatusCode, patch, post, put};
use audit::{
    Audited, Event,
    events::groups::{GroupCreated, GroupDeleted, changes, membership_changes},
};
use kernel::{Ctx, GroupId, UserId};
use scim_core::{
    Error, Group, GroupDraft, Params, Patch, Projection, ScimStore,
    groups::{self, ChangedGroup},
    schema::GROUPS,
};
use store::Cost;

use super::{
    answers::{Answer, list, no_content, one, resource_id, unsealed},
    given_roles,
    parameters::{GroupProjectionQuery, PageQuery, ProjectionQuery},
    root::root,
    shapes::{ScimGroup, ScimGroupBody, ScimGroupList, ScimPatch, ScimSearch},
    target::{Target, change_large, search},
};
use crate::api::{Call, Registry, Site};
use gate::{
    body::ScimJson,
    permissions::{ScimRead, ScimWrite},
};

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(list_groups)
        .service(search_groups)
        .service(create_group)
        .service(get_group)
        .service(replace_group)
        .service(patch_group)
        .service(delete_group);
}

/// List groups
///
/// A page of the tenant's groups, oldest first, with all members. Use `excludedAttributes=members` for large groups.
/// 400 tooMany if the groups of one page have more than 50,000 members.
#[utoipa::path(
    params(
        ("filter" = Option<String>, Query, description = "RFC 7644, section 3.4.2.2.", example = "displayName eq \"Engineering\""),
        PageQuery,
        GroupProjectionQuery,
    ),
    responses(
        (status = 200, description = "RFC 7644, section 3.4.2.", body = ScimGroupList),
        (status = 400, description = "invalidFilter, invalidValue, invalidCursor or tooMany."),
    )
)]
#[get("/api/scim/v2/Groups")]
async fn list_groups(call: Call<ScimRead>) -> Answer {
    answer_list(&call, Params::of_query(call.request.query_string())).await
}

/// Search groups
///
/// RFC 7644, section 3.4.3: like the list.
#[utoipa::path(
    request_body = ScimSearch,
    responses(
        (status = 200, description = "RFC 7644, section 3.4.2.", body = ScimGroupList),
        (status = 400, description = "invalidFilter, invalidSyntax, invalidValue, invalidCursor or tooMany."),
    )
)]
#[post("/api/scim/v2/Groups/.search")]
async fn search_groups(call: Call<ScimRead>, body: ScimJson) -> Answer {
    answer_list(&call, Params::of_search(&body.0)?).await
}

async fn answer_list(call: &Call<ScimRead>, params: Params) -> Answer {
    let params = unsealed(call, params)?;
    let (query, projection) = (params.query(&GROUPS)?, params.projection(&GROUPS));
    let (members, asked) = (projection.wants("members"), query.clone());
    let cost = Cost::of_groups(&query, members);
    let find = async move |store: &mut dyn ScimStore| groups::list(store, &asked, members).await;
    let found = search(call, cost, find).await?;
    let root = root(&call.site);
    let write = |(group, members): (Group, Vec<UserId>), out: &mut String| {
        projection.write_group(&group, &members, &root, out);
    };
    Ok(list(call, &query, found, |(group, _)| group.id.as_str(), write))
}

/// Create a group
///
/// `members` are IDs of users of the tenant. 409 if the tenant has a group with this `displayName`
/// (case-insensitive).
#[utoipa::path(
    params(ProjectionQuery),
    request_body(content(
        (ScimGroupBody = "application/scim+json", example = json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
            "displayName": "Engineering",
            "members": []
        })),
    )),
    responses((status = 201, description = "The new group.", body = ScimGroup))
)]
#[post("/api/scim/v2/Groups")]
async fn create_group(call: Call<ScimWrite>, body: ScimJson) -> Answer {
    let draft = GroupDraft::read(&body.0)?;
    draft.require_display_name()?;
    let projection = projection(&call.request);
    let wants = projection.wants("members");
    let created = change_large(&call, async move |ctx: &Ctx, target: &mut Target<'_>| {
        let created = groups::create(ctx, target.store(), draft).await?;
        let (id, joined) = (created.group.id.as_str(), &created.members.joined);
        let mut events = vec![Event::new(id, &GroupCreated { members: joined.len() })];
        events.extend(membership_changes(id, joined, &[]));
        with_members(target.store(), created.group, wants, events).await
    });
    let (group, members) = created.await?;
    Ok(group_answer(StatusCode::CREATED, &group, &members, &call.site, &projection))
}

/// Get a group
///
/// With all members, unless `excludedAttributes=members`.
#[utoipa::path(
    params(GroupProjectionQuery),
    responses((status = 200, description = "The group.", body = ScimGroup))
)]
#[get("/api/scim/v2/Groups/{id}")]
async fn get_group(call: Call<ScimRead>) -> Answer {
    let id: GroupId = resource_id(&call)?;
    let projection = projection(&call.request);
    let wants = projection.wants("members");
    // A group has as many members as the tenant has users.
    let cost = if wants { Cost::Scan } else { Cost::Indexed };
    let read = search(&call, cost, async move |store: &mut dyn ScimStore| {
        let group = groups::get(store, &id).await?;
        let members = members_of(store, &id, wants).await?;
        Ok::<_, Error>((group, members))
    });
    let (group, members) = read.await?;
    Ok(group_answer(StatusCode::OK, &group, &members, &call.site, &projection))
}

/// Replace a group
///
/// RFC 7644, section 3.5.1: removes members that are not sent.
#[utoipa::path(
    params(ProjectionQuery),
    request_body = ScimGroupBody,
    responses((status = 200, description = "The updated group.", body = ScimGroup))
)]
#[put("/api/scim/v2/Groups/{id}")]
async fn replace_group(call: Call<ScimWrite>, body: ScimJson) -> Answer {
    let draft = GroupDraft::read(&body.0)?;
    draft.require_display_name()?;
    let id: GroupId = resource_id(&call)?;
    let replace =
        async move |ctx: &Ctx, store: &mut dyn ScimStore| groups::replace(ctx, store, &id, draft).await;
    change_group(&call, replace).await
}

/// Update a group
///
/// RFC 7644, section 3.5.2: applies all operations or none. One request can add or remove thousands of members; use
/// `excludedAttributes=members` unless the response needs all members.
#[utoipa::path(
    params(GroupProjectionQuery),
    request_body(content(
        (ScimPatch = "application/scim+json", example = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": [
                { "op": "add", "path": "members", "value": [{ "value": "usr_01jz4444444444444444444444" }] },
                { "op": "remove", "path": "members[value eq \"usr_01jz3333333333333333333333\"]" }
            ]
        })),
    )),
    responses((status = 200, description = "The updated group.", body = ScimGroup))
)]
#[patch("/api/scim/v2/Groups/{id}")]
async fn patch_group(call: Call<ScimWrite>, body: ScimJson) -> Answer {
    let patch = Patch::read(&GROUPS, &body.0)?;
    let id: GroupId = resource_id(&call)?;
    let apply =
        async move |ctx: &Ctx, store: &mut dyn ScimStore| groups::patch(ctx, store, &id, &patch).await;
    change_group(&call, apply).await
}

/// Changes a group with an audit entry, and responds with the new state.
async fn change_group(
    call: &Call<ScimWrite>,
    change: impl AsyncFnOnce(&Ctx, &mut dyn ScimStore) -> Result<ChangedGroup, Error> + Send + 'static,
) -> Answer {
    let projection = projection(&call.request);
    let wants = projection.wants("members");
    let changed = change_large(call, async move |ctx: &Ctx, target: &mut Target<'_>| {
        let changed = change(ctx, target.store()).await?;
        let (id, members) = (&changed.group.id, &changed.members);
        let mut events = changes(id.as_str(), &changed.changed, &members.joined, &members.left);
        if let Some(tx) = target.tx() {
            events.extend(given_roles::after_change(ctx, tx, id, members).await?);
        }
        with_members(target.store(), changed.group, wants, events).await
    });
    let (group, members) = changed.await?;
    Ok(group_answer(StatusCode::OK, &group, &members, &call.site, &projection))
}

/// Delete a group
///
/// The members stay users of the tenant.
#[utoipa::path(responses((status = 204, description = "Deleted.")))]
#[delete("/api/scim/v2/Groups/{id}")]
async fn delete_group(call: Call<ScimWrite>) -> Answer {
    let id: GroupId = resource_id(&call)?;
    let deleted = change_large(&call, async move |ctx: &Ctx, target: &mut Target<'_>| {
        let rules = match target.tx() {
            Some(tx) => given_roles::before_deletion(ctx, tx, &id).await?,
            None => Vec::new(),
        };
        let group = groups::delete(target.store(), &id).await?;
        Ok::<_, Error>(Audited::new((), Event::new(group.id.as_str(), &GroupDeleted {})).with(rules))
    });
    deleted.await?;
    Ok(no_content())
}

fn projection(request: &HttpRequest) -> Projection {
    Params::of_query(request.query_string()).projection(&GROUPS)
}

/// Returns the members if they are requested.
async fn members_of(store: &mut dyn ScimStore, id: &GroupId, wanted: bool) -> Result<Vec<UserId>, Error> {
    if wanted { groups::members(store, id).await } else { Ok(Vec::new()) }
}

/// Returns a changed group with its members, if they are requested, and the audit events.
async fn with_members(
    store: &mut dyn ScimStore,
    group: Group,
    wanted: bool,
    events: Vec<Event>,
) -> Result<Audited<(Group, Vec<UserId>)>, Error> {
    let members = members_of(store, &group.id, wanted).await?;
    Ok(Audited::of_changes((group, members), events))
}

fn group_answer(
    status: StatusCode,
    group: &Group,
    members: &[UserId],
    site: &Site,
    projection: &Projection,
) -> HttpResponse {
    let root = root(site);
    let mut text = String::new();
    projection.write_group(group, members, &root, &mut text);
    one(status, &group.location(&root), text)
}
