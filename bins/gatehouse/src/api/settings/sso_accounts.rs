//! `/api/settings/sso-connections/{id}/accounts`: what sign-ins through an SSO connection do with accounts.

use actix_web::{get, put};
use directory::{ConnectionAccountStore, ConnectionAccounts, Role, UserCreation};
use kernel::Ctx;
use saml_sp::{Protocol, ProviderId, ProviderStore};
use serde::{Deserialize, Serialize};
use sign_in::sso::{change_accounts, oidc::OidcStore};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    step_up::{SsoProviderChange, StepUp},
};

/// What sign-ins through an SSO connection do with accounts. A request has both members, null or not.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = SsoAccounts)]
pub(crate) struct Accounts {
    /// Claim or attribute with the groups of a user, for which rules give roles. Null: sign-ins name no groups.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required, value_type = Option<values::TrimmedWord>)]
    pub(crate) groups_claim: Option<String>,
    /// What the first sign-in of a user without an account creates. Null: it is refused with `NOT_PROVISIONED`.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub(crate) create_users: Option<CreateUsers>,
}

/// The user that a first sign-in creates.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = SsoUserCreation)]
pub(crate) struct CreateUsers {
    /// The assigned role. Another one than MEMBER requires the permission `manage:roles`.
    #[schema(value_type = values::UserRole)]
    pub(crate) role: Role,
    /// Domains of the connection whose users are created; empty for all.
    #[schema(max_items = 100)]
    email_domains: Vec<String>,
}

impl From<ConnectionAccounts> for Accounts {
    fn from(accounts: ConnectionAccounts) -> Self {
        let create_users =
            accounts.creation.map(|UserCreation { role, email_domains }| CreateUsers { role, email_domains });
        Self { groups_claim: accounts.groups_claim, create_users }
    }
}

impl From<Accounts> for ConnectionAccounts {
    fn from(accounts: Accounts) -> Self {
        let creation = accounts.create_users.map(|CreateUsers { role, email_domains }| UserCreation {
            role,
            email_domains: email_domains.iter().map(|domain| domain.to_lowercase()).collect(),
        });
        Self { groups_claim: accounts.groups_claim, creation }
    }
}

/// Returns the email domains of a connection, and locks it in a unit of work that writes.
async fn domains_of(tx: &mut Tx, id: &ProviderId) -> Result<Vec<String>, Problem> {
    let domains = match id.protocol() {
        Protocol::Saml => tx.provider(id).await?.map(|provider| provider.email_domains),
        Protocol::Oidc => tx.oidc_provider(id).await?.map(|provider| provider.email_domains),
    };
    Ok(domains.ok_or_else(Problem::not_found)?.iter().map(ToString::to_string).collect())
}

/// Get how an SSO connection treats accounts
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The settings.", body = Accounts),
    )
)]
#[get("/api/settings/sso-connections/{id}/accounts")]
pub(crate) async fn get_sso_accounts(call: Call<ManageConnections>) -> Answer {
    let id: ProviderId = call.id()?;
    let find = async move |_: &Ctx, tx: &mut Tx| {
        domains_of(tx, &id).await?;
        Ok::<_, Problem>(tx.connection_accounts(id.as_str()).await?)
    };
    Ok(answer(&Accounts::from(call.read(find).await?)))
}

/// Replace how an SSO connection treats accounts
///
/// If another claim names the groups, users lose the roles that rules give for the groups of earlier sign-ins, until they
/// sign in again. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The settings.", body = Accounts),
        (status = 400, description = "A field is malformed, a domain is not one of the connection, or the tenant has no such role."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[put("/api/settings/sso-connections/{id}/accounts")]
pub(crate) async fn put_sso_accounts(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
    body: Json<Accounts>,
) -> Answer {
    let id: ProviderId = call.id()?;
    let by = call.caller().holder.roles.clone();
    let accounts = ConnectionAccounts::from(body.0);
    if accounts.creation.as_ref().is_some_and(|creation| creation.role != Role::Member) {
        gate::permissions::require_right(&by, directory::Permission::ManageRoles)?;
    }
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let domains = domains_of(tx, &id).await?;
        accounts.check(tx, &by, &domains).await?;
        Ok::<_, Problem>(change_accounts(ctx, tx, &id, accounts).await?.with(consumed.events()?))
    };
    Ok(answer(&Accounts::from(call.write_large(work).await?)))
}
