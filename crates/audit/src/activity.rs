//! Numbers of entries per day.

use kernel::{StoreResult, Timestamp};
use serde::Serialize;

use crate::AuditQueryStore;

/// Maximum number of counted entries per day.
pub const MAX_COUNTED: usize = 10_000;
/// Milliseconds per day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Number of entries on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ShownDay))]
pub struct DayCount {
    /// Start of the day (UTC).
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    pub from: Timestamp,
    /// Start of the next day.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    pub to: Timestamp,
    /// Number of entries; 10,000 means 10,000 or more.
    pub count: usize,
}

/// Counts the entries of each of the last `days` days, including that of `now`: those of these actions, or all if none
/// are named. Oldest first.
pub async fn count_days(
    store: &mut dyn AuditQueryStore,
    actions: &[&str],
    now: Timestamp,
    days: i64,
) -> StoreResult<Vec<DayCount>> {
    let now = now.unix_millis();
    let first = now - now.rem_euclid(DAY) - (days - 1) * DAY;
    let mut counts = Vec::new();
    for day in 0..days {
        let [from, to] = [day, day + 1].map(|day| Timestamp::from_unix_millis(first + day * DAY));
        let mut count = 0;
        if actions.is_empty() {
            count = store.count(None, from, to, MAX_COUNTED).await?;
        }
        for action in actions {
            count += store.count(Some(action), from, to, MAX_COUNTED).await?;
        }
        counts.push(DayCount { from, to, count: count.min(MAX_COUNTED) });
    }
    Ok(counts)
}
