//! `POST /api/auth/sign-in`: email and password.

use actix_web::{post, web};
use audit::{Audited, Event, events::sign_in::SignInFailed};
use credentials::{Salt, SignInStore, attempts};
use kernel::{Ctx, Email, Secret, TenantId};
use serde::Deserialize;
use sign_in::password::{AccountState, PasswordProof, compare};
use store::{Account, Across, Tx};
use utoipa::ToSchema;

use super::{
    answer::SignInAnswer,
    tenant::{fitting, go_on, offer},
};
use crate::api::{Answer, Site, openapi::values};
use gate::{access::Visitor, body::Json, errors::Problem};

/// Email and password.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SignInBody {
    /// Slug or ID of the tenant, if known.
    tenant: Option<String>,
    /// Email address of the user.
    #[schema(value_type = values::EmailAddress)]
    email: String,
    password: String,
}

/// Sign in with email and password
///
/// `status` names the next step: `SIGNED_IN` sets session cookies; `MFA_REQUIRED` asks for a second factor;
/// `ENROLMENT_REQUIRED` sets cookies of a session that can only enrol a factor; `TENANT_CHOICE` asks for a tenant.
#[utoipa::path(
    operation_id = "sign_in",
    security(()),
    responses(
        (status = 200, description = "The state of the sign-in.", body = SignInAnswer),
        (status = 400, description = "A field is missing or malformed."),
        (status = 401, description = "INVALID_CREDENTIALS, or ACCOUNT_DISABLED if the password is correct."),
        (status = 403, description = "CROSS_SITE; SSO_REQUIRED if the tenant requires single sign-on; NETWORK_POLICY_BLOCKED if the network policy blocks the address."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in")]
pub(crate) async fn sign_in_with_password(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<SignInBody>,
) -> Answer {
    let SignInBody { tenant, email, password } = body.0;
    let _turn = visitor.in_turn().await?;
    let password = Secret::new(password);
    let email: Email =
        email.trim().parse().map_err(|error| Problem::invalid_request(format!("email: {error}")))?;
    let key = email.key();
    let (salt, accounts) = accounts_of(&visitor, &key, tenant).await?;
    let accounts = may_be_tried(&visitor, &key, accounts).await?;
    let stored = accounts.iter().map(Account::stored).collect();
    let verdicts = visitor.without_slot(site.auth.hashing.verify(password.clone(), salt, stored)).await??;
    let compared = compare(accounts, &verdicts, state_of);
    for (account, reason) in &compared.failed {
        record_failure(&visitor, account, reason);
    }
    let mut admitted = admitted(&site, &visitor, compared.open, compared.refusal.into()).await?;
    if admitted.len() > 1 {
        let accounts = admitted.iter().map(|(account, _)| account).collect();
        return offer(&visitor, &key, accounts).await;
    }
    let Some((account, is_stale)) = admitted.pop() else { return Err(Problem::internal()) };
    let newer_hash =
        if is_stale { Some(hash_anew(&site, &visitor, &account, &key, password).await?) } else { None };
    go_on(&site, &visitor, PasswordProof { account: fitting(&account, &key), chosen_of: None, newer_hash })
        .await
}

/// Returns the salt of a sign-in address and its accounts, in the named tenant or in all tenants.
async fn accounts_of(
    visitor: &Visitor,
    email_key: &str,
    tenant: Option<String>,
) -> Result<(Option<Salt>, Vec<Account>), Problem> {
    let origin = visitor.origin();
    let look = async |across: &mut Across| {
        let tenant = match &tenant {
            None => None,
            Some(name) => match across.tenant_named(name).await? {
                None => return Ok((None, Vec::new())),
                Some(tenant) => Some(tenant.id),
            },
        };
        across.accounts(email_key, tenant.as_ref(), &origin).await
    };
    Ok(visitor.across(look).await?)
}

/// Returns the accounts whose password may be checked, or fails with 429.
/// Client addresses that never signed an account in share one limit per sign-in address. Beyond it, they are refused
/// only at those accounts, so attempts in one tenant do not block users of another.
async fn may_be_tried(
    visitor: &Visitor,
    email_key: &str,
    mut accounts: Vec<Account>,
) -> Result<Vec<Account>, Problem> {
    let limits = attempts::password(email_key, &visitor.origin());
    let by_strangers = attempts::password_by_strangers(email_key);
    if !accounts.iter().any(|account| account.known_origin) {
        visitor.attempt([limits, by_strangers].concat()).await?;
    } else if !accounts.iter().all(|account| account.known_origin) {
        if !visitor.attempt_some(limits, by_strangers).await? {
            accounts.retain(|account| account.known_origin);
        }
    } else {
        visitor.attempt(limits).await?;
    }
    Ok(accounts)
}

/// Returns the accounts that their tenant's network policy admits. If none is admitted, fails with the policy's
/// error, or with `refusal` if there were no accounts.
async fn admitted(
    site: &Site,
    visitor: &Visitor,
    open: Vec<(Account, bool)>,
    mut refusal: Problem,
) -> Result<Vec<(Account, bool)>, Problem> {
    let mut admitted = Vec::new();
    for (account, is_stale) in open {
        match visitor.admit(&site.pipeline, &account).await {
            Ok(None) => admitted.push((account, is_stale)),
            Ok(Some(blocked)) => refusal = blocked,
            // Fail entirely: the list of tenants to choose from would be incomplete.
            Err(problem) => return Err(problem),
        }
    }
    if admitted.is_empty() { Err(refusal) } else { Ok(admitted) }
}

/// Hashes the password again at the current cost.
async fn hash_anew(
    site: &Site,
    visitor: &Visitor,
    account: &Account,
    email_key: &str,
    password: Secret<String>,
) -> Result<String, Problem> {
    let salt = salt_of(visitor, &account.tenant, email_key).await?;
    visitor.without_slot(site.auth.hashing.hash(password, salt, account.tenant.clone())).await?
}

/// Returns the salt for new password hashes of this sign-in address.
pub(crate) async fn salt_of(visitor: &Visitor, tenant: &TenantId, email_key: &str) -> Result<Salt, Problem> {
    let (key, new) = (email_key.to_owned(), Salt::random(visitor.env()));
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let salt = tx.password_salt(&key, new).await?;
        Ok::<_, Problem>(Audited::without(salt, audit::Unaudited::StepTaken))
    };
    visitor.write_as_system(tenant, work).await
}

fn state_of(account: &Account) -> AccountState {
    let holder = &account.holder;
    AccountState { active: holder.active, requires_sso: holder.policy.requires_sso(holder.break_glass) }
}

fn record_failure(visitor: &Visitor, account: &Account, reason: &'static str) {
    let data = SignInFailed { reason, step: "PASSWORD" };
    visitor.record_in_background(
        &account.tenant,
        &account.holder.user,
        Event::new(account.holder.user.as_str(), &data),
    );
}
