//! `/Groups`

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, delete, get, http::StatusCode, patch, post, put, web};
use audit::{Audited, Event};
use kernel::{Ctx, GroupId, UserId};
use scim_core::{
    Error, Group, GroupDraft, Params, Patch, Projection,
    groups::{self, ChangedGroup},
    schema::GROUPS,
};
use store::{Cost, Tx};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    answers::{Answer, list, no_content, one, unsealed, write_group},
    parameters::{GroupProjectionQuery, PageQuery, ProjectionQuery},
    root::root,
    shapes::{ScimGroup, ScimGroupBody, ScimGroupList, ScimPatch, ScimSearch},
};
use crate::api::Site;
use crate::events;
use gate::{
    access::Access,
    body::ScimJson,
    permissions::{ScimRead, ScimWrite},
};

pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .service(list_groups)
        .service(search_groups)
        .service(create_group)
        .service(get_group)
        .service(replace_group)
        .service(patch_group)
        .service(delete_group);
}

/// List or find groups
///
/// A page of the tenant's groups, oldest first, each with all its members: ask with
/// `excludedAttributes=members` when groups are large. 400 tooMany when the groups of one page have more
/// than 50,000 members.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(
        ("filter" = Option<String>, Query, description = "RFC 7644 §3.4.2.2.", example = "displayName eq \"Engineering\""),
        PageQuery,
        GroupProjectionQuery,
    ),
    responses(
        (status = 200, description = "RFC 7644 §3.4.2.", body = ScimGroupList),
        (status = 400, description = "invalidFilter, invalidValue, invalidCursor or tooMany."),
    )
)]
#[get("/api/scim/v2/Groups")]
async fn list_groups(site: web::Data<Site>, access: Access<ScimRead>, request: HttpRequest) -> Answer {
    answer_list(&site, &access, Params::of_query(request.query_string())).await
}

/// Find groups by a body
///
/// RFC 7644 §3.4.3: the same as the list.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    request_body = ScimSearch,
    responses(
        (status = 200, description = "RFC 7644 §3.4.2.", body = ScimGroupList),
        (status = 400, description = "invalidFilter, invalidSyntax, invalidValue, invalidCursor or tooMany."),
    )
)]
#[post("/api/scim/v2/Groups/.search")]
async fn search_groups(site: web::Data<Site>, access: Access<ScimRead>, body: ScimJson) -> Answer {
    answer_list(&site, &access, Params::of_search(&body.0)?).await
}

async fn answer_list(site: &Site, access: &Access<ScimRead>, params: Params) -> Answer {
    let params = unsealed(site, access, params)?;
    let (query, projection) = (params.query(&GROUPS)?, params.projection(&GROUPS));
    let (members, asked) = (projection.wants("members"), query.clone());
    let cost = Cost::of_groups(&query, members);
    let find = async move |_: &Ctx, tx: &mut Tx| groups::list(tx, &asked, members).await;
    let (found, members) = access.search(cost, find).await?;
    let mut of = by_group(members);
    let root = root(site);
    let write = |group: Group, out: &mut String| {
        let members = of.remove(&group.id).unwrap_or_default();
        write_group(&group, &members, &projection, &root, out);
    };
    Ok(list(site, access, &query, found, |group| group.id.as_str(), write))
}

pub(crate) fn by_group(members: Vec<(GroupId, UserId)>) -> BTreeMap<GroupId, Vec<UserId>> {
    let mut of: BTreeMap<GroupId, Vec<UserId>> = BTreeMap::new();
    for (group, user) in members {
        of.entry(group).or_default().push(user);
    }
    of
}

/// Create a group
///
/// `members` are users of the tenant, by their id. 409 when the tenant has a group of this `displayName`, in
/// any case.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(ProjectionQuery),
    request_body(content(
        (ScimGroupBody = "application/scim+json", example = json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
            "displayName": "Engineering",
            "members": []
        })),
    )),
    responses(
        (status = 201, description = "The new group.", body = ScimGroup),
    )
)]
#[post("/api/scim/v2/Groups")]
async fn create_group(
    site: web::Data<Site>,
    access: Access<ScimWrite>,
    request: HttpRequest,
    body: ScimJson,
) -> Answer {
    let draft = GroupDraft::read(&body.0)?;
    draft.require_display_name()?;
    let projection = projection(&request);
    let wants = projection.wants("members");
    let created = access.write_large(async move |ctx, tx| {
        let created = groups::create(ctx, tx, draft).await?;
        let events = events::group_created(&created);
        with_members(tx, created.group, wants, events).await
    });
    let (group, members) = created.await?;
    Ok(group_answer(StatusCode::CREATED, &group, &members, &site, &projection))
}

/// Read a group
///
/// With all its members, unless `excludedAttributes=members`.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(GroupProjectionQuery),
    responses(
        (status = 200, description = "The group.", body = ScimGroup),
    )
)]
#[get("/api/scim/v2/Groups/{id}")]
async fn get_group(
    site: web::Data<Site>,
    access: Access<ScimRead>,
    request: HttpRequest,
    id: web::Path<String>,
) -> Answer {
    let id = group_id(&id)?;
    let projection = projection(&request);
    let wants = projection.wants("members");
    // A group has as many members as the tenant has users.
    let cost = if wants { Cost::Scan } else { Cost::Indexed };
    let read = access.search(cost, async move |_: &Ctx, tx: &mut Tx| {
        let group = groups::get(tx, &id).await?;
        let members = members_of(tx, &id, wants).await?;
        Ok::<_, Error>((group, members))
    });
    let (group, members) = read.await?;
    Ok(group_answer(StatusCode::OK, &group, &members, &site, &projection))
}

/// Replace a group
///
/// RFC 7644 §3.5.1: who is not among `members` leaves.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(ProjectionQuery),
    request_body = ScimGroupBody,
    responses(
        (status = 200, description = "The group as it is now.", body = ScimGroup),
    )
)]
#[put("/api/scim/v2/Groups/{id}")]
async fn replace_group(
    site: web::Data<Site>,
    access: Access<ScimWrite>,
    request: HttpRequest,
    id: web::Path<String>,
    body: ScimJson,
) -> Answer {
    let draft = GroupDraft::read(&body.0)?;
    draft.require_display_name()?;
    let id = group_id(&id)?;
    let replace = async move |ctx: &Ctx, tx: &mut Tx| groups::replace(ctx, tx, &id, draft).await;
    change_group(&site, &access, &request, replace).await
}

/// Change a group
///
/// RFC 7644 §3.5.2: all operations, or none of them. Thousands of members may join or leave by one request;
/// ask with `excludedAttributes=members` unless all members are to be answered.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(GroupProjectionQuery),
    request_body(content(
        (ScimPatch = "application/scim+json", example = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": [
                { "op": "add", "path": "members", "value": [{ "value": "usr_01jz2222222222222222222222" }] },
                { "op": "remove", "path": "members[value eq \"usr_01jz3333333333333333333333\"]" }
            ]
        })),
    )),
    responses(
        (status = 200, description = "The group as it is now.", body = ScimGroup),
    )
)]
#[patch("/api/scim/v2/Groups/{id}")]
async fn patch_group(
    site: web::Data<Site>,
    access: Access<ScimWrite>,
    request: HttpRequest,
    id: web::Path<String>,
    body: ScimJson,
) -> Answer {
    let patch = Patch::read(&GROUPS, &body.0)?;
    let id = group_id(&id)?;
    let apply = async move |ctx: &Ctx, tx: &mut Tx| groups::patch(ctx, tx, &id, &patch).await;
    change_group(&site, &access, &request, apply).await
}

/// Changes a group with an audit entry, and answers the group as it is then.
async fn change_group(
    site: &Site,
    access: &Access<ScimWrite>,
    request: &HttpRequest,
    change: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<ChangedGroup, Error> + Send + 'static,
) -> Answer {
    let projection = projection(request);
    let wants = projection.wants("members");
    let changed = access.write_large(async move |ctx: &Ctx, tx: &mut Tx| {
        let changed = change(ctx, tx).await?;
        let events = events::group_changed(&changed);
        with_members(tx, changed.group, wants, events).await
    });
    let (group, members) = changed.await?;
    Ok(group_answer(StatusCode::OK, &group, &members, site, &projection))
}

/// Delete a group
///
/// Its members stay who they are.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    responses(
        (status = 204, description = "It is gone."),
    )
)]
#[delete("/api/scim/v2/Groups/{id}")]
async fn delete_group(access: Access<ScimWrite>, id: web::Path<String>) -> Answer {
    let id = group_id(&id)?;
    let deleted = access.write_large(async move |_, tx| {
        let group = groups::delete(tx, &id).await?;
        Ok::<_, Error>(Audited::new((), events::group_deleted(&group)))
    });
    deleted.await?;
    Ok(no_content())
}

/// An id that cannot be one is as unknown as any other.
fn group_id(text: &str) -> Result<GroupId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

fn projection(request: &HttpRequest) -> Projection {
    Params::of_query(request.query_string()).projection(&GROUPS)
}

/// The members, if they are wanted.
async fn members_of(tx: &mut Tx, id: &GroupId, wanted: bool) -> Result<Vec<UserId>, Error> {
    if wanted { groups::members(tx, id).await } else { Ok(Vec::new()) }
}

/// What a change answers: the group with its members, if they are wanted, and what the ledger says.
async fn with_members(
    tx: &mut Tx,
    group: Group,
    wanted: bool,
    events: Vec<Event>,
) -> Result<Audited<(Group, Vec<UserId>)>, Error> {
    let members = members_of(tx, &group.id, wanted).await?;
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
    write_group(group, members, projection, &root, &mut text);
    one(status, &group.location(&root), text)
}
