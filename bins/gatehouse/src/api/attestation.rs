//! Applies the attestation policy when a passkey is enrolled.

use attestation::{AttestationPolicyStore, Candidate, Mode, Policy, WatchedTrustAnchors};
use audit::{Event, events::policies::AttestationPolicyBlocked};
use credentials::{Attestation, Passkey, Trust};
use kernel::{Ctx, UserId};
use store::{EnrolledPasskey, Tx};

use crate::area_metrics;
use gate::errors::{Code, Problem};

/// Describes an enrolled passkey as if it were enrolled today. A model whose trust anchor was removed counts as
/// unproved.
pub(crate) fn asked_today(passkey: &EnrolledPasskey, anchors: &WatchedTrustAnchors) -> Candidate {
    let aaguid = attestation::Aaguid(passkey.aaguid.0);
    let proved = passkey.trust == Trust::Trusted && anchors.can_prove(aaguid);
    Candidate::enrolled(aaguid, passkey.is_platform, passkey.backup_eligible, proved)
}

/// Returns the name of the passkey's authenticator model, if the catalog contains it.
pub(crate) fn known_as(passkey: &Passkey) -> Option<&'static str> {
    attestation::find(attestation::Aaguid(passkey.aaguid.0)).map(|known| known.name)
}

/// Returns the attestation conveyance to request at enrolment.
pub(crate) fn conveyance(policy: &Policy) -> Attestation {
    match policy.mode {
        Mode::Off => Attestation::None,
        Mode::Allowlist => Attestation::Direct,
    }
}

/// Checks a passkey against the attestation policy. Fails with 403 if the policy blocks it.
pub(crate) async fn admit(ctx: &Ctx, tx: &mut Tx, user: &UserId, passkey: &Passkey) -> Result<(), Problem> {
    let proved = passkey.trust == Trust::Trusted;
    let aaguid = attestation::Aaguid(passkey.aaguid.0);
    let asked = Candidate::enrolled(aaguid, passkey.is_platform, passkey.backup_eligible(), proved);
    let verdict = tx.attestation_policy().await?.decide(&asked);
    let Some(reason) = verdict.reason() else { return Ok(()) };
    area_metrics::attestation_denied(reason.as_str());
    let data = AttestationPolicyBlocked {
        user: user.to_string(),
        aaguid: passkey.aaguid.to_string(),
        trust: passkey.trust.as_str(),
        backup_eligible: passkey.backup_eligible(),
        is_platform_authenticator: passkey.is_platform,
        reasons: verdict.reasons.iter().map(|reason| reason.as_str()).collect(),
        suppressed: None,
    };
    let refused = Problem::new(Code::AttestationPolicyBlocked, reason.advice()).reason(reason.as_str());
    Err(refused.with_event(Event::new(ctx.tenant.as_str(), &data)))
}
