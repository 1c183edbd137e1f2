//! A program that only accepts requests from the office, and refuses changes that would lock everybody out. No web
//! server or database.
//!
//! `cargo run -p gatehouse-netpolicy --example embed_netpolicy`

use std::net::IpAddr;

use netpolicy::{Ctx, Decision, Editor, Error, MemoryStore, Mode, Settings, Surface, add, set};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = Ctx::system("acme".parse()?, "example");
    let mut store = MemoryStore::default();
    let (office, home): (IpAddr, IpAddr) = ("203.0.113.7".parse()?, "198.51.100.7".parse()?);
    let on = Settings { mode: Mode::Allowlist, admin_bypass: false, ..Settings::default() };

    // Without a rule the allowlist would lock everybody out, so it is refused for every caller.
    let by = Editor { address: Some(home), acknowledged: false };
    assert!(matches!(set(&mut store, by, on).await, Err(Error::Lockout)));

    // From home, the allowlist would block the caller's own address. From the office, it is accepted.
    let rule = add(&ctx, &mut store, "203.0.113.0/24", "Office").await?;
    assert!(matches!(set(&mut store, by, on).await, Err(Error::CallerNotCovered)));
    set(&mut store, Editor { address: Some(office), ..by }, on).await?;

    // Build the policy once and use it for every decision.
    let policy = store.policy();
    for (name, address) in [("the office", office), ("home", home)] {
        let verdict = policy.decide(Some(address), Surface::Api, false);
        println!("{name}: {:?}, {:?}", verdict.decision, verdict.reason);
    }
    let inside = policy.decide(Some(office), Surface::Api, false);
    assert_eq!((inside.decision, inside.rule), (Decision::Allow, Some(0)));
    assert_eq!(policy.decide(Some(home), Surface::Api, false).decision, Decision::Deny);
    println!("allowed by {} ({})", rule.cidr, rule.label);
    Ok(())
}
