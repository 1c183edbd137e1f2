//! `/api/me/factors`: lists, renames and removes the caller's factors.

use actix_web::{delete, get, patch};
use audit::{Audited, Event, Unaudited, events::credentials::FactorRenamed};
use credentials::{Factor, FactorId, FactorStore, Passkey, may_remove, may_remove_all};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::{GraceAct, SessionStore, Standing};
use sign_in::{Lockout, StartedSession, end_other_sessions, enrolment::has_grace_to_remove, reset};
use store::Tx;
use utoipa::ToSchema;

use super::locked::{Proof, lock_to_remove};
use crate::api::{
    Answer, Call,
    attestation::known_as,
    auth::{offer_binding, set_cookies},
    openapi::values,
};
use gate::{
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::{OwnAccount, SigningIn},
    step_up::ConsumedStepUp,
};

/// A factor.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownFactor)]
pub(crate) struct FactorView {
    /// `fac_…`
    id: String,
    /// `WEBAUTHN` or `TOTP`.
    #[schema(value_type = credentials::FactorKind)]
    kind: &'static str,
    name: String,
    /// Whether enrolment is complete.
    verified: bool,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(required, value_type = Option<String>, format = "date-time")]
    last_used_at: Option<Timestamp>,
    /// AAGUID that the authenticator reported. Passkeys only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    aaguid: Option<String>,
    /// How its model is attested: `claimed`, `self`, `signed` or `trusted`. Passkeys only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::AuthenticatorTrust>)]
    trust: Option<&'static str>,
    /// Name of the model, if the catalog contains it. Passkeys only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    authenticator: Option<&'static str>,
    /// Whether the passkey can be copied to other devices. Passkeys only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    backup_eligible: Option<bool>,
}

impl FactorView {
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

/// Responds to a completed enrolment, with the session's cookies if the enrolment completed its sign-in.
pub(crate) fn enrolled(
    call: &Call<SigningIn>,
    factor: &Factor,
    renewed: Option<Box<StartedSession>>,
) -> Answer {
    let mut answer = answer(&FactorView::of(factor));
    if let Some(renewed) = renewed {
        set_cookies(&call.site, call.env(), call.tenant(), &renewed, &mut answer)?;
        // Otherwise the session may be an old one.
        if call.caller().session.standing == Standing::Owing {
            offer_binding(&call.site, call.env(), call.tenant(), &renewed.session, &mut answer)?;
        }
    }
    Ok(answer)
}

/// Factors of a user.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FactorList {
    /// Oldest first.
    factors: Vec<FactorView>,
    /// Number of unused recovery codes.
    unused_recovery_codes: usize,
}

/// The resource is deleted.
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

/// List your factors
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "Your factors.", body = FactorList))
)]
#[get("/api/me/factors")]
pub(crate) async fn list_factors(call: Call<SigningIn>) -> Answer {
    let user = call.caller().session.user.clone();
    let work = async move |_: &Ctx, tx: &mut Tx| {
        Ok::<_, Problem>((tx.factors(&user).await?, tx.unused_codes(&user).await?))
    };
    let (factors, unused_recovery_codes) = call.read(work).await?;
    let factors = factors.iter().filter(|factor| factor.is_verified()).map(FactorView::of).collect();
    Ok(answer(&FactorList { factors, unused_recovery_codes }))
}

fn find(factors: &[Factor], id: &str) -> Result<Factor, Problem> {
    let id: FactorId = id.parse().map_err(|_| Problem::not_found())?;
    factors.iter().find(|factor| factor.id == id).cloned().ok_or_else(Problem::not_found)
}

/// Rename a factor
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Renamed.", body = FactorView),
        (status = 400, description = "The name is not accepted."),
    )
)]
#[patch("/api/me/factors/{id}")]
pub(crate) async fn rename_factor(call: Call<OwnAccount>, body: Json<NameBody>) -> Answer {
    let name = credentials::name(&body.0.name)
        .ok_or_else(|| Problem::invalid_request("name: write 1 to 64 printable characters"))?;
    let (id, user): (String, _) = (call.id()?, call.caller().session.user.clone());
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
    Ok(answer(&FactorView::of(&call.write(work).await?)))
}

/// Remove a factor
///
/// Requires a step-up (`ACCOUNT_SECURITY_CHANGE`). A session that was started with a recovery code can remove one
/// lost factor without a step-up. Revokes the user's other sessions.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "Deleted.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "POLICY_REQUIRES_WEBAUTHN; LAST_FACTOR_POLICY_BLOCKED; LOCKOUT_PROTECTION if no administrator could sign in afterwards."),
    )
)]
#[delete("/api/me/factors/{id}")]
pub(crate) async fn remove_factor(call: Call<OwnAccount>, proof: Proof) -> Answer {
    let (id, signed): (String, _) = (call.id()?, call.caller().clone());
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (held, mut session) = lock_to_remove(tx, &signed).await?;
        let user = session.user.clone();
        let factors = tx.factors(&user).await?;
        let found = find(&factors, &id);
        let graced = found.as_ref().is_ok_and(|factor| has_grace_to_remove(&session, factor, ctx.now));
        let spending = if graced { ConsumedStepUp::none() } else { proof.consume(ctx, tx).await? };
        // Checked after the step-up: without one, the response must not reveal whether the factor exists.
        let factor = found?;
        let codes = tx.unused_codes(&user).await?;
        may_remove(&held.policy.mfa, &factors, codes, &factor)?;
        let lockout = Lockout::before_own_change(tx, &held, site.auth.passkeys_work(), ctx.now).await?;
        let mut events = spending.events()?;
        if graced {
            session.consume(GraceAct::Remove);
            tx.update_session(&session).await?;
        }
        events.push(reset::remove_factor(tx, &factor).await?);
        lockout.after(tx, ctx.now).await?;
        events.extend(end_other_sessions(ctx, tx, &session, "FACTOR_REMOVED").await?);
        Ok::<_, Problem>(Audited::of_changes((), events))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}

/// Remove all your factors
///
/// Removes all factors and recovery codes. Requires a step-up (`ACCOUNT_SECURITY_CHANGE`). A user without factors
/// gets 409 `NO_FACTOR_AVAILABLE`.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "All factors are removed.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "NO_FACTOR_AVAILABLE; POLICY_REQUIRES_MFA; LOCKOUT_PROTECTION if no administrator could sign in afterwards."),
    )
)]
#[delete("/api/me/factors")]
pub(crate) async fn remove_all_factors(call: Call<OwnAccount>, proof: Proof) -> Answer {
    let signed = call.caller().clone();
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (held, session) = lock_to_remove(tx, &signed).await?;
        let has_factor = tx.factors(&session.user).await?.iter().any(Factor::is_verified);
        // A user without factors cannot step up, so report the missing factor instead.
        if !has_factor && !proof.is_present() {
            return Err(no_factor());
        }
        let spending = proof.consume(ctx, tx).await?;
        may_remove_all(&held.policy.mfa)?;
        let lockout = Lockout::before_own_change(tx, &held, site.auth.passkeys_work(), ctx.now).await?;
        let mut events = spending.events()?;
        if !has_factor {
            return Err(no_factor());
        }
        let removed = reset::remove_factors(tx, &session.user).await?;
        lockout.after(tx, ctx.now).await?;
        if !removed.is_empty() {
            events.extend(removed);
            events.extend(end_other_sessions(ctx, tx, &session, "FACTOR_REMOVED").await?);
        }
        Ok::<_, Problem>(Audited::of_changes((), events))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}

fn no_factor() -> Problem {
    Problem::new(Code::NoFactorAvailable, "there is no second factor to remove")
}
