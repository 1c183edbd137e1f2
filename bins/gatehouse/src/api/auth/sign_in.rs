//! `POST /api/auth/sign-in` and `…/tenant`: e-mail and password, and which tenant.

use actix_web::{HttpResponse, post, web};
use audit::{Audited, Event, events::sign_in::SignInFailed};
use credentials::{Salt, SignInStore, TicketKind, TicketStore, Verdict, attempts};
use kernel::{Ctx, Email, Secret, TenantId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use sessions::{Method, SessionStore};
use store::{Account, Across, Tx};
use utoipa::ToSchema;

use super::{
    enter::{Device, Proved, SignInAnswer, Step, TenantName, start},
    ticket,
};
use crate::api::{Site, digest::sha256, openapi::values};
use gate::{
    access::Visitor,
    body::{Json, answer},
    errors::{Code, Problem},
    network,
    signing_in::hold,
};

/// E-mail and password.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SignInBody {
    /// The tenant's slug or id, where it is known.
    tenant: Option<String>,
    /// The sign-in address.
    #[schema(value_type = values::EmailAddress)]
    email: String,
    password: String,
}

/// A choice between tenants.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChoiceBody {
    ticket: String,
    /// The slug of one of the tenants that were offered.
    tenant: String,
}

/// What a ticket for a choice remembers.
#[derive(Serialize, Deserialize)]
struct Choice {
    slug: String,
    tenant: TenantId,
    user: UserId,
    /// SHA-256 of the password's hash that was compared with.
    verified: [u8; 32],
    /// The sign-in address that was given.
    #[serde(default)]
    email_key: String,
}

/// What a ticket for a choice is kept with.
#[derive(Serialize, Deserialize)]
struct Offer {
    /// When the password was compared.
    at: Timestamp,
    choices: Vec<Choice>,
}

/// 401: alike for an unknown address, a wrong password and a disabled account.
pub(crate) fn invalid_credentials() -> Problem {
    Problem::new(Code::InvalidCredentials, "the e-mail address or the password is wrong")
}

/// Sign in with e-mail and password
///
/// The answer says what comes next: `SIGNED_IN` with cookies, `MFA_REQUIRED`, `ENROLMENT_REQUIRED` with cookies
/// of a session that may do nothing but enrol a factor, or `TENANT_CHOICE`.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "How far it has come.", body = SignInAnswer),
        (status = 400, description = "A field is missing or malformed."),
        (status = 401, description = "INVALID_CREDENTIALS; with the right password ACCOUNT_DISABLED."),
        (status = 403, description = "CROSS_SITE; SSO_REQUIRED where the tenant takes identity providers alone; NETWORK_POLICY_BLOCKED from elsewhere."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in")]
pub(crate) async fn sign_in(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<SignInBody>,
) -> Result<HttpResponse, Problem> {
    let SignInBody { tenant, email, password } = body.0;
    let _turn = visitor.in_turn().await?;
    let password = Secret::new(password);
    let email: Email =
        email.trim().parse().map_err(|error| Problem::invalid_request(format!("email: {error}")))?;
    let (key, origin) = (email.key(), visitor.origin());
    let (salt, accounts) = visitor
        .across(async |across: &mut Across| {
            let tenant = match &tenant {
                None => None,
                Some(name) => match across.tenant_named(name).await? {
                    None => return Ok((None, Vec::new())),
                    Some(tenant) => Some(tenant.id),
                },
            };
            across.accounts(&key, tenant.as_ref(), &origin).await
        })
        .await?;
    let accounts = may_be_tried(&visitor, &key, accounts).await?;
    let stored = accounts.iter().map(Account::stored).collect();
    let verdicts = visitor.aside(site.auth.hashing.verify(password.clone(), salt, stored)).await??;
    let (mut fitting, mut wrong) = (Vec::new(), Vec::new());
    for (account, verdict) in accounts.into_iter().zip(verdicts) {
        match verdict {
            Verdict::Right { stale } => fitting.push((account, stale)),
            Verdict::Wrong => wrong.push(account),
        }
    }
    if fitting.is_empty() {
        // Which account was meant is not known. Where one fits, the others were not, and their tenants learn nothing.
        for account in &wrong {
            failed(&visitor, account, "WRONG_PASSWORD");
        }
    }
    let Some((first, _)) = fitting.first() else { return Err(invalid_credentials()) };
    let refusal = refusal(first);
    fitting.retain(|(account, _)| {
        let refused = self::refusal(account);
        if let Some((reason, _)) = &refused {
            failed(&visitor, account, reason);
        }
        refused.is_none()
    });
    let mut refusal = refusal.map(|(_, problem)| problem);
    let mut admitted = Vec::new();
    for (account, stale) in fitting {
        match visitor.admit(&site.pipeline, &account).await {
            Ok(None) => admitted.push((account, stale)),
            Ok(Some(blocked)) => refusal = Some(blocked),
            // Which tenants there are to choose from is not known.
            Err(problem) => return Err(problem),
        }
    }
    if admitted.len() > 1 {
        let accounts = admitted.into_iter().map(|(account, _)| account).collect();
        return offer(&visitor, &key, accounts).await;
    }
    let Some((account, stale)) = admitted.pop() else {
        return Err(refusal.unwrap_or_else(invalid_credentials));
    };
    let newer = if stale {
        let salt = salt_of(&visitor, &account.tenant, &account.holder.user, &key).await?;
        Some(visitor.aside(site.auth.hashing.hash(password, salt, account.tenant.clone())).await??)
    } else {
        None
    };
    let hash = verified(Some(&account.password));
    let user = account.holder.user;
    let compared = Compared { tenant: account.tenant, user, email_key: key, hash, chosen_of: None };
    go_on(&site, &visitor, compared, newer).await
}

/// The accounts whose passwords may be compared with, or 429. Client addresses that never signed an account in share a
/// limit for each sign-in address, and are refused at those accounts alone: no tenant closes another's.
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

/// The salt that passwords of this address have from now on.
pub(crate) async fn salt_of(
    visitor: &Visitor,
    tenant: &TenantId,
    user: &UserId,
    email_key: &str,
) -> Result<Salt, Problem> {
    let (key, new) = (email_key.to_owned(), Salt::random(visitor.env()));
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let salt = tx.password_salt(&key, new).await?;
        Ok::<_, Problem>(Audited::without(salt, audit::Unaudited::StepTaken))
    };
    visitor.write(tenant, user, work).await
}

/// What says that a password is still the one that was compared with.
fn verified(kept: Option<&str>) -> [u8; 32] {
    sha256(kept.unwrap_or_default().as_bytes())
}

/// Why the right password does not open this account.
fn refusal(account: &Account) -> Option<(&'static str, Problem)> {
    if !account.holder.active {
        return Some(("ACCOUNT_DISABLED", Problem::account_disabled()));
    }
    if account.holder.policy.requires_sso(account.holder.break_glass) {
        return Some(("SSO_REQUIRED", Problem::sso_required()));
    }
    None
}

fn failed(visitor: &Visitor, account: &Account, reason: &'static str) {
    let data = SignInFailed { reason, step: "PASSWORD" };
    visitor.enter(&account.tenant, &account.holder.user, Event::new(account.holder.user.as_str(), &data));
}

/// Asks in which tenant, of those that the password fits.
async fn offer(visitor: &Visitor, email_key: &str, accounts: Vec<Account>) -> Result<HttpResponse, Problem> {
    let Some(first) = accounts.first() else { return Err(invalid_credentials()) };
    let (tenant, user) = (first.tenant.clone(), first.holder.user.clone());
    let tenants = accounts
        .iter()
        .map(|account| TenantName { slug: account.slug.clone(), name: account.tenant_name.clone() })
        .collect();
    let choices: Vec<_> = accounts
        .into_iter()
        .map(|account| Choice {
            verified: verified(Some(&account.password)),
            slug: account.slug,
            tenant: account.tenant,
            user: account.holder.user,
            email_key: email_key.to_owned(),
        })
        .collect();
    let whose = user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let state = serde_json::to_value(Offer { at: ctx.now, choices }).map_err(Problem::unforeseen)?;
        let ticket = ticket::mint(ctx, tx, TicketKind::TenantChoice, &whose, state).await?;
        Ok::<_, Problem>(Audited::without(ticket, audit::Unaudited::StepTaken))
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
/// For an address whose password fits in several tenants.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "How far it has come.", body = SignInAnswer),
        (status = 400, description = "A field is missing, or the tenant was not offered."),
        (status = 401, description = "TICKET_INVALID."),
        (status = 403, description = "CROSS_SITE; NETWORK_POLICY_BLOCKED from elsewhere."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/tenant")]
pub(crate) async fn choose_tenant(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<ChoiceBody>,
) -> Result<HttpResponse, Problem> {
    let ChoiceBody { ticket, tenant } = body.0;
    let (holder, hash) = ticket::read(&ticket)?;
    visitor.attempt(attempts::other("ticket", &visitor.origin())).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let kept = ticket::live(ctx, tx, &hash, TicketKind::TenantChoice).await?;
        let Offer { at, choices } =
            serde_json::from_value(kept.state.clone()).map_err(Problem::unforeseen)?;
        let chosen = choices.into_iter().find(|choice| choice.slug == tenant);
        if chosen.is_some() {
            if !tx.take_ticket(&hash).await? {
                return Err(ticket::invalid());
            }
        } else {
            ticket::wrong(tx, kept).await?;
        }
        Ok::<_, Problem>(Audited::without(chosen.map(|choice| (choice, at)), audit::Unaudited::StepTaken))
    };
    let chosen = visitor.write_as_system(&holder, work).await?;
    let Some((choice, at)) = chosen else {
        return Err(Problem::invalid_request("tenant: choose one of those that were offered"));
    };
    let compared = Compared {
        tenant: choice.tenant,
        user: choice.user,
        email_key: choice.email_key,
        hash: choice.verified,
        chosen_of: Some(at),
    };
    go_on(&site, &visitor, compared, None).await
}

/// An account whose password was compared.
struct Compared {
    tenant: TenantId,
    user: UserId,
    /// The sign-in address that was given.
    email_key: String,
    /// SHA-256 of the password's hash that was compared with.
    hash: [u8; 32],
    /// When that was, where the tenant was chosen afterwards: no change of the account since then is signed in to.
    chosen_of: Option<Timestamp>,
}

/// Goes on in the tenant, with a newer hash of the password where today's cost is another.
async fn go_on(
    site: &web::Data<Site>,
    visitor: &Visitor,
    compared: Compared,
    newer: Option<String>,
) -> Result<HttpResponse, Problem> {
    let Compared { tenant, user, email_key, hash, chosen_of } = compared;
    let device = Device::of(site, visitor);
    let (place, whose) = (site.clone(), user.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        // Since the comparison the password or the address may have been changed, the person shut out, the way closed.
        let held = hold(tx, &whose).await?;
        if held.person.email.as_ref().map(Email::key).as_ref() != Some(&email_key) {
            return Err(invalid_credentials());
        }
        if verified(tx.password(&whose).await?.as_deref()) != hash {
            return Err(invalid_credentials());
        }
        if let Some(at) = chosen_of {
            let refused_until = tx.refused_until(&whose).await?;
            if held.person.updated_at > at || refused_until.is_some_and(|until| until > at) {
                return Err(ticket::invalid());
            }
        }
        if held.policy.requires_sso(held.person.break_glass) {
            return Err(Problem::sso_required());
        }
        network::admit_sign_in(ctx, tx, &held.person).await?;
        if let Some(newer) = newer {
            tx.set_password(&whose, &newer, ctx.now).await?;
        }
        let proved = Proved { methods: vec![Method::Password], ..Proved::default() };
        start(&place, ctx, tx, held, proved, &device).await
    };
    let step: Step = visitor.write(&tenant, &user, work).await?;
    step.answer(site, visitor, &tenant).await
}
