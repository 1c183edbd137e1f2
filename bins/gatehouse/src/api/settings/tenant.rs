//! `/api/settings/tenant`: the tenant's name.

use actix_web::{get, patch};
use audit::{Audited, Event, events::tenants::TenantRenamed};
use directory::Tenant;
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, openapi::values};
use gate::{
    body::{Json, answer},
    permissions::{AnyRight, InPerson, ManageTenant},
};

/// A tenant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownTenant)]
struct TenantView {
    /// `ten_…`
    id: String,
    /// Short name in URLs and on the command line.
    slug: String,
    /// The name to display.
    name: String,
    /// `FREE`, `STANDARD` or `ENTERPRISE`.
    tier: &'static str,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
}

impl From<Tenant> for TenantView {
    fn from(tenant: Tenant) -> Self {
        Self {
            id: tenant.id.to_string(),
            slug: tenant.slug,
            name: tenant.name,
            tier: tenant.tier.as_str(),
            created_at: tenant.created_at,
        }
    }
}

/// Changes of a tenant.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TenantBody {
    #[schema(value_type = values::PersonText)]
    name: String,
}

/// Get the tenant
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The tenant.", body = TenantView))
)]
#[get("/api/settings/tenant")]
pub(crate) async fn get_tenant(call: Call<AnyRight>) -> Answer {
    Ok(answer(&TenantView::from(call.own_tenant().await?)))
}

/// Rename the tenant
///
/// The slug stays. A name equal to the present one changes nothing and writes no audit entry.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The tenant.", body = TenantView),
        (status = 400, description = "The name is malformed."),
    )
)]
#[patch("/api/settings/tenant")]
pub(crate) async fn rename_tenant(call: Call<InPerson<ManageTenant>>, body: Json<TenantBody>) -> Answer {
    let name = body.0.name;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let (tenant, is_new) = directory::rename_tenant(tx, &name).await?;
        let event =
            is_new.then(|| Event::new(tenant.id.as_str(), &TenantRenamed { name: tenant.name.clone() }));
        Ok::<_, directory::Error>(Audited::of_changes(tenant, event.into_iter().collect()))
    };
    Ok(answer(&TenantView::from(call.write(work).await?)))
}
