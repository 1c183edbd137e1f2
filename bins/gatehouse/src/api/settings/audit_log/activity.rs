//! `GET /api/settings/audit-log/activity`: how much has happened, day by day.

use actix_web::{HttpRequest, HttpResponse, get};
use audit::AuditQueryStore;
use kernel::{Ctx, StoreError, Timestamp};
use serde::Serialize;
use store::Tx;
use utoipa::{IntoParams, ToSchema};

use crate::api::query::query;
use gate::{access::Access, body::answer, errors::Problem, permissions::Administer};

/// Entries that are counted of a day at most.
const MOST: usize = 10_000;
/// Days without a word, and at most.
const USUAL: i64 = 30;
const LONGEST: i64 = 90;
/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Of how many days.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what the operation reads")]
struct ActivityQuery {
    /// Up to and with today; 30 by default, 90 at most.
    #[param(minimum = 1, maximum = 90)]
    days: Option<i64>,
}

/// Number of entries on one day.
#[derive(Serialize, ToSchema)]
struct ShownDay {
    /// Its beginning (UTC).
    #[schema(value_type = String, format = "date-time")]
    from: Timestamp,
    /// The beginning of the next.
    #[schema(value_type = String, format = "date-time")]
    to: Timestamp,
    /// Entries; 10,000 stands for that many and more.
    count: usize,
}

/// What has happened, day by day.
#[derive(Serialize, ToSchema)]
struct Activity {
    /// The oldest first.
    days: Vec<ShownDay>,
}

/// Read how much has happened
///
/// Entries of each day (UTC), the oldest first. Of a day 10,000 are counted at most.
#[utoipa::path(
    tag = "Audit log",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(ActivityQuery),
    responses(
        (status = 200, description = "The days.", body = Activity),
        (status = 400, description = "The parameter is malformed."),
    )
)]
#[get("/api/settings/audit-log/activity")]
pub(crate) async fn get_audit_activity(
    access: Access<Administer>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let malformed = || Problem::invalid_request(format!("days: write a number from 1 to {LONGEST}"));
    let days = match query(&request, "days").filter(|value| !value.is_empty()) {
        None => USUAL,
        Some(value) => {
            value.parse().ok().filter(|days| (1..=LONGEST).contains(days)).ok_or_else(malformed)?
        }
    };
    let now = access.ctx().now.unix_millis();
    let first = now - now.rem_euclid(DAY) - (days - 1) * DAY;
    let count = async move |_: &Ctx, tx: &mut Tx| {
        let mut shown = Vec::new();
        for day in 0..days {
            let [from, to] = [day, day + 1].map(|day| Timestamp::from_unix_millis(first + day * DAY));
            shown.push(ShownDay { from, to, count: tx.count(from, to, MOST).await? });
        }
        Ok::<_, StoreError>(shown)
    };
    Ok(answer(&Activity { days: access.scan(count).await? }))
}
