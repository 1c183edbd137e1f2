//! `POST /api/settings/log-streams/{id}/resend`

use actix_web::post;
use audit::{Audited, Event, events::log_streams::LogStreamResent};
use kernel::Ctx;
use log_streams::{LogStreamStore, LogStreamView};
use serde::Deserialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ManageLogStreams,
};

/// Where a log stream continues.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LogStreamPosition {
    /// Position in the audit log of the next entry to send; 0 sends the whole log.
    from: u64,
}

/// Send audit entries again
///
/// Continues a log stream at any position of the audit log: an earlier one sends entries again, a later one skips
/// some. Receivers recognize repeated entries by their position.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The log stream.", body = LogStreamView),
        (status = 400, description = "The position is after the end of the audit log."),
    )
)]
#[post("/api/settings/log-streams/{id}/resend")]
pub(crate) async fn resend_log_stream(call: Call<ManageLogStreams>, body: Json<LogStreamPosition>) -> Answer {
    let (id, from) = (call.id()?, body.0.from);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (stream, state) = log_streams::resend(ctx, tx, &id, from).await?;
        let view = LogStreamView::new(&stream, &state, tx.log_size().await?);
        Ok::<_, Problem>(Audited::new(view, Event::new(id.as_str(), &LogStreamResent { from })))
    };
    Ok(answer(&call.write(work).await?))
}
