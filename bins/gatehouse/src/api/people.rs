//! `/api/people`: the tenant's users, for its users and their programs.

use actix_web::{get, patch};
use directory::{PeopleQuery, PeopleStore, Person, ProfileChanges};
use kernel::{Ctx, Email, UserId};
use serde::{Deserialize, Serialize};
use sign_in::administration;
use store::{Cost, Tx};
use utoipa::ToSchema;

use super::{
    me::{NewPhone, Patched, phone_numbers},
    openapi::values,
};
use crate::api::{Answer, Call, Registry};
use gate::{
    body::{Json, answer},
    errors::Problem,
    paging::{Page, PageQuery},
    permissions::{Permission, ReadPeople, WritePeople},
};

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry.service(list_people).service(get_person).service(patch_person);
}

/// A user, as other users of the tenant see them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownPerson)]
struct PersonView {
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
    /// Whether the user may sign in.
    active: bool,
}

impl From<Person> for PersonView {
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

/// A page of users.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PersonList {
    users: Vec<PersonView>,
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// Changes of a user's profile by an administrator.
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
    /// Replaces all telephone numbers.
    #[schema(max_items = 10)]
    phone_numbers: Option<Vec<NewPhone>>,
}

/// List the users of the tenant
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["read:hcm"])),
    params(PageQuery),
    responses(
        (status = 200, description = "Oldest first.", body = PersonList),
        (status = 400, description = "INVALID_CURSOR, or a malformed limit."),
    )
)]
#[get("/api/people")]
async fn list_people(call: Call<ReadPeople>, query: Page) -> Answer {
    let (people, next_cursor) = page(&call, PeopleQuery::default(), Cost::Indexed, &query).await?;
    let users = people.into_iter().map(PersonView::from).collect();
    Ok(answer(&PersonList { users, next_cursor }))
}

/// Returns a page of the tenant's users who match, and the cursor of the next page.
pub(crate) async fn page<P: Permission>(
    call: &Call<P>,
    filter: PeopleQuery,
    cost: Cost,
    query: &Page,
) -> Result<(Vec<Person>, Option<String>), Problem> {
    let (after, limit) = (query.after::<UserId>(&call.site.pipeline.keys, call.tenant())?, query.limit());
    let work = async move |_: &Ctx, tx: &mut Tx| tx.people(&filter, after.as_ref(), limit + 1).await;
    Ok(query.cut(&call.site.pipeline.keys, call.tenant(), call.search(cost, work).await?, |person| {
        person.id.as_str()
    }))
}

/// Get a user of the tenant
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["read:hcm"])),
    params(("id" = String, Path, description = "usr_…")),
    responses(
        (status = 200, description = "The user.", body = PersonView),
        (status = 404, description = "The tenant has no user with this ID."),
    )
)]
#[get("/api/people/{id}")]
async fn get_person(call: Call<ReadPeople>) -> Answer {
    let id: UserId = call.id()?;
    let person = call.read(async move |_: &Ctx, tx: &mut Tx| directory::find_person(tx, &id).await).await?;
    Ok(answer(&PersonView::from(person)))
}

/// Update a user's profile
///
/// Requires the permission `manage:users`, and all permissions of the user.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["write:hcm"])),
    params(("id" = String, Path, description = "usr_…")),
    responses(
        (status = 200, description = "The updated user.", body = PersonView),
        (status = 400, description = "A field is malformed or unknown."),
        (status = 404, description = "The tenant has no user with this ID."),
    )
)]
#[patch("/api/people/{id}")]
async fn patch_person(call: Call<WritePeople>, body: Json<PersonBody>) -> Answer {
    let id: UserId = call.id()?;
    let changes = ProfileChanges {
        display_name: body.0.display_name.into_change(),
        title: body.0.title.into_change(),
        department: body.0.department.into_change(),
        phone_numbers: body.0.phone_numbers.map(phone_numbers),
    };
    let by = call.caller().roles().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        directory::find_to_act_on(tx, &by, &id).await?;
        administration::change_profile(ctx, tx, &id, changes).await
    };
    Ok(answer(&PersonView::from(call.write(work).await?)))
}
