//! `POST /api/settings/attestation-policy/impact`: previews which enrolled passkeys a policy would refuse.

use std::collections::BTreeMap;

use actix_web::post;
use attestation::{Aaguid, Policy, Reason, find};
use kernel::Ctx;
use serde::Serialize;
use store::{EnrolledPasskey, Tx};
use utoipa::ToSchema;

use super::shapes::KnownAuthenticator;
use crate::api::{Answer, Call, attestation::asked_today, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{Administer, Permission},
};

/// Maximum number of listed passkeys. All of them are counted.
const MAX_LISTED: usize = 1_000;
/// Passkeys per query.
const AT_ONCE: i64 = 1_000;

/// Impact of an attestation policy on enrolled passkeys, as if they were enrolled today.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct AttestationImpact {
    /// Number of enrolled passkeys.
    pub(crate) enrolled: usize,
    /// Number of passkeys that the policy would refuse.
    pub(crate) refused: usize,
    /// Numbers per authenticator model.
    pub(crate) makes: Vec<EnrolledMake>,
    /// Passkeys that the policy would refuse, oldest first, at most 1,000.
    passkeys: Vec<RefusedPasskey>,
}

/// Passkeys of one authenticator model.
#[derive(Serialize, ToSchema)]
pub(crate) struct EnrolledMake {
    #[schema(value_type = String, format = "uuid")]
    pub(crate) aaguid: Aaguid,
    /// `null` if the catalog does not contain the model.
    #[schema(required)]
    authenticator: Option<KnownAuthenticator>,
    pub(crate) enrolled: usize,
    pub(crate) refused: usize,
}

/// A passkey that would be refused.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefusedPasskey {
    /// `fac_…`
    id: String,
    user_id: String,
    user_name: String,
    /// Name given by the user.
    name: String,
    #[schema(value_type = String, format = "uuid")]
    aaguid: Aaguid,
    /// How its model is attested: `claimed`, `self`, `signed` or `trusted`.
    #[schema(value_type = values::AuthenticatorTrust)]
    trust: &'static str,
    /// First of `reasons`.
    #[schema(value_type = attestation::Reason)]
    reason: Reason,
    #[schema(value_type = Vec<attestation::Reason>)]
    reasons: Vec<Reason>,
}

/// Preview the impact of an attestation policy
///
/// Lists the enrolled passkeys that the draft would refuse if they were enrolled today. Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = Policy,
    responses(
        (status = 200, description = "Enrolled passkeys, and those that would be refused.", body = AttestationImpact),
        (status = 400, description = "A field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/attestation-policy/impact")]
pub(crate) async fn attestation_policy_impact(call: Call<Administer>, body: Json<Policy>) -> Answer {
    Ok(answer(&impact_of(&call, &body.0).await?))
}

/// Checks every passkey of the tenant in batches, so that no lock or transaction covers all of them.
pub(crate) async fn impact_of<P: Permission>(
    call: &Call<P>,
    policy: &Policy,
) -> Result<AttestationImpact, Problem> {
    let mut impact = AttestationImpact::default();
    let mut models: BTreeMap<Aaguid, (usize, usize)> = BTreeMap::new();
    let mut last = None;
    loop {
        let after = last.clone();
        let read = async move |_: &Ctx, tx: &mut Tx| tx.enrolled_passkeys(after.as_ref(), AT_ONCE).await;
        let some = call.scan(read).await?;
        let Some(newest) = some.last() else { break };
        last = Some(newest.id.clone());
        for enrolled in some {
            let asked = asked_today(&enrolled, &call.site.makers);
            let reasons = policy.decide(&asked).reasons;
            let (of_model, refused) = models.entry(asked.aaguid).or_default();
            *of_model += 1;
            impact.enrolled += 1;
            if let Some(reason) = reasons.first().copied() {
                *refused += 1;
                impact.refused += 1;
                if impact.passkeys.len() < MAX_LISTED {
                    impact.passkeys.push(refused_passkey(enrolled, reason, reasons));
                }
            }
        }
    }
    let model = |(aaguid, (enrolled, refused))| EnrolledMake {
        aaguid,
        authenticator: find(aaguid).map(KnownAuthenticator::from),
        enrolled,
        refused,
    };
    impact.makes = models.into_iter().map(model).collect();
    Ok(impact)
}

fn refused_passkey(enrolled: EnrolledPasskey, reason: Reason, reasons: Vec<Reason>) -> RefusedPasskey {
    RefusedPasskey {
        id: enrolled.id.to_string(),
        user_id: enrolled.user.to_string(),
        user_name: enrolled.user_name,
        name: enrolled.name,
        aaguid: Aaguid(enrolled.aaguid.0),
        trust: enrolled.trust.as_str(),
        reason,
        reasons,
    }
}
