//! `/api/me`

use actix_web::{get, patch};
use directory::{Person, PhoneNumber, ProfileChanges, Role};
use kernel::{Ctx, Email};
use serde::{Deserialize, Deserializer, Serialize};
use sign_in::administration;
use store::Tx;
use utoipa::ToSchema;

use crate::api::openapi::values;
use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    permissions::{ReadProfile, WriteProfile},
};

/// A telephone number.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPhone {
    #[schema(value_type = values::PhoneValue)]
    value: String,
    /// `work`, `mobile`, …
    #[serde(rename = "type")]
    #[schema(value_type = Option<values::PhoneKind>)]
    kind: Option<String>,
}

/// A telephone number.
#[derive(Serialize, ToSchema)]
pub(crate) struct Phone {
    value: String,
    /// `work`, `mobile`, …
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    kind: Option<String>,
}

/// Your profile.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Me {
    /// `usr_…`
    id: String,
    user_name: String,
    #[schema(required)]
    email: Option<String>,
    #[schema(required)]
    display_name: Option<String>,
    #[schema(required)]
    title: Option<String>,
    #[schema(required)]
    department: Option<String>,
    phone_numbers: Vec<Phone>,
    /// The assigned role: the name of a built-in one, or `role_…`.
    #[schema(value_type = values::UserRole)]
    role: Role,
    tenant: OwnTenant,
}

/// The tenant of the user.
#[derive(Serialize, ToSchema)]
#[schema(as = TenantShown)]
struct OwnTenant {
    /// `ten_…`
    id: String,
    slug: String,
    name: String,
}

/// A member of a JSON patch: absent, null, or a value.
#[derive(Debug, Clone, Default)]
pub(crate) enum Patched<T> {
    /// The field stays unchanged.
    #[default]
    Absent,
    /// The field is cleared.
    Null,
    /// The field is set to this value.
    Value(T),
}

impl<T> Patched<T> {
    /// Converts into the form that the directory takes.
    #[expect(clippy::option_option, reason = "absent, null and a value are three things")]
    pub(crate) fn into_change(self) -> Option<Option<T>> {
        match self {
            Self::Absent => None,
            Self::Null => Some(None),
            Self::Value(value) => Some(Some(value)),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patched<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Null, Self::Value))
    }
}

/// Changes of your profile.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MeBody {
    #[serde(default)]
    #[schema(value_type = Option<values::PersonText>)]
    display_name: Patched<String>,
    /// Replaces all telephone numbers.
    #[schema(max_items = 10)]
    phone_numbers: Option<Vec<NewPhone>>,
}

/// Converts telephone numbers into the directory's type.
pub(crate) fn phone_numbers(phones: Vec<NewPhone>) -> Vec<PhoneNumber> {
    phones.into_iter().map(|phone| PhoneNumber { value: phone.value, kind: phone.kind }).collect()
}

impl Me {
    fn of(person: Person, tenant: directory::Tenant) -> Self {
        Self {
            id: person.id.to_string(),
            email: person.email.as_ref().map(Email::to_string),
            user_name: person.user_name,
            display_name: person.display_name,
            title: person.title,
            department: person.department,
            phone_numbers: shown_phones(person.phone_numbers),
            role: person.role,
            tenant: OwnTenant { id: tenant.id.to_string(), slug: tenant.slug, name: tenant.name },
        }
    }
}

fn shown_phones(numbers: Vec<PhoneNumber>) -> Vec<Phone> {
    numbers.into_iter().map(|number| Phone { value: number.value, kind: number.kind }).collect()
}

/// Get your profile
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["read:profile"])),
    responses((status = 200, description = "Your profile.", body = Me))
)]
#[get("/api/me")]
pub(crate) async fn get_me(call: Call<ReadProfile>) -> Answer {
    let user = call.caller().user().clone();
    let work = async move |_: &Ctx, tx: &mut Tx| tx.person_with_tenant(&user).await;
    let (person, tenant) = call.read(work).await?.ok_or(directory::Error::NotFound)?;
    Ok(answer(&Me::of(person, tenant)))
}

/// Update your profile
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["write:profile"])),
    responses(
        (status = 200, description = "The updated profile.", body = Me),
        (status = 400, description = "A field is malformed or unknown."),
    )
)]
#[patch("/api/me")]
pub(crate) async fn patch_me(call: Call<WriteProfile>, body: Json<MeBody>) -> Answer {
    let user = call.caller().user().clone();
    let changes = ProfileChanges {
        display_name: body.0.display_name.into_change(),
        phone_numbers: body.0.phone_numbers.map(phone_numbers),
        ..ProfileChanges::default()
    };
    let work =
        async move |ctx: &Ctx, tx: &mut Tx| administration::change_profile(ctx, tx, &user, changes).await;
    let person = call.write(work).await?;
    Ok(answer(&Me::of(person, call.own_tenant().await?)))
}
