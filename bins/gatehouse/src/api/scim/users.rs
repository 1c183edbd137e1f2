//! `/Users`

use actix_web::{HttpRequest, HttpResponse, delete, get, http::StatusCode, patch, post, put, web};
use audit::{Audited, Unaudited};
use kernel::{Ctx, UserId};
use scim_core::{
    Error, OnExisting, Params, Patch, User, UserDraft,
    schema::USERS,
    users::{self, ChangedUser, CreatedUser},
};
use store::{Cost, Tx};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    answers::{Answer, list, no_content, one, unsealed, write_user},
    parameters::{PageQuery, ProjectionQuery, UserListProjectionQuery},
    root::root,
    shapes::{ScimPatch, ScimSearch, ScimUser, ScimUserBody, ScimUserList},
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
        .service(list_users)
        .service(search_users)
        .service(create_user)
        .service(get_user)
        .service(replace_user)
        .service(patch_user)
        .service(delete_user);
}

/// List or find users
///
/// A page of the tenant's users, oldest first: by position (`startIndex`), or by cursor (RFC 9865), which
/// costs the same however far into the list it is. `filter` takes the whole language of RFC 7644 §3.4.2.2.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(
        ("filter" = Option<String>, Query, description = "RFC 7644 §3.4.2.2.", example = "userName eq \"ada@example.com\""),
        PageQuery,
        UserListProjectionQuery,
    ),
    responses(
        (
            status = 200,
            description = "RFC 7644 §3.4.2.",
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
async fn list_users(site: web::Data<Site>, access: Access<ScimRead>, request: HttpRequest) -> Answer {
    answer_list(&site, &access, Params::of_query(request.query_string())).await
}

/// Find users by a body
///
/// RFC 7644 §3.4.3: the same as the list, for filters that are too long or too private for an address.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    request_body = ScimSearch,
    responses(
        (status = 200, description = "RFC 7644 §3.4.2.", body = ScimUserList),
        (status = 400, description = "invalidFilter, invalidSyntax, invalidValue, invalidCursor or tooMany."),
    )
)]
#[post("/api/scim/v2/Users/.search")]
async fn search_users(site: web::Data<Site>, access: Access<ScimRead>, body: ScimJson) -> Answer {
    answer_list(&site, &access, Params::of_search(&body.0)?).await
}

async fn answer_list(site: &Site, access: &Access<ScimRead>, params: Params) -> Answer {
    let params = unsealed(site, access, params)?;
    let (query, projection) = (params.query(&USERS)?, params.projection(&USERS));
    let (groups, asked) = (projection.wants("groups"), query.clone());
    let find = async move |_: &Ctx, tx: &mut Tx| users::list(tx, &asked, groups).await;
    let found = access.search(Cost::of_users(&query), find).await?;
    let root = root(site);
    Ok(list(
        site,
        access,
        &query,
        found,
        |user| user.id.as_str(),
        |user, out| write_user(user, &projection, &root, out),
    ))
}

/// Create a user
///
/// 201 with the new user. When the tenant has one of this `userName`, in any case, 200 with that one,
/// unchanged; with a token minted for it, 409 instead. Unknown attributes are ignored.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
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
async fn create_user(
    site: web::Data<Site>,
    access: Access<ScimWrite>,
    request: HttpRequest,
    body: ScimJson,
) -> Answer {
    let draft = UserDraft::read(&body.0)?;
    let refuse = access.caller().create_conflict;
    let on_existing = if refuse { OnExisting::Refuse } else { OnExisting::Answer };
    let created = access.write(async move |ctx, tx| {
        let created = users::create(ctx, tx, draft, on_existing).await?;
        Ok::<_, Error>(match &created {
            CreatedUser::New(user) => {
                let event = events::user_created(user);
                Audited::new(created, event)
            }
            CreatedUser::Existing(_) => Audited::without(created, Unaudited::NothingChanged),
        })
    });
    let (status, user) = match created.await? {
        CreatedUser::New(user) => (StatusCode::CREATED, user),
        CreatedUser::Existing(user) => (StatusCode::OK, user),
    };
    Ok(user_answer(status, user, &site, &request))
}

/// Read a user
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(ProjectionQuery),
    responses(
        (status = 200, description = "The user.", body = ScimUser),
    )
)]
#[get("/api/scim/v2/Users/{id}")]
async fn get_user(
    site: web::Data<Site>,
    access: Access<ScimRead>,
    request: HttpRequest,
    id: web::Path<String>,
) -> Answer {
    let id = user_id(&id)?;
    let user = access.read(async move |_, tx| users::get(tx, &id).await).await?;
    Ok(user_answer(StatusCode::OK, user, &site, &request))
}

/// Replace a user
///
/// RFC 7644 §3.5.1: attributes that are not sent are removed, `active` aside, which stays as it is. One
/// that changes nothing leaves `meta.lastModified` alone.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(ProjectionQuery),
    request_body = ScimUserBody,
    responses(
        (status = 200, description = "The user as it is now.", body = ScimUser),
    )
)]
#[put("/api/scim/v2/Users/{id}")]
async fn replace_user(
    site: web::Data<Site>,
    access: Access<ScimWrite>,
    request: HttpRequest,
    id: web::Path<String>,
    body: ScimJson,
) -> Answer {
    let draft = UserDraft::read(&body.0)?;
    draft.require_user_name()?;
    let id = user_id(&id)?;
    let replace = async move |ctx: &Ctx, tx: &mut Tx| users::replace(ctx, tx, &id, draft).await;
    change_user(&site, &access, &request, replace).await
}

/// Change a user
///
/// RFC 7644 §3.5.2: all operations, or none of them. A replace through a filter of nothing but `eq` that
/// matches no value makes that value; any other such filter is 400 noTarget. Removing what is not there
/// succeeds. A patch that changes nothing leaves `meta.lastModified` alone.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
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
        (status = 200, description = "The user as it is now.", body = ScimUser),
    )
)]
#[patch("/api/scim/v2/Users/{id}")]
async fn patch_user(
    site: web::Data<Site>,
    access: Access<ScimWrite>,
    request: HttpRequest,
    id: web::Path<String>,
    body: ScimJson,
) -> Answer {
    let patch = Patch::read(&USERS, &body.0)?;
    let id = user_id(&id)?;
    let apply = async move |ctx: &Ctx, tx: &mut Tx| users::patch(ctx, tx, &id, &patch).await;
    change_user(&site, &access, &request, apply).await
}

/// Changes a user with an audit entry, and answers the user as it is then.
async fn change_user(
    site: &Site,
    access: &Access<ScimWrite>,
    request: &HttpRequest,
    change: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<ChangedUser, Error> + Send + 'static,
) -> Answer {
    let changed = access.write(async move |ctx: &Ctx, tx: &mut Tx| {
        let changed = change(ctx, tx).await?;
        let events = events::user_changed(&changed);
        Ok::<_, Error>(Audited::of_changes(changed.user, events))
    });
    Ok(user_answer(StatusCode::OK, changed.await?, site, request))
}

/// Delete a user
///
/// RFC 7644 §3.6: gone from every answer, shut out, out of all groups. Its names are free again; who is
/// created with them gets another id.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    responses(
        (status = 204, description = "It is gone."),
    )
)]
#[delete("/api/scim/v2/Users/{id}")]
async fn delete_user(access: Access<ScimWrite>, id: web::Path<String>) -> Answer {
    let id = user_id(&id)?;
    let deleted = access.write(async move |ctx, tx| {
        let user = users::delete(ctx, tx, &id).await?;
        Ok::<_, Error>(Audited::new((), events::user_deleted(&user)))
    });
    deleted.await?;
    Ok(no_content())
}

/// An id that cannot be one is as unknown as any other.
fn user_id(text: &str) -> Result<UserId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

fn user_answer(status: StatusCode, user: User, site: &Site, request: &HttpRequest) -> HttpResponse {
    let root = root(site);
    let projection = Params::of_query(request.query_string()).projection(&USERS);
    let location = user.location(&root);
    let mut text = String::with_capacity(1024);
    write_user(user, &projection, &root, &mut text);
    one(status, &location, text)
}
