//! `POST /api/ssf/verify` (SSF 1.0, section 8.1.4)

use actix_web::{HttpResponse, post};
use audit::{Audited, Event, events::signals::SignalStreamVerified};
use kernel::Ctx;
use serde::Deserialize;
use store::Tx;
use utoipa::ToSchema;

use super::managing::Managing;
use crate::api::{Answer, Call};
use gate::{body::Json, errors::Problem, permissions::ReceiveSignals};

/// A verification request.
#[derive(Deserialize, ToSchema)]
struct SignalVerificationBody {
    /// `sst_…`
    stream_id: String,
    /// Repeated in the verification event.
    #[serde(default)]
    #[schema(nullable = false, max_length = 1_000)]
    state: Option<String>,
}

/// Request a verification event
///
/// The event arrives on the stream within seconds, after the events that wait; a paused stream delivers it once it is enabled.
/// At most one request in 10 seconds.
#[utoipa::path(
    security(("receiverToken" = [])),
    responses(
        (status = 204, description = "The event is queued."),
        (status = 400, description = "A member is malformed."),
        (status = 404, description = "The receiver has no stream with this ID."),
        (status = 429, description = "RATE_LIMITED: the last request was less than 10 seconds ago. Header Retry-After."),
    )
)]
#[post("/api/ssf/verify")]
pub(crate) async fn verify_ssf_stream(
    call: Call<ReceiveSignals>,
    body: Json<SignalVerificationBody>,
) -> Answer {
    let (managing, body) = (Managing::new(&call), body.0);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        managing.manager().verify(ctx, tx, (&body.stream_id, body.state)).await?;
        let data = SignalStreamVerified { receiver: managing.receiver.id.to_string() };
        Ok::<_, Problem>(Audited::new((), Event::new(body.stream_id.as_str(), &data)))
    };
    call.write(work).await?;
    Ok(HttpResponse::NoContent().finish())
}
