//! `/settings/roles`: the roles that users can have, and the rules that give them to groups.

use std::collections::HashMap;

use actix_web::{HttpResponse, get};
use askama::Template;
use directory::{
    HeldRoles, MAX_ROLES, MAX_RULES, OwnRole, Permission, Role, RoleRule, RoleRuleStore, RoleStore,
    RuleSource,
};
use kernel::{Ctx, GroupId};
use saml_sp::ProviderStore;
use scim_core::{GroupStore, Page as Slice, Query, Start};
use sign_in::sso::oidc::OidcStore;
use store::Tx;

use super::frame::{Administrator, PageFrame, draw};
use crate::api::{Answer, Call, built_in_role, query::query};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageRoles},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/roles";

/// Maximum number of groups that the form of a rule lists.
const GROUPS: u32 = 200;

#[derive(Template)]
#[template(path = "roles.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    roles: Vec<RoleRow>,
    may_add_role: bool,
    permissions: Vec<PermissionChoice>,
    rules: Vec<RuleRow>,
    may_add_rule: bool,
    /// The roles that a rule may give.
    choices: Vec<RoleChoice>,
    groups: Vec<Named>,
    /// Whether the tenant has more groups than `groups` lists.
    has_more_groups: bool,
    connections: Vec<Named>,
}

/// A role in the list.
struct RoleRow {
    id: String,
    title: String,
    about: Option<String>,
    permissions: Vec<&'static str>,
    is_built_in: bool,
}

/// A rule in the list.
struct RuleRow {
    id: String,
    /// The group, with its connection if it is not one of SCIM.
    whom: String,
    /// Whether the group or the connection is gone.
    is_dangling: bool,
    title: String,
    role: String,
    group: String,
    provider: String,
    value: String,
}

/// A permission that a role may have.
struct PermissionChoice {
    name: &'static str,
    what: &'static str,
}

/// Something with an ID and a name.
struct Named {
    id: String,
    name: String,
}

/// A role that somebody may assign.
pub(super) struct RoleChoice {
    /// The name of a built-in role, or `role_…`.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) about: Option<String>,
}

impl RoleChoice {
    fn of(role: &Role) -> Self {
        let (title, about) = built_in_role(role);
        Self { id: role.to_string(), title: title.to_owned(), about: Some(about.to_owned()) }
    }

    /// The role without permissions for the settings.
    pub(super) fn member() -> Self {
        Self::of(&Role::Member)
    }
}

/// Returns the name of a role.
pub(super) fn title_of(role: &Role, own: &[OwnRole]) -> String {
    match role {
        Role::Own(id) => {
            let own = own.iter().find(|role| role.id == *id);
            own.map_or_else(|| id.to_string(), |role| role.name.clone())
        }
        role => built_in_role(role).0.to_owned(),
    }
}

/// Returns the roles besides MEMBER that somebody with these roles may assign.
pub(super) fn role_choices(by: &HeldRoles, own: &[OwnRole]) -> Vec<RoleChoice> {
    if !by.permissions.contains(Permission::ManageRoles) {
        return Vec::new();
    }
    let may = |role: &&Role| {
        let permissions = role.built_in_permissions().unwrap_or_default();
        by.permissions.covers(permissions) && (**role != Role::Admin || by.is_admin())
    };
    let built_in =
        Role::BUILT_IN.iter().filter(|role| **role != Role::Member).filter(may).map(RoleChoice::of);
    let own = own.iter().filter(|role| by.permissions.covers(role.permissions)).map(|role| RoleChoice {
        id: role.id.to_string(),
        title: role.name.clone(),
        about: role.description.clone(),
    });
    built_in.chain(own).collect()
}

/// Returns what a permission is for.
fn what(permission: Permission) -> &'static str {
    match permission {
        Permission::ManageTenant => "Rename the organization",
        Permission::ManageRoles => "Define roles, assign them, and give them to groups",
        Permission::ManageUsers => "Invite, change and delete users; includes the next two",
        Permission::SupportUsers => {
            "Reset passwords and factors, end sessions and tokens; includes the next one"
        }
        Permission::ReadUsers => "See users and groups",
        Permission::ManagePolicies => "Sign-in, network and authenticator policies",
        Permission::ManageConnections => "SSO connections, domains and SCIM tokens",
        Permission::ReadAudit => "The audit log, its proofs and exports",
        Permission::ManageWebhooks => "Webhooks and their deliveries",
    }
}

/// Data that the page reads in one transaction.
struct Found {
    roles: Vec<OwnRole>,
    rules: Vec<RoleRule>,
    groups: Vec<Named>,
    has_more_groups: bool,
    connections: Vec<Named>,
}

/// Renders the roles and rules.
#[get("/settings/roles")]
pub(crate) async fn roles(call: Call<InPerson<ManageRoles>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManageRoles>>) -> Answer {
    // The page Groups leads here with a group, which may not be one of the oldest.
    let wanted: Option<GroupId> = query(&call.request, "group").and_then(|id| id.parse().ok());
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| read(tx, wanted).await).await?;
    let administrator = Administrator::load(call).await?;
    let by = &call.caller().holder.roles;
    let built_in = Role::BUILT_IN.iter().map(RoleRow::built_in);
    let rules = found.rules();
    draw(&Page {
        shell: administrator.shell(&call.site, "Roles", "roles.js", PATH),
        roles: built_in.chain(found.roles.iter().map(RoleRow::own)).collect(),
        may_add_role: found.roles.len() < MAX_ROLES,
        permissions: by
            .permissions
            .iter()
            .map(|permission| PermissionChoice { name: permission.as_str(), what: what(permission) })
            .collect(),
        may_add_rule: found.rules.len() < MAX_RULES,
        rules,
        choices: role_choices(by, &found.roles),
        groups: found.groups,
        has_more_groups: found.has_more_groups,
        connections: found.connections,
    })
}

async fn read(tx: &mut Tx, wanted: Option<GroupId>) -> Result<Found, Problem> {
    let page = Slice { start: Start::First, count: GROUPS };
    let groups = tx.find_groups(&Query { page, ..Query::default() }).await?;
    let name = |id: String, name: String| Named { id, name };
    let mut listed: Vec<_> =
        groups.resources.into_iter().map(|group| name(group.id.to_string(), group.display_name)).collect();
    let rules = tx.role_rules().await?;
    let of_rules = rules.iter().filter_map(|rule| match &rule.source {
        RuleSource::Group(id) => Some(id.clone()),
        RuleSource::Claim { .. } => None,
    });
    for id in of_rules.chain(wanted) {
        if listed.iter().all(|group| group.id != id.as_str())
            && let Some(group) = tx.group(&id).await?
        {
            listed.push(name(id.to_string(), group.display_name));
        }
    }
    listed.sort_by_cached_key(|group| group.name.to_lowercase());
    let saml = tx.providers().await?.into_iter().map(|provider| name(provider.id.to_string(), provider.name));
    let mut connections: Vec<_> = saml.collect();
    let oidc = tx.oidc_providers().await?.into_iter();
    connections.extend(oidc.map(|provider| name(provider.id.to_string(), provider.name)));
    let own = tx.roles().await?;
    Ok(Found { roles: own, rules, groups: listed, has_more_groups: groups.more, connections })
}

impl Found {
    fn rules(&self) -> Vec<RuleRow> {
        let names: HashMap<_, _> = self
            .groups
            .iter()
            .chain(&self.connections)
            .map(|one| (one.id.as_str(), one.name.as_str()))
            .collect();
        self.rules.iter().map(|rule| RuleRow::of(rule, &names, &self.roles)).collect()
    }
}

impl RuleRow {
    fn of(rule: &RoleRule, names: &HashMap<&str, &str>, own: &[OwnRole]) -> Self {
        let (group, provider, value) = match &rule.source {
            RuleSource::Group(group) => (group.to_string(), String::new(), String::new()),
            RuleSource::Claim { provider, value } => (String::new(), provider.clone(), value.clone()),
        };
        let known = names.get(if group.is_empty() { provider.as_str() } else { group.as_str() });
        let name = known.copied().unwrap_or("a connection that was removed");
        Self {
            id: rule.id.to_string(),
            whom: if group.is_empty() { format!("{value} ({name})") } else { name.to_owned() },
            is_dangling: known.is_none(),
            title: title_of(&rule.role, own),
            role: rule.role.to_string(),
            group,
            provider,
            value,
        }
    }
}

impl RoleRow {
    fn built_in(role: &Role) -> Self {
        let RoleChoice { id, title, about } = RoleChoice::of(role);
        let permissions = role.built_in_permissions().unwrap_or_default();
        let permissions = permissions.iter().map(Permission::as_str).collect();
        Self { id, title, about, permissions, is_built_in: true }
    }

    fn own(role: &OwnRole) -> Self {
        Self {
            id: role.id.to_string(),
            title: role.name.clone(),
            about: role.description.clone(),
            permissions: role.permissions.iter().map(Permission::as_str).collect(),
            is_built_in: false,
        }
    }
}
