//! `/api/people`: the people of the tenant, for its people and their programs.

use actix_web::{HttpResponse, get, patch, web};
use directory::{PeopleStore, Person, ProfileChanges};
use kernel::{Ctx, Email, UserId};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    Site,
    me::{NewPhone, Patched, phone_numbers},
    openapi::values,
    paging::{Page, PageQuery},
};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::{Permission, ReadPeople, WritePeople},
};

pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config.service(list_people).service(get_person).service(patch_person);
}

/// A person as the people of the tenant see them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownPerson {
    /// `usr_…`
    id: String,
    #[schema(required)]
    display_name: Option<String>,
    #[schema(required)]
    email: Option<String>,
    #[schema(required)]
    title: Option<String>,
    #[schema(required)]
    department: Option<String>,
    /// Whether they may sign in.
    active: bool,
}

impl From<Person> for ShownPerson {
    fn from(person: Person) -> Self {
        Self {
            id: person.id.to_string(),
            display_name: person.display_name,
            email: person.email.as_ref().map(Email::to_string),
            title: person.title,
            department: person.department,
            active: person.active,
        }
    }
}

/// A page of people.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PersonList {
    users: Vec<ShownPerson>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// What administrators may change of a person's profile.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PersonBody {
    #[serde(default)]
    #[schema(value_type = Option<values::PersonText>)]
    display_name: Patched<String>,
    #[serde(default)]
    #[schema(value_type = Option<values::PersonText>)]
    title: Patched<String>,
    #[serde(default)]
    #[schema(value_type = Option<values::PersonText>)]
    department: Patched<String>,
    /// All of them; they take the place of those there were.
    #[schema(max_items = 10)]
    phone_numbers: Option<Vec<NewPhone>>,
}

/// List the people of the tenant
#[utoipa::path(
    tag = "People",
    security(("sessionCookie" = []), ("personalAccessToken" = ["read:hcm"])),
    params(PageQuery),
    responses(
        (status = 200, description = "In the order in which they came.", body = PersonList),
        (status = 400, description = "INVALID_CURSOR, or a malformed limit."),
    )
)]
#[get("/api/people")]
async fn list_people(
    site: web::Data<Site>,
    access: Access<ReadPeople>,
    query: Page,
) -> Result<HttpResponse, Problem> {
    let (people, next_cursor) = page(&site, &access, &query).await?;
    let users = people.into_iter().map(ShownPerson::from).collect();
    Ok(answer(&PersonList { users, next_cursor }))
}

/// A page of the tenant's people, and where the next one begins.
pub(crate) async fn page<P: Permission>(
    site: &Site,
    access: &Access<P>,
    query: &Page,
) -> Result<(Vec<Person>, Option<String>), Problem> {
    let (after, limit) = (query.after::<UserId>(site, access.tenant())?, query.limit());
    let work = async move |_: &Ctx, tx: &mut Tx| tx.people(after.as_ref(), limit + 1).await;
    Ok(query.cut(site, access.tenant(), access.read(work).await?, |person| person.id.as_str()))
}

/// Read a person of the tenant
#[utoipa::path(
    tag = "People",
    security(("sessionCookie" = []), ("personalAccessToken" = ["read:hcm"])),
    params(("id" = String, Path, description = "usr_…")),
    responses(
        (status = 200, description = "The person.", body = ShownPerson),
        (status = 404, description = "The tenant has no person of this id."),
    )
)]
#[get("/api/people/{id}")]
async fn get_person(access: Access<ReadPeople>, id: web::Path<String>) -> Result<HttpResponse, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let person = access.read(async move |_: &Ctx, tx: &mut Tx| directory::find_person(tx, &id).await).await?;
    Ok(answer(&ShownPerson::from(person)))
}

/// Change a person's profile
///
/// For administrators.
#[utoipa::path(
    tag = "People",
    security(("sessionCookie" = []), ("personalAccessToken" = ["write:hcm"])),
    params(("id" = String, Path, description = "usr_…")),
    responses(
        (status = 200, description = "The person as they are now.", body = ShownPerson),
        (status = 400, description = "A field is malformed or unknown."),
        (status = 404, description = "The tenant has no person of this id."),
    )
)]
#[patch("/api/people/{id}")]
async fn patch_person(
    access: Access<WritePeople>,
    id: web::Path<String>,
    body: Json<PersonBody>,
) -> Result<HttpResponse, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let changes = ProfileChanges {
        display_name: body.0.display_name.into_change(),
        title: body.0.title.into_change(),
        department: body.0.department.into_change(),
        phone_numbers: body.0.phone_numbers.map(phone_numbers),
    };
    let work = async move |ctx: &Ctx, tx: &mut Tx| crate::people::change_profile(ctx, tx, &id, changes).await;
    Ok(answer(&ShownPerson::from(access.write(work).await?)))
}
