//! `/api/settings/attestation-policy`: which authenticators may be enrolled.

pub(crate) mod impact;
pub(crate) mod shapes;

use actix_web::{HttpResponse, get, post, put, web};
use attestation::{Aaguid, AttestationPolicyStore, Candidate, Policy, Reason, catalog};
use audit::{Audited, Event, Unaudited, events::policies::AttestationPolicyChanged};
use kernel::Ctx;
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use self::{
    impact::{AttestationImpact, impact_of},
    shapes::{KnownAuthenticator, PolicyShape},
};
use crate::api::{Site, lockout::Lockout, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::{Administer, ReadSettings},
    step_up::{AttestationPolicyChange, StepUp},
};

/// The policy, and the makes that are known.
#[derive(Serialize, ToSchema)]
struct PolicyAndCatalog {
    #[schema(value_type = PolicyShape)]
    policy: Policy,
    /// By group, vendor and name.
    catalog: Vec<KnownAuthenticator>,
}

/// The policy, and what it does to the passkeys that are enrolled.
#[derive(Serialize, ToSchema)]
struct PolicyAndImpact {
    #[schema(value_type = PolicyShape)]
    policy: Policy,
    #[serde(flatten)]
    impact: AttestationImpact,
}

/// An authenticator to test the policy with.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AttestationTestBody {
    /// A UUID.
    #[schema(value_type = String, format = "uuid")]
    aaguid: Aaguid,
    /// By default as the catalog has it, else false.
    is_platform_authenticator: Option<bool>,
    /// By default as the catalog has it, else false.
    backup_eligible: Option<bool>,
}

/// What is decided.
#[derive(Serialize, ToSchema)]
struct AttestationDecision {
    /// `ALLOW` or `DENY`.
    #[schema(value_type = values::PolicyDecision)]
    decision: &'static str,
    /// The first of the reasons.
    #[schema(nullable = false, value_type = Option<values::AttestationReason>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    /// All that speaks against it, in this order: `ALLOWLIST_NO_MATCH`, `SYNCED_PASSKEY_DENIED`,
    /// `PLATFORM_AUTHENTICATOR_DENIED`.
    #[schema(value_type = Vec<values::AttestationReason>)]
    reasons: Vec<Reason>,
    /// `null` where the catalog does not know it.
    #[schema(required)]
    authenticator: Option<KnownAuthenticator>,
}

/// Read the attestation policy
///
/// And the catalog of makes that are known.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The policy and the catalog.", body = PolicyAndCatalog))
)]
#[get("/api/settings/attestation-policy")]
pub(crate) async fn get_attestation_policy(access: Access<ReadSettings>) -> Result<HttpResponse, Problem> {
    let policy = access.read(async |_: &Ctx, tx: &mut Tx| tx.attestation_policy().await).await?;
    let catalog = catalog().iter().map(KnownAuthenticator::from).collect();
    Ok(answer(&PolicyAndCatalog { policy, catalog }))
}

/// Set the attestation policy
///
/// Needs a fresh proof (`ATTESTATION_POLICY_CHANGE`). In force from the next enrolment on: passkeys that are enrolled
/// stay good. The answer counts and lists those that would be refused today.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = PolicyShape,
    responses(
        (status = 200, description = "The policy as it is now, and the passkeys that it would refuse.", body = PolicyAndImpact),
        (status = 400, description = "A field is missing, unknown or malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in any more."),
    )
)]
#[put("/api/settings/attestation-policy")]
pub(crate) async fn put_attestation_policy(
    site: web::Data<Site>,
    access: Access<Administer>,
    proof: StepUp<AttestationPolicyChange>,
    body: Json<Policy>,
) -> Result<HttpResponse, Problem> {
    let policy = body.0.in_order();
    // Before the change: what cannot be counted is not changed without being told.
    let impact = impact_of(&site, &access, &policy).await?;
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let lockout = Lockout::before(&place, ctx, tx).await?;
        let changed = attestation::set(tx, policy).await?;
        lockout.after(ctx, tx).await?;
        let settings: Vec<_> = changed.settings.into_iter().map(str::to_owned).collect();
        let audited = if settings.is_empty() {
            Audited::without(changed.policy, Unaudited::NothingChanged)
        } else {
            let data = AttestationPolicyChanged { changed: settings };
            Audited::new(changed.policy, Event::new(ctx.tenant.as_str(), &data))
        };
        Ok::<_, Problem>(audited.with(spending.events()?))
    };
    let policy = access.write(work).await?;
    Ok(answer(&PolicyAndImpact { policy, impact }))
}

/// Ask what the attestation policy decides
///
/// About an authenticator whose make is proved. The policy stays as it is.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = AttestationTestBody,
    responses(
        (status = 200, description = "The decision.", body = AttestationDecision),
        (status = 400, description = "A field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/attestation-policy/test")]
pub(crate) async fn test_attestation_policy(
    access: Access<ReadSettings>,
    body: Json<AttestationTestBody>,
) -> Result<HttpResponse, Problem> {
    let AttestationTestBody { aaguid, is_platform_authenticator, backup_eligible } = body.0;
    let policy = access.read(async |_: &Ctx, tx: &mut Tx| tx.attestation_policy().await).await?;
    let asked = Candidate { aaguid, is_platform: is_platform_authenticator, backup_eligible, proved: true };
    let verdict = policy.decide(&asked);
    Ok(answer(&AttestationDecision {
        decision: if verdict.is_allowed() { "ALLOW" } else { "DENY" },
        reason: verdict.reason(),
        authenticator: verdict.authenticator.map(KnownAuthenticator::from),
        reasons: verdict.reasons,
    }))
}
