//! Compares thousands of generated steps in memory with a reference model.

use std::sync::Arc;

use kernel::{ManualEnv, TenantId};
use sign_in::{
    MemoryStore,
    conformance::{ActionCounts, sequence},
};

#[tokio::test]
async fn generated_sign_ins_match_the_model() {
    let mut seen = ActionCounts::new();
    for seed in 0..40 {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        for (answer, count) in sequence(MemoryStore::new(&tenant), tenant, env, seed, 500).await {
            *seen.entry(answer).or_default() += count;
        }
    }
    println!("{seen:?}");
    let answers = [
        "SignedIn",
        "FactorOwed",
        "EnrolmentOwed",
        "Wrong",
        "StepUpNeeded",
        "AccountDisabled",
        "FactorNotAccepted",
        "InvalidCredentials",
        "LinkInvalid",
        "MfaRequired",
        "NetworkBlocked",
        "SessionRevoked",
        "SignInRequired",
        "SsoNotAllowed",
        "SsoRequired",
        "TicketInvalid",
        "UserDisabled",
    ];
    for answer in answers {
        assert!(
            seen.get(answer).is_some_and(|count| *count >= 5),
            "{answer} was returned too rarely: {seen:?}"
        );
    }
}
