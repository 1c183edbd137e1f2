//! `GET /api/settings/audit-log/activity`: audit entries per day.

use actix_web::get;
use audit::DayCount;
use kernel::Ctx;
use serde::Serialize;
use store::Tx;
use utoipa::{IntoParams, ToSchema};

use crate::api::{Answer, Call, query::query};
use gate::{body::answer, errors::Problem, permissions::ReadAudit};

/// Default and maximum number of days.
const USUAL: i64 = 30;
const LONGEST: i64 = 90;

/// Of how many days.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what the operation reads")]
struct ActivityQuery {
    /// Number of days including today: 30 by default, at most 90.
    #[param(minimum = 1, maximum = 90)]
    days: Option<i64>,
}

/// Audit entries per day.
#[derive(Serialize, ToSchema)]
struct Activity {
    /// Oldest first.
    days: Vec<DayCount>,
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
pub(crate) async fn get_audit_activity(call: Call<ReadAudit>) -> Answer {
    let malformed = || Problem::invalid_request(format!("days: write a number from 1 to {LONGEST}"));
    let days = match query(&call.request, "days").filter(|value| !value.is_empty()) {
        None => USUAL,
        Some(value) => {
            value.parse().ok().filter(|days| (1..=LONGEST).contains(days)).ok_or_else(malformed)?
        }
    };
    let count = async move |ctx: &Ctx, tx: &mut Tx| audit::count_days(tx, &[], ctx.now, days).await;
    Ok(answer(&Activity { days: call.scan(count).await? }))
}
