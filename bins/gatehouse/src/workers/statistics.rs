//! Keeps the statistics of a young database current, so that it is as fast as an old one.

use std::{sync::Arc, time::Duration};

use store::{Across, Store};
use tokio::time::{MissedTickBehavior, interval};

/// Pause between looks at the sizes of tables.
const EVERY: Duration = Duration::from_secs(5);

/// Analyzes tables that have grown, until it is dropped.
pub(crate) async fn keep(store: Arc<Store>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let look = async |across: &mut Across| across.analyze_grown_tables().await;
        match store.across(look).await {
            Ok(tables) if tables.is_empty() => {}
            Ok(tables) => tracing::info!(tables = tables.join(", "), "analyzed tables that have grown"),
            Err(error) => tracing::warn!(%error, "tables that have grown could not be analyzed"),
        }
    }
}
