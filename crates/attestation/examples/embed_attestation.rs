//! A program that permits security keys certified under FIPS 140 and one other model. No web server or database.
//!
//! `cargo run -p gatehouse-attestation --example embed_attestation`

use attestation::{Candidate, Group, Mode, Policy, Reason, catalog};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy {
        mode: Mode::Allowlist,
        allowed_groups: vec![Group::FipsHardware],
        allowed_aaguids: vec!["08987058-cadc-4b81-b6e1-30de50dcbe96".parse()?],
        allow_platform_authenticators: true,
        require_verified_attestation: true,
        ..Policy::default()
    };
    let allowed =
        catalog().iter().filter(|known| policy.decide(&Candidate::for_model(known.aaguid)).is_allowed());
    let allowed: Vec<_> = allowed.collect();
    for known in &allowed {
        println!("{} ({}, {})", known.name, known.vendor, known.group.as_str());
    }
    assert!(allowed.iter().any(|known| known.name == "Windows Hello (hardware, TPM)"));

    // A claimed model without proof is refused.
    let Some(first) = allowed.first() else { return Err("the catalog has no certified keys".into()) };
    let claimed = Candidate { proved: false, ..Candidate::for_model(first.aaguid) };
    assert_eq!(policy.decide(&claimed).reason(), Some(Reason::AllowlistNoMatch));
    println!("without an attestation, none of {} models may be enrolled", allowed.len());
    Ok(())
}
