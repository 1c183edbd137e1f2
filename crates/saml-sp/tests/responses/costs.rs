//! CPU time of valid responses.

use std::hint::black_box;

use crate::{
    cpu,
    factory::{Build, SAML2},
    keys::{IDP, P256},
    seal::Seal,
    sign::Hash,
    world::{WORLD, against},
};

/// The limit in milliseconds of CPU time; higher without optimization.
const MOST_MILLIS: f64 = if cfg!(debug_assertions) { 8.0 } else { 3.0 };

#[test]
fn a_valid_response_costs_less_than_three_milliseconds() {
    saml_sp::warm_up();
    let mut provider = WORLD.provider.clone();
    provider.idp.certificates = vec![IDP.certificate.clone()];
    let encrypted = Build { sealed: Some(Seal::usual()), ..Build::signed(SAML2, true, true) };
    let all = [
        ("the assertion signed", Build::assertion_signed().field(), false),
        ("the response signed", Build::response_signed().field(), false),
        ("both signed", Build::both_signed().field(), false),
        ("encrypted, the assertion signed", Build::encrypted().field(), false),
        ("encrypted, both signed", encrypted.field(), false),
        (
            "ECDSA on P-256",
            Build::assertion_signed().signing(|signing| signing.by(&P256, Hash::Sha256)).field(),
            true,
        ),
        (
            "the last of seven certificates",
            Build::assertion_signed()
                .signing(|signing| signing.by(&crate::keys::RSA_4096, Hash::Sha256))
                .field(),
            true,
        ),
    ];
    for (name, field, pins_all) in all {
        let against = against(if pins_all { &WORLD.provider } else { &provider });
        let run = || saml_sp::examine(black_box(&field), &against).outcome.unwrap();
        run();
        let batches = (0..10).map(|_| cpu::of(|| (0..20).for_each(|_| drop(run()))) / 20);
        let mut batches: Vec<_> = batches.collect();
        batches.sort();
        println!(
            "{:>7.3} ms minimum, {:>7.3} ms median: {name}",
            cpu::millis(batches[0]),
            cpu::millis(batches[5])
        );
        assert!(cpu::millis(batches[0]) < MOST_MILLIS, "{name}: {:?}", batches[0]);
    }
}
