//! `/Users`

use std::sync::Arc;

use actix_web::{HttpResponse, delete, get, http::StatusCode, patch, post, put};
use audit::{
    Audited, Event, Unaudited,
    events::users::{UserCreated, UserDeleted, changes},
};
use directory::Role;
use kernel::{Ctx, UserId};
use scim_core::{
    Error, OnExisting, Params, Patch, ScimStore, User, UserDraft,
    schema::USERS,
    users::{self, CreatedUser, PlannedChange},
};
use store::Cost;
use tokens::removals::RemovalKind;

use super::{
    answers::{Answer, list, no_content, one, resource_id, unsealed},
    parameters::{PageQuery, ProjectionQuery, UserListProjectionQuery},
    removals::{hold_removal, refuse, withdraw},
    root::root,
    shapes::{ScimPatch, ScimSearch, ScimUser, ScimUserBody, ScimUserList},
    target::{Target, change, search},
};
use crate::api::{Call, Registry};
use gate::{
    body::ScimJson,
    permissions::{Permission, ScimRead, ScimWrite},
};

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(list_users)
        .service(search_users)
        .service(create_user)
        .service(get_user)
        .service(replace_user)
        .service(patch_user)
        .service(delete_user);
}

/// List users
///
/// A page of the tenant's users, oldest first. Pages by index (`startIndex`) or by cursor (RFC 9865); a cursor costs
/// the same at any depth. `filter` supports all of RFC 7644, section 3.4.2.2.
#[utoipa::path(
    params(
        ("filter" = Option<String>, Query, description = "RFC 7644, section 3.4.2.2.", example = "userName eq \"ada@example.com\""),
        PageQuery,
        UserListProjectionQuery,
    ),
    responses(
        (
            status = 200,
            description = "RFC 7644, section 3.4.2.",
            body = ScimUserList,
            content_type = "application/scim+json",
            example = json!({
                "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
                "totalResults": 0, "startIndex": 1, "itemsPerPage": 0, "Resources": []
            })
        ),
        (status = 400, description = "invalidFilter, invalidValue, invalidCursor or tooMany."),
    )
)]
#[get("/api/scim/v2/Users")]
async fn list_users(call: Call<ScimRead>) -> Answer {
    answer_list(&call, Params::of_query(call.request.query_string())).await
}

/// Search users
///
/// RFC 7644, section 3.4.3: like the list, for filters that are too long or too sensitive for a URL.
#[utoipa::path(
    request_body = ScimSearch,
    responses(
        (status = 200, description = "RFC 7644, section 3.4.2.", body = ScimUserList),
        (status = 400, description = "invalidFilter, invalidSyntax, invalidValue, invalidCursor or tooMany."),
    )
)]
#[post("/api/scim/v2/Users/.search")]
async fn search_users(call: Call<ScimRead>, body: ScimJson) -> Answer {
    answer_list(&call, Params::of_search(&body.0)?).await
}

async fn answer_list(call: &Call<ScimRead>, params: Params) -> Answer {
    let params = unsealed(call, params)?;
    let (query, projection) = (params.query(&USERS)?, params.projection(&USERS));
    let (groups, asked) = (projection.wants("groups"), query.clone());
    let find = async move |store: &mut dyn ScimStore| users::list(store, &asked, groups).await;
    let found = search(call, Cost::of_users(&query), find).await?;
    let root = root(&call.site);
    Ok(list(
        call,
        &query,
        found,
        |user| user.id.as_str(),
        |user, out| projection.write_user(user, &root, out),
    ))
}

/// Create a user
///
/// 201 with the new user. If the tenant has a user with this `userName` (case-insensitive), 200 with that user,
/// unchanged; a token can be set to answer 409 instead. Unknown attributes are ignored.
#[utoipa::path(
    params(ProjectionQuery),
    request_body(content(
        (ScimUserBody = "application/scim+json", example = json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
            "userName": "ada@example.com",
            "name": { "givenName": "Ada", "familyName": "Lovelace" },
            "emails": [{ "value": "ada@example.com", "type": "work", "primary": true }]
        })),
    )),
    responses(
        (status = 200, description = "The existing user.", body = ScimUser),
        (status = 201, description = "The new user.", body = ScimUser),
    )
)]
#[post("/api/scim/v2/Users")]
async fn create_user(call: Call<ScimWrite>, body: ScimJson) -> Answer {
    let draft = UserDraft::read(&body.0)?;
    let refuse = call.caller().create_conflict;
    let on_existing = if refuse { OnExisting::Refuse } else { OnExisting::Answer };
    let created = change(&call, async move |ctx: &Ctx, target: &mut Target<'_>| {
        let created = users::create(ctx, target.store(), draft, on_existing).await?;
        Ok::<_, Error>(match &created {
            CreatedUser::New(user) => {
                let (id, fields) = (user.id.to_string(), user.fields());
                let data = UserCreated { active: user.active, role: Role::Member.to_string(), fields };
                Audited::new(created, Event::new(id, &data))
            }
            CreatedUser::Existing(_) => Audited::without(created, Unaudited::NothingChanged),
        })
    });
    let (status, user) = match created.await? {
        CreatedUser::New(user) => (StatusCode::CREATED, user),
        CreatedUser::Existing(user) => (StatusCode::OK, user),
    };
    Ok(user_answer(status, user, &call))
}

/// Get a user
#[utoipa::path(
    params(ProjectionQuery),
    responses((status = 200, description = "The user.", body = ScimUser))
)]
#[get("/api/scim/v2/Users/{id}")]
async fn get_user(call: Call<ScimRead>) -> Answer {
    let id: UserId = resource_id(&call)?;
    let get = async move |store: &mut dyn ScimStore| users::get(store, &id).await;
    let user = search(&call, Cost::Indexed, get).await?;
    Ok(user_answer(StatusCode::OK, user, &call))
}

/// Replace a user
///
/// RFC 7644, section 3.5.1: removes attributes that are not sent, except `active`. A request that changes nothing
/// keeps `meta.lastModified`.
#[utoipa::path(
    params(ProjectionQuery),
    request_body = ScimUserBody,
    responses(
        (status = 200, description = "The updated user.", body = ScimUser),
        (status = 403, description = "REMOVALS_PAUSED: the deactivation is held, because the token removes too many users."),
    )
)]
#[put("/api/scim/v2/Users/{id}")]
async fn replace_user(call: Call<ScimWrite>, body: ScimJson) -> Answer {
    let draft = UserDraft::read(&body.0)?;
    draft.require_user_name()?;
    let id: UserId = resource_id(&call)?;
    let plan = async move |store: &mut dyn ScimStore| users::plan_replace(store, &id, draft).await;
    change_user(&call, plan).await
}

/// Update a user
///
/// RFC 7644, section 3.5.2: applies all operations or none. A `replace` whose value filter consists only of `eq`
/// comparisons and matches nothing adds that value; any other filter without a match is 400 noTarget. Removing an
/// absent attribute succeeds. A request that changes nothing keeps `meta.lastModified`.
#[utoipa::path(
    params(ProjectionQuery),
    request_body(content(
        (ScimPatch = "application/scim+json", example = json!({
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
            "Operations": [
                { "op": "replace", "path": "active", "value": false },
                { "op": "replace", "path": "emails[type eq \"work\"].value", "value": "ada@example.com" }
            ]
        })),
    )),
    responses(
        (status = 200, description = "The updated user.", body = ScimUser),
        (status = 403, description = "REMOVALS_PAUSED: the deactivation is held, because the token removes too many users."),
    )
)]
#[patch("/api/scim/v2/Users/{id}")]
async fn patch_user(call: Call<ScimWrite>, body: ScimJson) -> Answer {
    let patch = Patch::read(&USERS, &body.0)?;
    let id: UserId = resource_id(&call)?;
    let plan = async move |store: &mut dyn ScimStore| users::plan_patch(store, &id, &patch).await;
    change_user(&call, plan).await
}

/// Makes a planned change of a user with an audit entry, and responds with the new state.
async fn change_user(
    call: &Call<ScimWrite>,
    plan: impl AsyncFnOnce(&mut dyn ScimStore) -> Result<PlannedChange, Error> + Send + 'static,
) -> Answer {
    let token = Arc::clone(call.caller());
    let changed = change(call, async move |ctx: &Ctx, target: &mut Target<'_>| {
        let planned = plan(target.store()).await?;
        if planned.activation() == Some(false) {
            let removal = (planned.user(), RemovalKind::Deactivate);
            if let Some(held) = hold_removal(ctx, target, &token.id, removal).await? {
                return Ok(held.map(Err));
            }
        }
        if planned.activates() {
            withdraw(target, &token, &planned.user().id).await?;
        }
        let changed = planned.make(ctx, target.store()).await?;
        let events = changes(changed.user.id.as_str(), &changed.changed, changed.activation);
        Ok::<_, Error>(Audited::of_changes(Ok(changed.user), events))
    });
    let user = changed.await?.map_err(|held| refuse(call, held))?;
    Ok(user_answer(StatusCode::OK, user, call))
}

/// Delete a user
///
/// RFC 7644, section 3.6: removes the user from all responses and groups and ends all access. The user name is free
/// again; a user created with it gets another ID.
#[utoipa::path(
    responses(
        (status = 204, description = "Deleted."),
        (status = 403, description = "REMOVALS_PAUSED: the deletion is held, because the token removes too many users."),
    )
)]
#[delete("/api/scim/v2/Users/{id}")]
async fn delete_user(call: Call<ScimWrite>) -> Answer {
    let id: UserId = resource_id(&call)?;
    let token = call.caller().id.clone();
    let deleted = change(&call, async move |ctx: &Ctx, target: &mut Target<'_>| {
        let user = users::lock(target.store(), &id).await?;
        let removal = (&user, RemovalKind::Delete);
        if let Some(held) = hold_removal(ctx, target, &token, removal).await? {
            return Ok(held.map(Err));
        }
        target.store().delete_user(&user, ctx.now).await?;
        Ok::<_, Error>(Audited::new(Ok(()), Event::new(id.as_str(), &UserDeleted {})))
    });
    deleted.await?.map_err(|held| refuse(&call, held))?;
    Ok(no_content())
}

fn user_answer<P: Permission>(status: StatusCode, user: User, call: &Call<P>) -> HttpResponse {
    let root = root(&call.site);
    let projection = Params::of_query(call.request.query_string()).projection(&USERS);
    let location = user.location(&root);
    let mut text = String::with_capacity(1024);
    projection.write_user(user, &root, &mut text);
    one(status, &location, text)
}
