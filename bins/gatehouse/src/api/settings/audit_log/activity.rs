//! `GET /api/settings/audit-log/activity`: audit entries per day.

use actix_web::get;
use audit::AuditQueryStore;
use kernel::{Ctx, StoreError, Timestamp};
use serde::Serialize;
use store::Tx;
use utoipa::{IntoParams, ToSchema};

use crate::api::{Answer, Call, query::query};
use gate::{body::answer, errors::Problem, permissions::Administer};

/// Maximum number of counted entries per day.
const MOST: usize = 10_000;
/// Default and maximum number of days.
const USUAL: i64 = 30;
const LONGEST: i64 = 90;
/// Milliseconds per day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Of how many days.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what the operation reads")]
struct ActivityQuery {
    /// Number of days including today: 30 by default, at most 90.
    #[param(minimum = 1, maximum = 90)]
    days: Option<i64>,
}

/// Number of entries on one day.
#[derive(Serialize, ToSchema)]
struct ShownDay {
    /// Start of the day (UTC).
    #[schema(value_type = String, format = "date-time")]
    from: Timestamp,
    /// Start of the next day.
    #[schema(value_type = String, format = "date-time")]
    to: Timestamp,
    /// Number of entries; 10,000 means 10,000 or more.
    count: usize,
}

/// Audit entries per day.
#[derive(Serialize, ToSchema)]
struct Activity {
    /// Oldest first.
    days: Vec<ShownDay>,
}

/// Count audit entries per day
///
/// Entries per day (UTC), oldest first. Counts at most 10,000 per day.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(ActivityQuery),
    responses(
        (status = 200, description = "Entries per day.", body = Activity),
        (status = 400, description = "The parameter is malformed."),
    )
)]
#[get("/api/settings/audit-log/activity")]
pub(crate) async fn get_audit_activity(call: Call<Administer>) -> Answer {
    let malformed = || Problem::invalid_request(format!("days: write a number from 1 to {LONGEST}"));
    let days = match query(&call.request, "days").filter(|value| !value.is_empty()) {
        None => USUAL,
        Some(value) => {
            value.parse().ok().filter(|days| (1..=LONGEST).contains(days)).ok_or_else(malformed)?
        }
    };
    let now = call.ctx().now.unix_millis();
    let first = now - now.rem_euclid(DAY) - (days - 1) * DAY;
    let count = async move |_: &Ctx, tx: &mut Tx| {
        let mut shown = Vec::new();
        for day in 0..days {
            let [from, to] = [day, day + 1].map(|day| Timestamp::from_unix_millis(first + day * DAY));
            shown.push(ShownDay { from, to, count: tx.count(from, to, MOST).await? });
        }
        Ok::<_, StoreError>(shown)
    };
    Ok(answer(&Activity { days: call.scan(count).await? }))
}
