//! `/api/ssf/status`: the status of a receiver's stream (SSF 1.0, section 8.1.2).

use actix_web::{get, post};
use audit::Audited;
use kernel::Ctx;
use serde::Deserialize;
use signals::{Status, StatusView};
use store::Tx;
use utoipa::ToSchema;

use super::{managing::Managing, stream::updated};
use crate::api::{Answer, Call, query::query};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ReceiveSignals,
};

/// The new status of a stream.
#[derive(Deserialize, ToSchema)]
struct SignalStatusBody {
    /// `sst_…`
    stream_id: String,
    status: Status,
    /// Why the status changes.
    #[serde(default)]
    #[schema(nullable = false, max_length = 500)]
    reason: Option<String>,
}

/// Get the status of a stream
#[utoipa::path(
    security(("receiverToken" = [])),
    params(("stream_id" = String, Query, description = "sst_…")),
    responses(
        (status = 200, description = "The status.", body = StatusView),
        (status = 404, description = "The receiver has no stream with this ID."),
    )
)]
#[get("/api/ssf/status")]
pub(crate) async fn get_ssf_status(call: Call<ReceiveSignals>) -> Answer {
    let (managing, id) = (Managing::new(&call), query(&call.request, "stream_id").unwrap_or_default());
    let work =
        async move |_: &Ctx, tx: &mut Tx| managing.manager().find(tx, &id).await.map_err(Problem::from);
    Ok(answer(&StatusView::from(&call.read(work).await?)))
}

/// Change the status of a stream
///
/// A paused stream keeps its events for seven days. A disabled one has none.
#[utoipa::path(
    security(("receiverToken" = [])),
    responses(
        (status = 200, description = "The status.", body = StatusView),
        (status = 400, description = "A member is malformed."),
        (status = 403, description = "FORBIDDEN with reason RECEIVER_DISABLED."),
        (status = 404, description = "The receiver has no stream with this ID."),
    )
)]
#[post("/api/ssf/status")]
pub(crate) async fn set_ssf_status(call: Call<ReceiveSignals>, body: Json<SignalStatusBody>) -> Answer {
    let managing = Managing::new(&call);
    let SignalStatusBody { stream_id, status, reason } = body.0;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let change = (stream_id.as_str(), status, reason);
        let (stream, has_changed) = managing.manager().set_status(ctx, tx, change).await?;
        let event = has_changed.then(|| updated(&stream));
        Ok::<_, Problem>(Audited::of_changes(stream, event.into_iter().collect()))
    };
    Ok(answer(&StatusView::from(&call.write(work).await?)))
}
