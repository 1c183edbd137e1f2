//! `/api/ssf/subjects`: the accounts that a receiver's stream is about (SSF 1.0, section 8.1.3).

use actix_web::{HttpResponse, post};
use audit::{Audited, Event, events::signals::SignalSubjectChanged};
use kernel::Ctx;
use serde::Deserialize;
use signals::Subject;
use store::Tx;
use utoipa::ToSchema;

use super::managing::Managing;
use crate::api::{Answer, Call};
use gate::{body::Json, errors::Problem, permissions::ReceiveSignals};

/// A subject of a stream.
#[derive(Deserialize, ToSchema)]
struct SignalSubjectBody {
    /// `sst_…`
    stream_id: String,
    subject: Subject,
    /// Whether the receiver has verified the subject. It is ignored.
    #[serde(default)]
    #[schema(nullable = false)]
    #[expect(dead_code, reason = "a member of the protocol")]
    verified: Option<bool>,
}

/// Add a subject to a stream
///
/// A stream is about all accounts; this adds one again that was removed. An unknown subject is accepted too, so that the response
/// does not reveal who has an account.
#[utoipa::path(
    security(("receiverToken" = [])),
    responses(
        (status = 200, description = "Added."),
        (status = 400, description = "A member is malformed."),
        (status = 404, description = "The receiver has no stream with this ID."),
    )
)]
#[post("/api/ssf/subjects/add")]
pub(crate) async fn add_ssf_subject(call: Call<ReceiveSignals>, body: Json<SignalSubjectBody>) -> Answer {
    change(&call, body.0, true).await?;
    Ok(HttpResponse::Ok().finish())
}

/// Remove a subject from a stream
///
/// The stream is not about it any more. An unknown subject is accepted too, so that the response does not reveal who has an
/// account. At most 10,000 subjects can be removed.
#[utoipa::path(
    security(("receiverToken" = [])),
    responses(
        (status = 204, description = "Removed."),
        (status = 400, description = "A member is malformed."),
        (status = 404, description = "The receiver has no stream with this ID."),
        (status = 409, description = "CONFLICT: 10,000 subjects are removed already."),
    )
)]
#[post("/api/ssf/subjects/remove")]
pub(crate) async fn remove_ssf_subject(call: Call<ReceiveSignals>, body: Json<SignalSubjectBody>) -> Answer {
    change(&call, body.0, false).await?;
    Ok(HttpResponse::NoContent().finish())
}

async fn change(call: &Call<ReceiveSignals>, body: SignalSubjectBody, wanted: bool) -> Result<(), Problem> {
    let managing = Managing::new(call);
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let subject = (body.stream_id.as_str(), &body.subject, wanted);
        let has_changed = managing.manager().set_subject(tx, subject).await?;
        let data = SignalSubjectChanged { receiver: managing.receiver.id.to_string(), wanted };
        let event = has_changed.then(|| Event::new(body.stream_id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes((), event.into_iter().collect()))
    };
    Ok(call.write(work).await?)
}
