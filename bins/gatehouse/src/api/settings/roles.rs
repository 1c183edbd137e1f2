//! `/api/settings/roles`: the roles that users can have.

use actix_web::{delete, get, post, put};
use audit::{
    Audited, Event, Unaudited,
    events::roles::{RoleCreated, RoleDeleted, RoleUpdated},
};
use directory::{HeldRoles, OwnRole, Permission, Permissions, Role, RoleFields, RoleId, RoleStore};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, me::factors::Deleted, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{AnyRight, InPerson, ManageRoles},
    step_up::{StepUp, UserAdminChange},
};

/// A role.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Role)]
pub(crate) struct RoleView {
    /// The name of a built-in role, or `role_…`.
    #[schema(value_type = values::UserRole)]
    id: String,
    name: String,
    #[schema(required)]
    description: Option<String>,
    /// What users with the role may do, including what other permissions of the role include.
    #[schema(value_type = Vec<values::PermissionName>)]
    permissions: Vec<Permission>,
    /// Whether every tenant has the role. Such roles cannot be changed.
    built_in: bool,
    /// Absent for built-in roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    created_at: Option<Timestamp>,
    /// Absent for built-in roles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    updated_at: Option<Timestamp>,
}

/// The roles of the tenant.
#[derive(Serialize, ToSchema)]
pub(crate) struct RoleList {
    /// Built-in roles, then those that the tenant has defined, oldest first.
    roles: Vec<RoleView>,
}

/// The fields of a role.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RoleBody)]
pub(crate) struct RoleBody {
    /// Unique in the tenant, ignoring case, and not the name of a built-in role.
    #[schema(value_type = values::RoleName)]
    name: String,
    #[schema(value_type = Option<String>, max_length = 200)]
    description: Option<String>,
    #[schema(value_type = Vec<values::PermissionName>, min_items = 1)]
    permissions: Vec<Permission>,
}

impl RoleBody {
    fn fields(self) -> RoleFields {
        let permissions = self.permissions.into_iter().collect();
        RoleFields { name: self.name, description: self.description, permissions }
    }
}

/// Returns the title of a built-in role, and what it is for.
pub(crate) fn built_in(role: &Role) -> (&'static str, &'static str) {
    match role {
        Role::Admin => ("Administrator", "Everything."),
        Role::Security => ("Security", "Policies and connections."),
        Role::Support => (
            "Support",
            "Resets passwords and factors, and ends sessions and tokens, of users with no more permissions.",
        ),
        Role::Auditor => ("Auditor", "The audit log, its proofs and exports."),
        Role::Developer => ("Developer", "Webhooks."),
        Role::Member | Role::Own(_) => ("Member", "The own account only."),
    }
}

impl RoleView {
    fn built_in(role: &Role) -> Self {
        let (name, description) = built_in(role);
        Self {
            id: role.to_string(),
            name: name.to_owned(),
            description: Some(description.to_owned()),
            permissions: role.built_in_permissions().unwrap_or_default().iter().collect(),
            built_in: true,
            created_at: None,
            updated_at: None,
        }
    }
}

impl From<OwnRole> for RoleView {
    fn from(role: OwnRole) -> Self {
        Self {
            id: role.id.to_string(),
            name: role.name,
            description: role.description,
            permissions: role.permissions.iter().collect(),
            built_in: false,
            created_at: Some(role.created_at),
            updated_at: Some(role.updated_at),
        }
    }
}

fn names(permissions: impl Iterator<Item = Permission>) -> Vec<String> {
    permissions.map(|permission| permission.to_string()).collect()
}

/// List roles
///
/// Users have one assigned role, and those that rules give them for groups. Their permissions add up.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Built-in roles, then the tenant's own.", body = RoleList))
)]
#[get("/api/settings/roles")]
pub(crate) async fn list_roles(call: Call<AnyRight>) -> Answer {
    let own = call.read(async |_: &Ctx, tx: &mut Tx| tx.roles().await).await?;
    let built_in = Role::BUILT_IN.iter().map(RoleView::built_in);
    Ok(answer(&RoleList { roles: built_in.chain(own.into_iter().map(RoleView::from)).collect() }))
}

/// Create a role
///
/// At most 50 in a tenant. Nobody gives a role permissions that they do not have. Requires a step-up
/// (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The role.", body = RoleView),
        (status = 400, description = "A field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "uniqueness: another role has this name. CONFLICT: the tenant has 50 roles."),
    )
)]
#[post("/api/settings/roles")]
pub(crate) async fn create_role(
    call: Call<InPerson<ManageRoles>>,
    proof: StepUp<UserAdminChange>,
    body: Json<RoleBody>,
) -> Answer {
    let (by, fields) = (call.caller().holder.roles.clone(), body.0.fields());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let role = directory::create_role(ctx, tx, &by, fields).await?;
        let data = RoleCreated { name: role.name.clone(), permissions: names(role.permissions.iter()) };
        let event = Event::new(role.id.as_str(), &data);
        Ok::<_, Problem>(Audited::new(role, event).with(consumed.events()?))
    };
    Ok(answer(&RoleView::from(call.write(work).await?)))
}

/// Replace a role
///
/// Users with the role have the new permissions from their next request on. Requires a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The role.", body = RoleView),
        (status = 400, description = "A field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "uniqueness: another role has this name."),
    )
)]
#[put("/api/settings/roles/{id}")]
pub(crate) async fn put_role(
    call: Call<InPerson<ManageRoles>>,
    proof: StepUp<UserAdminChange>,
    body: Json<RoleBody>,
) -> Answer {
    let id: RoleId = call.id()?;
    let (by, fields) = (call.caller().holder.roles.clone(), body.0.fields());
    let work = async move |ctx: &Ctx, tx: &mut Tx| change(ctx, tx, &proof, &by, (&id, fields)).await;
    Ok(answer(&RoleView::from(call.write(work).await?)))
}

async fn change(
    ctx: &Ctx,
    tx: &mut Tx,
    proof: &StepUp<UserAdminChange>,
    by: &HeldRoles,
    (id, fields): (&RoleId, RoleFields),
) -> Result<Audited<OwnRole>, Problem> {
    let consumed = proof.lock_and_consume(ctx, tx).await?;
    let (before, after) = directory::change_role(ctx, tx, by, id, fields).await?;
    let beyond = |one: Permissions, other: Permissions| {
        names(one.iter().filter(move |permission| !other.contains(*permission)))
    };
    let data = RoleUpdated {
        name: after.name.clone(),
        added: beyond(after.permissions, before.permissions),
        removed: beyond(before.permissions, after.permissions),
    };
    let audited = if after == before {
        Audited::without(after, Unaudited::NothingChanged)
    } else {
        let event = Event::new(id.as_str(), &data);
        Audited::new(after, event)
    };
    Ok(audited.with(consumed.events()?))
}

/// Delete a role
///
/// Only a role that no user and no rule has. Requires a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Deleted.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT with reason ROLE_USED: a user or a rule has the role."),
    )
)]
#[delete("/api/settings/roles/{id}")]
pub(crate) async fn delete_role(call: Call<InPerson<ManageRoles>>, proof: StepUp<UserAdminChange>) -> Answer {
    let id: RoleId = call.id()?;
    let by = call.caller().holder.roles.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let role = directory::delete_role(tx, &by, &id).await?;
        let event = Event::new(id.as_str(), &RoleDeleted { name: role.name });
        Ok::<_, Problem>(Audited::new((), event).with(consumed.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
