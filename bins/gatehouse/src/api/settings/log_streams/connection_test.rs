//! `POST /api/settings/log-streams/{id}/test`

use std::time::Instant;

use actix_web::post;
use credentials::attempts;
use kernel::Ctx;
use log_streams::{Problem as StreamProblem, SealSecret, Sender, empty_batch};
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, settings::event_source};
use gate::{body::answer, errors::Problem, permissions::ManageLogStreams};

/// Result of a test of a log stream.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LogStreamTestResult {
    /// Whether the receiver accepted the event.
    accepted: bool,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<StreamProblem>,
    elapsed_ms: u64,
}

/// Test a log stream
///
/// Sends an event without an audit entry once, and returns the result: the checkpoint at the end of an empty range.
/// Works for disabled streams. Ten per minute and tenant, together with tests of webhooks.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The result, also if the test failed.", body = LogStreamTestResult),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/log-streams/{id}/test")]
pub(crate) async fn test_log_stream(call: Call<ManageLogStreams>) -> Answer {
    let id = call.id()?;
    call.attempt(attempts::webhook_test(call.tenant())).await?;
    let find = async move |_: &Ctx, tx: &mut Tx| log_streams::find(tx, &id).await;
    let (stream, state) = call.read(find).await?;
    let keys = call.site.pipeline.keys.log_streams();
    let secret = stream.sealed.as_ref().map(|sealed| keys.open(&stream.id, sealed)).transpose();
    let (source, now) = (event_source(call.tenant()), call.env().now());
    let batch = empty_batch(&stream, state.position, (&source, now)).map_err(Problem::unexpected)?;
    let sending = call.site.log_sending(call.site.webhooks.client.clone());
    let start = Instant::now();
    let problem = match secret {
        Err(_) => Some(StreamProblem::new("KEY")),
        Ok(secret) => {
            let sender = Sender::new(&sending, &stream, secret, &source);
            call.without_slot(sender.send(&batch, now)).await?.err().map(|error| error.problem)
        }
    };
    let elapsed_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let code = problem.as_ref().map(|problem| problem.code.as_str());
    tracing::info!(stream = stream.id.as_str(), problem = code, "a log stream was tested");
    Ok(answer(&LogStreamTestResult { accepted: problem.is_none(), problem, elapsed_ms }))
}
