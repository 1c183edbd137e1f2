//! `/Users`

use actix_web::{
    HttpRequest, HttpResponse, get,
    http::{StatusCode, header},
    post, put, web,
};
use audit::{Audited, Unaudited};
use kernel::UserId;
use scim_core::{Created, Draft, Error, Lookup, OnExisting, Page, User, list_response};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    super::{
        Site,
        access::Access,
        body::{ScimJson, scim_answer},
        errors::ScimProblem,
        permissions::{ScimRead, ScimWrite},
    },
    root,
    shapes::{ScimUser, ScimUserBody, ScimUserList},
};
use crate::events;

type Answer = Result<HttpResponse, ScimProblem>;

pub(super) fn routes(config: &mut ServiceConfig<'_>) {
    config.service(list_users).service(create_user).service(get_user).service(replace_user);
}

/// List or find users
///
/// A page of the tenant's users, oldest first. `filter` finds by `userName`, `externalId` or
/// `emails.value` with `eq`.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(
        ("filter" = Option<String>, Query, description = "RFC 7644 §3.4.2.2.", example = "userName eq \"ada@example.com\""),
        ("startIndex" = Option<i64>, Query, description = "Position of the first one, from 1; less is 1."),
        ("count" = Option<i64>, Query, description = "How many, 100 by default; more than 200 is 200, less than 0 is 0."),
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
        (status = 400, description = "invalidFilter or invalidValue."),
    )
)]
#[get("/api/scim/v2/Users")]
async fn list_users(site: web::Data<Site>, access: Access<ScimRead>, request: HttpRequest) -> Answer {
    let query = Query::read(request.query_string());
    let lookup = query.filter.as_deref().map(Lookup::parse).transpose()?;
    let page = Page::parse(query.start_index.as_deref(), query.count.as_deref())?;
    let found = access.read(async move |_, tx| scim_core::list(tx, lookup.as_ref(), page).await).await?;
    let root = root(&site);
    let users = found.users.iter().map(|user| user.to_json(&root)).collect();
    Ok(scim_answer(StatusCode::OK, &list_response(found.total, page.start_index, users)))
}

/// Create a user
///
/// 201 with the new user. When the tenant has one of this `userName`, in any case, 200 with that one,
/// unchanged; with a token minted for it, 409 instead. Unknown attributes are ignored.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    request_body(content(
        (ScimUserBody = "application/scim+json", example = json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
            "userName": "ada@example.com",
            "name": { "givenName": "Ada", "familyName": "Lovelace" },
            "emails": [{ "value": "ada@example.com", "type": "work", "primary": true }]
        })),
        (ScimUserBody = "application/json"),
    )),
    responses(
        (status = 200, description = "The existing user.", body = ScimUser, content_type = "application/scim+json"),
        (status = 201, description = "The new user.", body = ScimUser, content_type = "application/scim+json"),
        (status = 400, description = "invalidSyntax or invalidValue."),
        (status = 409, description = "uniqueness."),
    )
)]
#[post("/api/scim/v2/Users")]
async fn create_user(site: web::Data<Site>, access: Access<ScimWrite>, body: ScimJson) -> Answer {
    let draft = Draft::read(&body.0)?;
    let refuse = access.caller().create_conflict;
    let on_existing = if refuse { OnExisting::Refuse } else { OnExisting::Answer };
    let created = access.write(async move |ctx, tx| {
        let created = scim_core::create(ctx, tx, draft, on_existing).await?;
        Ok::<_, Error>(match &created {
            Created::New(user) => {
                let event = events::user_created(user);
                Audited::new(created, event)
            }
            Created::Existing(_) => Audited::without(created, Unaudited::NothingChanged),
        })
    });
    let (status, user) = match created.await? {
        Created::New(user) => (StatusCode::CREATED, user),
        Created::Existing(user) => (StatusCode::OK, user),
    };
    Ok(user_answer(status, &user, &site))
}

/// Read a user
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(("id" = String, Path, description = "The tenant user id.")),
    responses(
        (status = 200, description = "The user.", body = ScimUser, content_type = "application/scim+json"),
        (status = 404, description = "The tenant has no such user."),
    )
)]
#[get("/api/scim/v2/Users/{id}")]
async fn get_user(site: web::Data<Site>, access: Access<ScimRead>, id: web::Path<String>) -> Answer {
    let id = user_id(&id)?;
    let user = access.read(async move |_, tx| scim_core::get(tx, &id).await).await?;
    Ok(user_answer(StatusCode::OK, &user, &site))
}

/// Replace a user
///
/// RFC 7644 §3.5.1: attributes that are not sent are removed, `active` aside, which stays as it is. One
/// that changes nothing leaves `meta.lastModified` alone.
#[utoipa::path(
    tag = "SCIM",
    security(("scimToken" = [])),
    params(("id" = String, Path, description = "The tenant user id.")),
    request_body(content((ScimUserBody = "application/scim+json"), (ScimUserBody = "application/json"))),
    responses(
        (status = 200, description = "The user as it is now.", body = ScimUser, content_type = "application/scim+json"),
        (status = 400, description = "invalidSyntax or invalidValue."),
        (status = 404, description = "The tenant has no such user."),
        (status = 409, description = "uniqueness."),
    )
)]
#[put("/api/scim/v2/Users/{id}")]
async fn replace_user(
    site: web::Data<Site>,
    access: Access<ScimWrite>,
    id: web::Path<String>,
    body: ScimJson,
) -> Answer {
    let draft = Draft::read(&body.0)?;
    draft.require_user_name()?;
    let id = user_id(&id)?;
    let replaced = access.write(async move |ctx, tx| {
        let replaced = scim_core::replace(ctx, tx, &id, draft).await?;
        let events = events::user_replaced(&replaced);
        Ok::<_, Error>(Audited::of_changes(replaced.user, events))
    });
    Ok(user_answer(StatusCode::OK, &replaced.await?, &site))
}

/// An id that cannot be one is as unknown as any other.
fn user_id(text: &str) -> Result<UserId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

fn user_answer(status: StatusCode, user: &User, site: &Site) -> HttpResponse {
    let root = root(site);
    let mut answer = scim_answer(status, &user.to_json(&root));
    if let Ok(location) = user.location(&root).parse() {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

/// The query of a list, before it is understood. Names are compared exactly, the first of each counts.
#[derive(Default)]
struct Query {
    filter: Option<String>,
    start_index: Option<String>,
    count: Option<String>,
}

impl Query {
    fn read(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let place = match &*name {
                "filter" => &mut query.filter,
                "startIndex" => &mut query.start_index,
                "count" => &mut query.count,
                _ => continue,
            };
            place.get_or_insert_with(|| value.into_owned());
        }
        query
    }
}
