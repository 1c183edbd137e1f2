//! The impact of a policy on passkeys that are already enrolled.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Aaguid, Authenticator, Candidate, Policy, Reason, find};

/// Maximum number of listed passkeys. All of them are counted.
const MAX_LISTED: usize = 1_000;

/// An enrolled passkey, as if it were enrolled today.
#[derive(Debug, Clone)]
pub struct EnrolledPasskey {
    /// `fac_…`
    pub id: String,
    /// Id of its user.
    pub user_id: String,
    /// User name of its user.
    pub user_name: String,
    /// Name given by the user.
    pub name: String,
    /// How its model was attested at enrolment.
    pub trust: &'static str,
    /// The properties that a policy decides about.
    pub candidate: Candidate,
}

/// Impact of an attestation policy on enrolled passkeys, as if they were enrolled today.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = AttestationImpact))]
pub struct Impact {
    /// Number of enrolled passkeys.
    pub enrolled: usize,
    /// Number of passkeys that the policy would refuse.
    pub refused: usize,
    /// Numbers per authenticator model.
    #[serde(rename = "makes")]
    pub models: Vec<ModelImpact>,
    /// Passkeys that the policy would refuse, oldest first, at most 1,000.
    pub passkeys: Vec<RefusedPasskey>,
}

/// Passkeys of one authenticator model.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = EnrolledMake))]
pub struct ModelImpact {
    /// The model.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "uuid"))]
    pub aaguid: Aaguid,
    /// `null` if the catalog does not contain the model.
    #[cfg_attr(feature = "openapi", schema(required))]
    authenticator: Option<&'static Authenticator>,
    /// Number of enrolled passkeys.
    pub enrolled: usize,
    /// Number of passkeys that the policy would refuse.
    pub refused: usize,
}

/// The schema of how a model is attested. The crate `credentials` has the values.
#[cfg(feature = "openapi")]
fn trust() -> utoipa::openapi::Ref {
    let description = "How its model is attested: `claimed`, `self`, `signed` or `trusted`.";
    let schema =
        utoipa::openapi::schema::RefBuilder::new().ref_location_from_schema_name("AuthenticatorTrust");
    schema.description(Some(description)).build()
}

/// A passkey that would be refused.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RefusedPasskey {
    /// `fac_…`
    id: String,
    user_id: String,
    user_name: String,
    /// Name given by the user.
    name: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "uuid"))]
    aaguid: Aaguid,
    #[cfg_attr(feature = "openapi", schema(schema_with = trust))]
    trust: &'static str,
    /// First of `reasons`.
    reason: Reason,
    reasons: Vec<Reason>,
}

/// Counts passkeys one by one, so that a tenant's passkeys can be read in batches.
#[derive(Debug)]
pub struct ImpactCounter<'p> {
    policy: &'p Policy,
    impact: Impact,
    models: BTreeMap<Aaguid, (usize, usize)>,
}

impl<'p> ImpactCounter<'p> {
    /// Starts to count under this policy.
    pub fn new(policy: &'p Policy) -> Self {
        Self { policy, impact: Impact::default(), models: BTreeMap::new() }
    }

    /// Adds a passkey.
    pub fn add(&mut self, passkey: EnrolledPasskey) {
        let EnrolledPasskey { id, user_id, user_name, name, trust, candidate } = passkey;
        let aaguid = candidate.aaguid;
        let reasons = self.policy.decide(&candidate).reasons;
        let (enrolled, refused) = self.models.entry(aaguid).or_default();
        *enrolled += 1;
        self.impact.enrolled += 1;
        let Some(reason) = reasons.first().copied() else { return };
        *refused += 1;
        self.impact.refused += 1;
        if self.impact.passkeys.len() < MAX_LISTED {
            let refused = RefusedPasskey { id, user_id, user_name, name, aaguid, trust, reason, reasons };
            self.impact.passkeys.push(refused);
        }
    }

    /// Returns the impact on all added passkeys.
    pub fn finish(self) -> Impact {
        let model = |(aaguid, (enrolled, refused))| ModelImpact {
            aaguid,
            authenticator: find(aaguid),
            enrolled,
            refused,
        };
        Impact { models: self.models.into_iter().map(model).collect(), ..self.impact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, catalog};

    #[test]
    fn passkeys_are_counted_by_model_and_a_thousand_refused_ones_are_listed() {
        let [first, second] = [catalog()[0].aaguid, catalog()[1].aaguid];
        let policy = Policy { mode: Mode::Allowlist, allowed_aaguids: vec![first], ..Policy::default() };
        let mut counter = ImpactCounter::new(&policy);
        let added = std::iter::once(first).chain(std::iter::repeat_n(second, MAX_LISTED + 1));
        for (number, aaguid) in added.enumerate() {
            counter.add(EnrolledPasskey {
                id: format!("fac_{number}"),
                user_id: "usr_1".into(),
                user_name: "ada".into(),
                name: "Key".into(),
                trust: "trusted",
                candidate: Candidate::for_model(aaguid),
            });
        }
        let impact = counter.finish();
        assert_eq!((impact.enrolled, impact.refused), (1_002, 1_001));
        let of = |wanted: Aaguid| impact.models.iter().find(|model| model.aaguid == wanted).unwrap();
        assert_eq!((of(first).enrolled, of(first).refused), (1, 0));
        assert_eq!((of(second).enrolled, of(second).refused), (1_001, 1_001));
        let ids: Vec<_> = impact.passkeys.iter().map(|passkey| passkey.id.as_str()).collect();
        assert_eq!((ids.len(), ids.first(), ids.last()), (1_000, Some(&"fac_1"), Some(&"fac_1000")));
        assert!(impact.passkeys.iter().all(|passkey| passkey.reason == Reason::AllowlistNoMatch));
    }
}
