//! `/api/me/factors`: what there is, its names, and what goes.

use actix_web::{HttpResponse, delete, get, patch, web};
use audit::{Audited, Event, Unaudited, events::credentials::FactorRenamed};
use credentials::{Factor, FactorId, FactorStore, Passkey, may_remove, may_remove_all};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::{GraceAct, Session, SessionStore};
use sign_in::{StartedSession, end_other_sessions, reset};
use store::Tx;
use utoipa::ToSchema;

use super::locked::{Proof, lock_to_remove};
use crate::api::{Site, attestation::known_as, auth::set_cookies, lockout::Lockout, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::{OwnAccount, SigningIn},
    step_up::ConsumedStepUp,
};

/// A factor as its person is shown it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownFactor {
    /// `fac_…`
    id: String,
    /// `WEBAUTHN` or `TOTP`.
    #[schema(value_type = values::FactorType)]
    kind: &'static str,
    name: String,
    /// Whether it counts.
    verified: bool,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(required, value_type = Option<String>, format = "date-time")]
    last_used_at: Option<Timestamp>,
    /// The make of the authenticator, as it says itself; passkeys alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    aaguid: Option<String>,
    /// How far its make is known: `claimed` by itself, `self`-signed, `signed` by somebody, or by somebody who is
    /// `trusted` for it; passkeys alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::AuthenticatorTrust>)]
    trust: Option<&'static str>,
    /// The make's name, where the catalog knows it; passkeys alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    authenticator: Option<&'static str>,
    /// Whether the passkey can be copied to other devices; passkeys alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    backup_eligible: Option<bool>,
}

impl ShownFactor {
    pub(crate) fn of(factor: &Factor) -> Self {
        let passkey = factor.passkey();
        Self {
            id: factor.id.to_string(),
            kind: factor.kind().as_str(),
            name: factor.name.clone(),
            verified: factor.is_verified(),
            created_at: factor.created_at,
            last_used_at: factor.last_used_at,
            aaguid: passkey.map(|passkey| passkey.aaguid.to_string()),
            trust: passkey.map(|passkey| passkey.trust.as_str()),
            authenticator: passkey.and_then(known_as),
            backup_eligible: passkey.map(Passkey::backup_eligible),
        }
    }
}

/// The answer to the enrolment of a factor, with the cookies of a session that it completed.
pub(crate) fn enrolled(
    site: &Site,
    access: &Access<SigningIn>,
    factor: &Factor,
    renewed: Option<Box<StartedSession>>,
) -> Result<HttpResponse, Problem> {
    let mut answer = answer(&ShownFactor::of(factor));
    if let Some(renewed) = renewed {
        set_cookies(site, access.env(), access.tenant(), &renewed, &mut answer)?;
    }
    Ok(answer)
}

/// A person's factors.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FactorList {
    /// Oldest first.
    factors: Vec<ShownFactor>,
    /// How many recovery codes are unused.
    unused_recovery_codes: usize,
}

/// Something is gone.
#[derive(Serialize, ToSchema)]
pub(crate) struct Deleted {
    pub(crate) deleted: bool,
}

/// A new name.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NameBody {
    /// 1 to 64 printable characters.
    #[schema(value_type = values::ShortName)]
    name: String,
}

/// List one's own factors
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses((status = 200, description = "What one can prove who one is with.", body = FactorList))
)]
#[get("/api/me/factors")]
pub(crate) async fn list_factors(access: Access<SigningIn>) -> Result<HttpResponse, Problem> {
    let user = access.caller().session.user.clone();
    let work = async move |_: &Ctx, tx: &mut Tx| {
        Ok::<_, Problem>((tx.factors(&user).await?, tx.unused_codes(&user).await?))
    };
    let (factors, unused_recovery_codes) = access.read(work).await?;
    let factors = factors.iter().filter(|factor| factor.is_verified()).map(ShownFactor::of).collect();
    Ok(answer(&FactorList { factors, unused_recovery_codes }))
}

fn find(factors: &[Factor], id: &str) -> Result<Factor, Problem> {
    let id: FactorId = id.parse().map_err(|_| Problem::not_found())?;
    factors.iter().find(|factor| factor.id == id).cloned().ok_or_else(Problem::not_found)
}

/// Rename a factor
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "It has the name.", body = ShownFactor),
        (status = 400, description = "The name is not taken."),
    )
)]
#[patch("/api/me/factors/{id}")]
pub(crate) async fn rename_factor(
    access: Access<OwnAccount>,
    id: web::Path<String>,
    body: Json<NameBody>,
) -> Result<HttpResponse, Problem> {
    let name = credentials::name(&body.0.name)
        .ok_or_else(|| Problem::invalid_request("name: write 1 to 64 printable characters"))?;
    let user = access.caller().session.user.clone();
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let mut factor = find(&tx.factors(&user).await?, &id)?;
        if factor.name == name {
            return Ok(Audited::without(factor, Unaudited::NothingChanged));
        }
        factor.name = name;
        tx.update_factor(&factor).await?;
        let event = Event::new(factor.id.as_str(), &FactorRenamed { user: user.to_string() });
        Ok::<_, Problem>(Audited::new(factor, event))
    };
    Ok(answer(&ShownFactor::of(&access.write(work).await?)))
}

/// Remove a factor
///
/// Needs a fresh proof (`ACCOUNT_SECURITY_CHANGE`), but for the one lost factor in a session begun with a
/// recovery code. The person's other sessions end.
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "It is gone.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "POLICY_REQUIRES_WEBAUTHN, LAST_FACTOR_POLICY_BLOCKED, or LOCKOUT_PROTECTION: no administrator could sign in any more."),
    )
)]
#[delete("/api/me/factors/{id}")]
pub(crate) async fn remove_factor(
    site: web::Data<Site>,
    access: Access<OwnAccount>,
    proof: Proof,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (held, mut session) = lock_to_remove(tx, &signed).await?;
        let user = session.user.clone();
        let factors = tx.factors(&user).await?;
        let found = find(&factors, &id);
        let graced = found.as_ref().is_ok_and(|factor| has_grace_to_remove(&session, factor, ctx.now));
        let spending = if graced { ConsumedStepUp::none() } else { proof.consume(ctx, tx).await? };
        // Without a step-up the answer does not say whether the factor exists.
        let factor = found?;
        let codes = tx.unused_codes(&user).await?;
        may_remove(&held.policy.mfa, &factors, codes, &factor)?;
        let lockout = Lockout::before_own_act(&held, &site, ctx, tx).await?;
        let mut events = spending.events()?;
        if graced {
            session.consume(GraceAct::Remove);
            tx.update_session(&session).await?;
        }
        events.push(reset::remove_factor(tx, &factor).await?);
        lockout.after(ctx, tx).await?;
        events.extend(end_other_sessions(ctx, tx, &session, "FACTOR_REMOVED").await?);
        Ok::<_, Problem>(Audited::of_changes((), events))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}

/// Whether a session begun with a recovery code may remove this lost factor without a step-up.
fn has_grace_to_remove(session: &Session, factor: &Factor, now: Timestamp) -> bool {
    let is_older = session.grace.as_ref().is_some_and(|grace| factor.created_at < grace.since);
    is_older && session.has_grace(GraceAct::Remove, now)
}

/// Remove all factors
///
/// Turns the second factor off, with the recovery codes. Needs a fresh proof (`ACCOUNT_SECURITY_CHANGE`). Without any factor
/// there is nothing to turn off and nothing to prove with: 409 `NO_FACTOR_AVAILABLE`.
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "There is none any more.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "NO_FACTOR_AVAILABLE, POLICY_REQUIRES_MFA, or LOCKOUT_PROTECTION: no administrator could sign in any more."),
    )
)]
#[delete("/api/me/factors")]
pub(crate) async fn remove_all_factors(
    site: web::Data<Site>,
    access: Access<OwnAccount>,
    proof: Proof,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (held, session) = lock_to_remove(tx, &signed).await?;
        let has_factor = tx.factors(&session.user).await?.iter().any(Factor::is_verified);
        // A step-up needs a factor, so none is asked for here.
        if !has_factor && !proof.is_shown() {
            return Err(no_factor());
        }
        let spending = proof.consume(ctx, tx).await?;
        may_remove_all(&held.policy.mfa)?;
        let lockout = Lockout::before_own_act(&held, &site, ctx, tx).await?;
        let mut events = spending.events()?;
        if !has_factor {
            return Err(no_factor());
        }
        let removed = reset::remove_factors(tx, &session.user).await?;
        lockout.after(ctx, tx).await?;
        if !removed.is_empty() {
            events.extend(removed);
            events.extend(end_other_sessions(ctx, tx, &session, "FACTOR_REMOVED").await?);
        }
        Ok::<_, Problem>(Audited::of_changes((), events))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}

fn no_factor() -> Problem {
    Problem::new(Code::NoFactorAvailable, "there is no second factor to remove")
}
