//! The page on which administrators set what sign-ins through an SSO connection do with accounts.

use askama::Template;
use directory::{ConnectionAccountStore, Permission, RoleStore};
use kernel::Ctx;
use saml_sp::{Protocol, ProviderId};
use store::Tx;

use super::super::{
    frame::{PageFrame, draw},
    roles::{RoleChoice, role_choices, title_of},
};
use crate::api::{Answer, Call, SsoAccounts};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
};

#[derive(Template)]
#[template(path = "sso_accounts.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    entity_id: &'a str,
    is_oidc: bool,
    accounts: SsoAccounts,
    /// Domains whose users are created, one per line.
    domains: String,
    /// The roles that a new user may get.
    roles: Vec<RoleChoice>,
    /// The present role of new users, if the viewer may not assign it.
    kept_role: Option<RoleChoice>,
    may_manage_roles: bool,
}

/// Renders the page of a connection with this entity ID or issuer.
pub(super) async fn draw_accounts(
    call: &Call<InPerson<ManageConnections>>,
    (id, entity_id): (&ProviderId, &str),
    shell: PageFrame<'_>,
) -> Answer {
    let provider = id.clone();
    let find = async move |_: &Ctx, tx: &mut Tx| {
        Ok::<_, Problem>((tx.connection_accounts(provider.as_str()).await?, tx.roles().await?))
    };
    let (accounts, own_roles) = call.read(find).await?;
    let by = &call.caller().holder.roles;
    let mut roles = vec![RoleChoice::member()];
    roles.extend(role_choices(by, &own_roles));
    let role = accounts.creation.as_ref().map(|creation| creation.role.clone());
    let kept_role = role
        .filter(|role| roles.iter().all(|choice| choice.id != role.as_str()))
        .map(|role| RoleChoice { id: role.to_string(), title: title_of(&role, &own_roles), about: None });
    let domains = accounts.creation.as_ref().map(|creation| creation.email_domains.join("\n"));
    draw(&Page {
        shell,
        id: id.as_str(),
        entity_id,
        is_oidc: id.protocol() == Protocol::Oidc,
        accounts: accounts.into(),
        domains: domains.unwrap_or_default(),
        roles,
        kept_role,
        may_manage_roles: by.permissions.contains(Permission::ManageRoles),
    })
}
