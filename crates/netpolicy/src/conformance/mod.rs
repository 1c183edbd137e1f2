//! The test suite for implementations of [`NetworkPolicyStore`], and the fuzz targets.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a conformance suite fails by panicking")]

pub mod fuzz;

use kernel::{Ctx, Id, StoreResult};

use crate::{Cidr, Mode, NetworkPolicyStore, Rule, Settings};

/// Exercises all methods of the trait. The tenant must not have a policy yet.
///
/// # Errors
/// If storage fails.
pub async fn store(ctx: &Ctx, store: &mut dyn NetworkPolicyStore) -> StoreResult<()> {
    assert_eq!(store.network_settings().await?, Settings::default(), "no policy has been set");
    assert_eq!(store.network_policy().await?, (Settings::default(), Vec::new()));
    let settings = Settings { mode: Mode::Allowlist, admin_bypass: false, ..Settings::default() };
    store.set_network_settings(&settings).await?;
    assert_eq!(store.network_settings().await?, settings);
    assert_eq!(store.network_settings_to_change().await?, settings);

    let rule = |cidr: &str, label: &str| Rule {
        id: Id::new(&*ctx.env),
        cidr: cidr.parse::<Cidr>().unwrap(),
        label: label.to_owned(),
        created_at: ctx.now,
    };
    let (office, home) = (rule("203.0.113.0/24", "Office"), rule("2001:db8::/48", "Home"));
    assert!(store.insert_network_rule(&office).await?);
    assert!(store.insert_network_rule(&home).await?);
    assert!(
        !store.insert_network_rule(&rule("203.0.113.0/24", "Again")).await?,
        "an existing range cannot be inserted again"
    );
    assert_eq!(store.count_network_rules().await?, 2);
    let ids = |rules: &[Rule]| rules.iter().map(|rule| rule.id.to_string()).collect::<Vec<_>>();
    let mut both = vec![office.clone(), home.clone()];
    both.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(ids(&store.network_rules().await?), ids(&both), "oldest first");

    assert_eq!(store.network_policy().await?, (settings, both));
    let renamed = Rule { label: "Head office".into(), ..office.clone() };
    store.rename_network_rule(&renamed).await?;
    assert!(store.network_rules().await?.contains(&renamed));
    store.delete_network_rule(&office.id).await?;
    assert_eq!(store.network_rules().await?, [home]);
    assert!(store.insert_network_rule(&office).await?, "the range of a deleted rule is free");
    Ok(())
}
