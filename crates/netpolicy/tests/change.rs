//! Changes cannot lock anybody out by mistake.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use kernel::{Actor, Ctx, Env, SystemEnv, TenantId};
use netpolicy::{
    Editor, Enforcement, Error, MAX_LABEL, MAX_RULES, MemoryStore, Mode, NetworkPolicyStore, Settings, add,
    remove, rename, set,
};

const OFFICE: &str = "203.0.113.0/24";

fn ctx() -> Ctx {
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"))
}

fn from(address: &str) -> Editor {
    Editor { address: Some(address.parse().unwrap()), acknowledged: false }
}

fn on(admin_bypass: bool) -> Settings {
    Settings { mode: Mode::Allowlist, admin_bypass, ..Settings::default() }
}

#[tokio::test]
async fn memory_store_passes_the_suite() {
    netpolicy::conformance::store(&ctx(), &mut MemoryStore::default()).await.unwrap();
}

#[tokio::test]
async fn every_change_that_locks_everybody_out_is_refused() {
    let (ctx, mut store) = (ctx(), MemoryStore::default());
    let inside = from("203.0.113.7");
    // Turning on the policy.
    let refused = set(&mut store, inside, on(false)).await;
    assert!(matches!(refused, Err(Error::Lockout)));
    let by = Editor { acknowledged: true, ..inside };
    assert!(
        matches!(set(&mut store, by, on(false)).await, Err(Error::Lockout)),
        "acknowledging does not permit a lockout"
    );
    // Removing the administrators' bypass.
    set(&mut store, inside, on(true)).await.unwrap();
    assert!(matches!(set(&mut store, inside, on(false)).await, Err(Error::Lockout)));
    // Removing the last rule.
    let rule = add(&ctx, &mut store, OFFICE, "Office").await.unwrap();
    set(&mut store, inside, on(false)).await.unwrap();
    assert!(matches!(remove(&mut store, by, &rule.id).await, Err(Error::Lockout)));
    set(&mut store, inside, on(true)).await.unwrap();
    assert_eq!(remove(&mut store, inside, &rule.id).await.unwrap(), rule);
    assert!(store.network_rules().await.unwrap().is_empty());
}

#[tokio::test]
async fn blocking_the_own_address_needs_confirmation() {
    let (ctx, mut store) = (ctx(), MemoryStore::default());
    let (inside, outside) = (from("203.0.113.7"), from("198.51.100.7"));
    let unknown = Editor { address: None, acknowledged: false };
    let office = add(&ctx, &mut store, OFFICE, "Office").await.unwrap();
    let other = add(&ctx, &mut store, "192.0.2.0/24", "Other").await.unwrap();
    assert!(matches!(set(&mut store, outside, on(false)).await, Err(Error::CallerNotCovered)));
    assert!(matches!(set(&mut store, unknown, on(true)).await, Err(Error::CallerNotCovered)));
    assert!(set(&mut store, outside, on(true)).await.is_ok(), "administrators bypass the policy");
    assert!(matches!(set(&mut store, outside, on(false)).await, Err(Error::CallerNotCovered)));
    let none =
        Settings { enforcement: Enforcement { sign_in: false, dashboard: false, api: false }, ..on(false) };
    assert!(set(&mut store, outside, none).await.is_ok(), "the policy protects no surface");
    let one = Settings { enforcement: Enforcement { api: true, ..none.enforcement }, ..none };
    assert!(
        matches!(set(&mut store, outside, one).await, Err(Error::CallerNotCovered)),
        "one protected surface suffices"
    );
    assert!(set(&mut store, Editor { acknowledged: true, ..outside }, on(false)).await.is_ok());
    // A caller who is blocked already can make changes without confirmation.
    assert!(remove(&mut store, outside, &other.id).await.is_ok());
    add(&ctx, &mut store, "192.0.2.0/24", "Other").await.unwrap();
    assert!(matches!(remove(&mut store, inside, &office.id).await, Err(Error::CallerNotCovered)));
    // A larger range covers the address too.
    add(&ctx, &mut store, "203.0.0.0/16", "Everything of ours").await.unwrap();
    assert!(remove(&mut store, inside, &office.id).await.is_ok());
}

#[tokio::test]
async fn rules_have_unique_ranges_valid_labels_and_a_maximum_number() {
    let (ctx, mut store) = (ctx(), MemoryStore::default());
    let rule = add(&ctx, &mut store, "::ffff:203.0.113.0/120", " Office ").await.unwrap();
    assert_eq!((rule.cidr.to_string().as_str(), rule.label.as_str()), (OFFICE, "Office"));
    assert!(
        matches!(add(&ctx, &mut store, OFFICE, "Again").await, Err(Error::Duplicate(cidr)) if cidr == rule.cidr)
    );
    assert!(matches!(add(&ctx, &mut store, "203.0.113.7/24", "x").await, Err(Error::Cidr(_))));
    for label in ["", "  ", "a\nb", &"x".repeat(MAX_LABEL + 1)] {
        assert!(matches!(add(&ctx, &mut store, "192.0.2.0/24", label).await, Err(Error::Label)), "{label:?}");
        assert!(matches!(rename(&mut store, &rule.id, label).await, Err(Error::Label)), "{label:?}");
    }
    let (renamed, changed) = rename(&mut store, &rule.id, "Head office").await.unwrap();
    assert!(changed && renamed.label == "Head office" && renamed.cidr == rule.cidr);
    assert!(!rename(&mut store, &rule.id, "Head office").await.unwrap().1);
    for number in 1..MAX_RULES {
        let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
        add(&ctx, &mut store, &format!("10.0.{high}.{low}"), "x").await.unwrap();
    }
    assert!(matches!(add(&ctx, &mut store, "192.0.2.0/24", "x").await, Err(Error::TooMany)));
    assert!(matches!(add(&ctx, &mut store, OFFICE, "x").await, Err(Error::Duplicate(_))));
    let removed = remove(&mut store, from("203.0.113.7"), &rule.id).await.unwrap();
    assert_eq!(removed, renamed);
    for gone in [
        remove(&mut store, from("203.0.113.7"), &rule.id).await.map(drop),
        rename(&mut store, &rule.id, "x").await.map(drop),
    ] {
        assert!(matches!(gone, Err(Error::NotFound)));
    }
}
