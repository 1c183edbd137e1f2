//! `POST /api/settings/attestation-policy/impact`: which passkeys that are enrolled a policy would refuse.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, post, web};
use attestation::{Aaguid, Policy, Reason, find};
use kernel::Ctx;
use serde::Serialize;
use store::{EnrolledPasskey, Tx};
use utoipa::ToSchema;

use super::shapes::{KnownAuthenticator, PolicyShape};
use crate::api::{Site, attestation::asked_today, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::{Administer, Permission},
};

/// Passkeys that are listed at most; all are counted.
const MAX_LISTED: usize = 1_000;
/// Passkeys that are read at once.
const AT_ONCE: i64 = 1_000;

/// What a policy would do to the passkeys that are enrolled, if they were enrolled today.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct AttestationImpact {
    /// How many passkeys there are.
    pub(crate) enrolled: usize,
    /// How many of them it would refuse.
    pub(crate) refused: usize,
    /// The same by make.
    pub(crate) makes: Vec<EnrolledMake>,
    /// Those that it would refuse, oldest first; 1,000 at most.
    passkeys: Vec<RefusedPasskey>,
}

/// The passkeys of one make.
#[derive(Serialize, ToSchema)]
pub(crate) struct EnrolledMake {
    #[schema(value_type = String, format = "uuid")]
    pub(crate) aaguid: Aaguid,
    /// `null` where the catalog does not know it.
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
    /// What its person calls it.
    name: String,
    #[schema(value_type = String, format = "uuid")]
    aaguid: Aaguid,
    /// How far its make is known: `claimed`, `self`, `signed` or `trusted`.
    #[schema(value_type = values::AuthenticatorTrust)]
    trust: &'static str,
    /// The first of the reasons.
    #[schema(value_type = values::AttestationReason)]
    reason: Reason,
    #[schema(value_type = Vec<values::AttestationReason>)]
    reasons: Vec<Reason>,
}

/// Ask which passkeys an attestation policy would refuse
///
/// Of those that are enrolled, if they were enrolled today; by the policy that is sent. Nothing is changed.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = PolicyShape,
    responses(
        (status = 200, description = "What there is, and what would be refused.", body = AttestationImpact),
        (status = 400, description = "A field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/attestation-policy/impact")]
pub(crate) async fn attestation_policy_impact(
    site: web::Data<Site>,
    access: Access<Administer>,
    body: Json<Policy>,
) -> Result<HttpResponse, Problem> {
    Ok(answer(&impact_of(&site, &access, &body.0).await?))
}

/// Looks at every passkey of the tenant, some at a time: however many there are, nobody waits for all of them.
pub(crate) async fn impact_of<P: Permission>(
    site: &Site,
    access: &Access<P>,
    policy: &Policy,
) -> Result<AttestationImpact, Problem> {
    let mut impact = AttestationImpact::default();
    let mut makes: BTreeMap<Aaguid, (usize, usize)> = BTreeMap::new();
    let mut last = None;
    loop {
        let after = last.clone();
        let read = async move |_: &Ctx, tx: &mut Tx| tx.enrolled_passkeys(after.as_ref(), AT_ONCE).await;
        let some = access.scan(read).await?;
        let Some(newest) = some.last() else { break };
        last = Some(newest.id.clone());
        for enrolled in some {
            let asked = asked_today(&enrolled, &site.makers);
            let reasons = policy.decide(&asked).reasons;
            let (of_make, refused) = makes.entry(asked.aaguid).or_default();
            *of_make += 1;
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
    let make = |(aaguid, (enrolled, refused))| EnrolledMake {
        aaguid,
        authenticator: find(aaguid).map(KnownAuthenticator::from),
        enrolled,
        refused,
    };
    impact.makes = makes.into_iter().map(make).collect();
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
