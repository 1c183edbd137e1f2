//! Which proof an act asks for, in a service with purposes of its own.
//!
//! `cargo run -p stepup --example embed`

use stepup::{PURPOSES, Purpose};

const SHIP_RELEASE: Purpose = Purpose {
    name: "SHIP_RELEASE",
    phishing_resistant: true,
    ttl_seconds: 30,
    description: "Shipping a release to everybody.",
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ours = [&PURPOSES[..], &[SHIP_RELEASE]].concat();
    for name in ["PAYROLL_SEAL", "SHIP_RELEASE"] {
        let purpose = stepup::find(&ours, name).ok_or("a purpose of ours")?;
        let factor = if purpose.phishing_resistant { "a passkey" } else { "any factor" };
        println!("{}: {factor} within {} s. {}", purpose.name, purpose.ttl_seconds, purpose.description);
    }
    assert!(stepup::find(&PURPOSES, "SHIP_RELEASE").is_none());
    Ok(())
}
