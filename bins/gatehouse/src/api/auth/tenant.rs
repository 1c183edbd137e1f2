//! `POST /api/auth/sign-in/tenant`: chooses the tenant and continues the sign-in.

use actix_web::{post, web};
use credentials::attempts;
use kernel::Ctx;
use serde::Deserialize;
use sign_in::{
    password::{
        ChosenTenant, FittingAccount, PasswordProof, choose_tenant as choose, offer_tenants, password_digest,
    },
    ticket,
};
use store::{Account, Tx};
use utoipa::ToSchema;

use super::answer::{SignInAnswer, TenantName, device_of, respond_to};
use crate::api::{Answer, Site};
use gate::{
    access::Visitor,
    body::{Json, answer},
    errors::Problem,
};

/// A choice between tenants.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChoiceBody {
    ticket: String,
    /// Slug of one of the offered tenants.
    tenant: String,
}

/// Converts an account into the form that the next step stores.
pub(super) fn fitting(account: &Account, email_key: &str) -> FittingAccount {
    FittingAccount {
        slug: account.slug.clone(),
        tenant: account.tenant.clone(),
        user: account.holder.user.clone(),
        verified: password_digest(Some(&account.password)),
        email_key: email_key.to_owned(),
    }
}

/// Offers a choice between the tenants in which the password matches.
pub(super) async fn offer(visitor: &Visitor, email_key: &str, accounts: Vec<&Account>) -> Answer {
    let Some(first) = accounts.first() else { return Err(Problem::internal()) };
    let (tenant, user) = (first.tenant.clone(), first.holder.user.clone());
    let name =
        |account: &&Account| TenantName { slug: account.slug.clone(), name: account.tenant_name.clone() };
    let tenants = accounts.iter().map(name).collect();
    let choices = accounts.iter().map(|account| fitting(account, email_key)).collect();
    let whose = user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        offer_tenants(ctx, tx, &whose, choices).await.map_err(Problem::from)
    };
    let ticket = visitor.write(&tenant, &user, work).await?;
    Ok(answer(&SignInAnswer {
        status: "TENANT_CHOICE",
        ticket: Some(ticket.0),
        tenants: Some(tenants),
        ..SignInAnswer::default()
    }))
}

/// Choose a tenant
///
/// Continues a sign-in whose email address and password match users of several tenants.
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "The state of the sign-in.", body = SignInAnswer),
        (status = 400, description = "A field is missing, or the tenant was not among the choices."),
        (status = 401, description = "TICKET_INVALID."),
        (status = 403, description = "CROSS_SITE; NETWORK_POLICY_BLOCKED if the network policy blocks the address."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/tenant")]
pub(crate) async fn choose_tenant(site: web::Data<Site>, visitor: Visitor, body: Json<ChoiceBody>) -> Answer {
    let ChoiceBody { ticket, tenant } = body.0;
    let (holder, hash) = ticket::parse(&ticket)?;
    visitor.attempt(attempts::other("ticket", &visitor.origin())).await?;
    let work =
        async move |ctx: &Ctx, tx: &mut Tx| choose(ctx, tx, &hash, &tenant).await.map_err(Problem::from);
    let chosen = visitor.write_as_system(&holder, work).await?;
    let Some(ChosenTenant { account, compared_at }) = chosen else {
        return Err(Problem::invalid_request("tenant: choose one of the tenants in the previous response"));
    };
    go_on(&site, &visitor, PasswordProof { account, chosen_of: Some(compared_at), newer_hash: None }).await
}

/// Continues the sign-in in the tenant of the account.
pub(super) async fn go_on(site: &web::Data<Site>, visitor: &Visitor, proof: PasswordProof) -> Answer {
    let (tenant, user) = (proof.account.tenant.clone(), proof.account.user.clone());
    let (place, device) = (site.clone(), device_of(site, visitor));
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        sign_in::with_password(ctx, tx, &place.verifiers(), proof, &device).await.map_err(Problem::from)
    };
    let outcome = visitor.write(&tenant, &user, work).await?;
    respond_to(site, visitor, &tenant, outcome).await
}
