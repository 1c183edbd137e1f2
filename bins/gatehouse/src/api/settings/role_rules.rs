//! `/api/settings/role-rules`: rules that give roles to groups.

use actix_web::{delete, get, post, put};
use audit::{
    Audited, Event, Unaudited,
    events::roles::{RoleRuleCreated, RoleRuleDeleted, RoleRuleReplaced},
};
use directory::{Affected, HeldRoles, Role, RoleRule, RoleRuleId, RoleRuleStore, RuleEffect, RuleSource};
use kernel::{Ctx, GroupId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, me::factors::Deleted, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{InPerson, ManageRoles},
    step_up::{StepUp, UserAdminChange},
};

/// A rule. It gives its role to the members of a SCIM group, or to the users whose sign-in names a group.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RoleRule)]
pub(crate) struct RuleView {
    /// `rrl_…`
    id: String,
    /// The role that the rule gives: the name of a built-in one, or `role_…`.
    #[schema(value_type = values::UserRole)]
    role: Role,
    /// ID of a SCIM group, `grp_…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    group_id: Option<String>,
    /// ID of an SSO connection, `sso_…` or `oidc_…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    provider_id: Option<String>,
    /// The group as the identity provider names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    value: Option<String>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
}

/// The rules of the tenant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleRuleList {
    /// Oldest first.
    role_rules: Vec<RuleView>,
}

/// A rule: either `groupId`, or `providerId` and `value`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RoleRuleBody)]
pub(crate) struct RuleBody {
    /// The role that the rule gives: the name of a built-in one except MEMBER, or `role_…`.
    #[schema(value_type = values::UserRole)]
    role: Role,
    /// ID of a SCIM group, `grp_…`.
    group_id: Option<String>,
    /// ID of an SSO connection, `sso_…` or `oidc_…`. Its setting `groupsClaim` names the claim or attribute with
    /// the groups of a user.
    provider_id: Option<String>,
    /// The group as the identity provider names it, compared exactly.
    #[schema(max_length = 256)]
    value: Option<String>,
}

/// A change of the rules to preview.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RoleRulePreviewBody)]
pub(crate) struct PreviewBody {
    /// The rule to add.
    rule: Option<RuleBody>,
    /// ID of the rule to remove, `rrl_…`.
    replaces: Option<String>,
}

/// Who would gain a role, and who would lose one.
#[derive(Serialize, ToSchema)]
#[schema(as = RoleRuleEffect)]
pub(crate) struct EffectView {
    gain: AffectedView,
    lose: AffectedView,
}

/// Users whose roles would change.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AffectedUsers)]
struct AffectedView {
    /// Their number.
    count: u64,
    /// At most 200 of them.
    users: Vec<AffectedUser>,
}

/// A user whose roles would change.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AffectedUser {
    /// `usr_…`
    id: String,
    user_name: String,
    #[schema(required)]
    display_name: Option<String>,
}

impl From<RoleRule> for RuleView {
    fn from(rule: RoleRule) -> Self {
        let (group_id, provider_id, value) = match rule.source {
            RuleSource::Group(group) => (Some(group.to_string()), None, None),
            RuleSource::Claim { provider, value } => (None, Some(provider), Some(value)),
        };
        let (id, role, created_at) = (rule.id.to_string(), rule.role, rule.created_at);
        Self { id, role, group_id, provider_id, value, created_at }
    }
}

impl RuleBody {
    fn read(self) -> Result<(RuleSource, Role), Problem> {
        let source = match (self.group_id, self.provider_id, self.value) {
            (Some(group), None, None) => {
                let group: Result<GroupId, _> = group.parse();
                RuleSource::Group(
                    group.map_err(|error| Problem::invalid_request(format!("groupId: {error}")))?,
                )
            }
            (None, Some(provider), Some(value)) => RuleSource::Claim { provider, value },
            _ => return Err(Problem::invalid_request("groupId: write groupId, or providerId and value")),
        };
        Ok((source, self.role))
    }
}

/// Returns the source of a rule as a text for the audit log.
fn source_text(source: &RuleSource) -> String {
    match source {
        RuleSource::Group(group) => group.to_string(),
        RuleSource::Claim { provider, value } => format!("{provider} {value}"),
    }
}

fn texts(users: &[UserId]) -> impl Iterator<Item = String> {
    users.iter().map(UserId::to_string)
}

/// List the rules that give roles to groups
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All rules, oldest first.", body = RoleRuleList))
)]
#[get("/api/settings/role-rules")]
pub(crate) async fn list_role_rules(call: Call<ManageRoles>) -> Answer {
    let rules = call.read(async |_: &Ctx, tx: &mut Tx| tx.role_rules().await).await?;
    Ok(answer(&RoleRuleList { role_rules: rules.into_iter().map(RuleView::from).collect() }))
}

/// Preview a rule
///
/// Returns who would gain and who would lose a role if `rule` were added and the rule `replaces` removed. Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The users whose roles would change.", body = EffectView),
        (status = 400, description = "A field is malformed, or the tenant has no such group, connection or role."),
        (status = 404, description = "The tenant has no rule with the ID in `replaces`."),
    )
)]
#[post("/api/settings/role-rules/preview")]
pub(crate) async fn preview_role_rule(call: Call<ManageRoles>, body: Json<PreviewBody>) -> Answer {
    let PreviewBody { rule, replaces } = body.0;
    let rule = rule.map(RuleBody::read).transpose()?;
    let replaces =
        replaces.map(|id| id.parse::<RoleRuleId>().map_err(|_| Problem::not_found())).transpose()?;
    let by = call.caller().roles().clone();
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let effect = directory::preview_rule(tx, &by, rule, replaces.as_ref()).await?;
        Ok::<_, Problem>(EffectView {
            gain: shown(tx, effect.gain).await?,
            lose: shown(tx, effect.lose).await?,
        })
    };
    Ok(answer(&call.scan(work).await?))
}

/// Adds the names of users.
async fn shown(tx: &mut Tx, affected: Affected) -> Result<AffectedView, Problem> {
    let people = tx.people_of(&affected.first).await?.into_iter();
    let users = people.map(|person| AffectedUser {
        id: person.id.to_string(),
        user_name: person.user_name,
        display_name: person.display_name,
    });
    Ok(AffectedView { count: affected.count, users: users.collect() })
}

/// Create a rule
///
/// In force from the next request of each user on. A rule adds a role and never takes one away that was assigned. At
/// most 200 in a tenant. Requires a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The rule.", body = RuleView),
        (status = 400, description = "A field is malformed, or the tenant has no such group, connection or role."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "uniqueness: there is a rule for the same group and role. CONFLICT: the tenant has 200 rules."),
    )
)]
#[post("/api/settings/role-rules")]
pub(crate) async fn create_role_rule(
    call: Call<InPerson<ManageRoles>>,
    proof: StepUp<UserAdminChange>,
    body: Json<RuleBody>,
) -> Answer {
    let (by, (source, role)) = (call.caller().holder.roles.clone(), body.0.read()?);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let (rule, effect) = directory::create_rule(ctx, tx, &by, source, role).await?;
        let event = Event::new(
            rule.id.as_str(),
            &RoleRuleCreated {
                role: rule.role.to_string(),
                source: source_text(&rule.source),
                gained: effect.gain.count,
                users: texts(&effect.gain.first).collect(),
            },
        );
        Ok::<_, Problem>(Audited::new(rule, event).with(consumed.events()?))
    };
    Ok(answer(&RuleView::from(call.write_large(work).await?)))
}

/// Replace a rule
///
/// Requires a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The rule.", body = RuleView),
        (status = 400, description = "A field is malformed, or the tenant has no such group, connection or role."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "uniqueness: there is a rule for the same group and role."),
    )
)]
#[put("/api/settings/role-rules/{id}")]
pub(crate) async fn put_role_rule(
    call: Call<InPerson<ManageRoles>>,
    proof: StepUp<UserAdminChange>,
    body: Json<RuleBody>,
) -> Answer {
    let id: RoleRuleId = call.id()?;
    let (by, wanted) = (call.caller().holder.roles.clone(), body.0.read()?);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        Ok::<_, Problem>(replace(ctx, tx, &by, &id, wanted).await?.with(consumed.events()?))
    };
    Ok(answer(&RuleView::from(call.write_large(work).await?)))
}

async fn replace(
    ctx: &Ctx,
    tx: &mut Tx,
    by: &HeldRoles,
    id: &RoleRuleId,
    wanted: (RuleSource, Role),
) -> Result<Audited<RoleRule>, Problem> {
    let (before, after, effect) = directory::replace_rule(ctx, tx, by, id, wanted).await?;
    if after == before {
        return Ok(Audited::without(after, Unaudited::NothingChanged));
    }
    let RuleEffect { gain, lose } = effect;
    let data = RoleRuleReplaced {
        old_role: before.role.to_string(),
        old_source: source_text(&before.source),
        role: after.role.to_string(),
        source: source_text(&after.source),
        gained: gain.count,
        lost: lose.count,
        users: texts(&gain.first).chain(texts(&lose.first)).collect(),
    };
    let event = Event::new(id.as_str(), &data);
    Ok(Audited::new(after, event))
}

/// Delete a rule
///
/// Users who do not have its role otherwise lose it at once. Requires a step-up (`USER_ADMIN_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Deleted.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[delete("/api/settings/role-rules/{id}")]
pub(crate) async fn delete_role_rule(
    call: Call<InPerson<ManageRoles>>,
    proof: StepUp<UserAdminChange>,
) -> Answer {
    let id: RoleRuleId = call.id()?;
    let by = call.caller().holder.roles.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let (rule, effect) = directory::delete_rule(ctx, tx, &by, &id).await?;
        let event = Event::new(
            id.as_str(),
            &RoleRuleDeleted {
                role: rule.role.to_string(),
                source: source_text(&rule.source),
                lost: effect.lose.count,
                users: texts(&effect.lose.first).collect(),
            },
        );
        Ok::<_, Problem>(Audited::new((), event).with(consumed.events()?))
    };
    call.write_large(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
