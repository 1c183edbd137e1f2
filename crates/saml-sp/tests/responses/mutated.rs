//! Randomly mutated documents: both verifiers agree, nothing panics, and only the signed identity is accepted.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::{
    differential::First,
    factory::field,
    mutator::{Random, mutated, normalised},
    second::{Identity, Second, has_odd_namespace},
    valid,
    world::{WORLD, examined},
};

/// Duration without `SAML_MUTATIONS=1000000`: `FUZZ_SECONDS`, or a short default.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}
/// Minimum number of mutations, however slow the machine is.
const LEAST: u64 = 500;
/// The default seed; override it with `SAML_SEED=7`.
const SEED: u64 = 20_260_301;

fn variable(name: &str) -> Option<u64> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

#[test]
fn mutated_documents_are_refused_or_keep_the_signed_identity() {
    let second = Second::new(&WORLD.provider);
    let bases: Vec<_> = valid::all()
        .into_iter()
        .filter(|case| {
            case.xml.len() < 20_000
                && second.believes(&normalised(&case.xml)).is_ok_and(|believed| believed.is_some())
        })
        .map(|case| {
            let claims = examined(&case.form(), case.change).claims.unwrap();
            (Identity::of(claims.get()), case)
        })
        .collect();
    let (most, seed) = (variable("SAML_MUTATIONS"), variable("SAML_SEED").unwrap_or(SEED));
    let time = fuzz_time();
    let (start, mut count) = (Instant::now(), 0);
    let (mut reasons, mut accepted, mut asked, mut odd) = (BTreeMap::<&str, usize>::new(), 0, 0, 0);
    while most.map_or(start.elapsed() < time || count < LEAST, |most| count < most) {
        let mut random = Random::of(seed, count);
        let (identity, base) = &bases[random.below(bases.len())];
        let text = mutated(&mut random, &base.xml);
        count += 1;
        if text == base.xml {
            continue;
        }
        let examined = examined(&field(&text), base.change);
        match &examined.outcome {
            Ok(_) => accepted += 1,
            Err(refusal) => *reasons.entry(refusal.reason.as_str()).or_default() += 1,
        }
        if let Some(claims) = &examined.claims {
            assert_eq!(
                &Identity::of(claims.get()),
                identity,
                "number {count} of seed {seed}, of {}: {text}",
                base.name
            );
        }
        if let First::Asked(first) = First::of(&examined) {
            let Ok(believed) = second.believes(&normalised(&text)) else { continue };
            if first.is_none() && believed.is_some() && has_odd_namespace(&text) {
                odd += 1;
                continue;
            }
            asked += 1;
            assert_eq!(
                believed, first,
                "number {count} of seed {seed}, of {}: {:?}: {text}",
                base.name, examined.outcome
            );
        }
    }
    println!(
        "{count} changed documents from seed {seed} in {:?}: {accepted} accepted, {asked} asked of both verifiers, {odd} with namespaces that canonical XML has not",
        start.elapsed()
    );
    for (reason, times) in reasons {
        println!("{times:>8}  {reason}");
    }
}
