//! `/api/ssf/stream`: the configuration of a receiver's stream (SSF 1.0, section 8.1.1).

use actix_web::{HttpResponse, delete, get, patch, post, put};
use audit::{
    Audited, Event,
    events::signals::{SignalStreamCreated, SignalStreamDeleted, SignalStreamUpdated},
};
use kernel::Ctx;
use serde::Serialize;
use signals::{Stream, StreamBody, StreamView};
use store::Tx;
use utoipa::ToSchema;

use super::managing::{Managing, delivery_name, poll_url};
use crate::api::{Answer, Call, query::query};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ReceiveSignals,
};

/// The stream with the ID of the query, or all streams of the receiver.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum SignalStreams {
    One(Box<StreamView>),
    All(Vec<StreamView>),
}

fn view(call: &Call<ReceiveSignals>, managing: &Managing, stream: &Stream) -> StreamView {
    let url = poll_url(&call.site.pipeline.base_url, stream.id.as_str());
    StreamView::new(&managing.receiver, stream, &managing.issuer, url)
}

/// Create the stream of a receiver
///
/// A receiver has at most one stream. Without `delivery` it polls.
#[utoipa::path(
    security(("receiverToken" = [])),
    responses(
        (status = 201, description = "The stream.", body = StreamView),
        (status = 400, description = "A member is malformed, or the URL is not allowed."),
        (status = 403, description = "FORBIDDEN with reason RECEIVER_DISABLED."),
        (status = 409, description = "CONFLICT: the receiver has a stream."),
    )
)]
#[post("/api/ssf/stream")]
pub(crate) async fn create_ssf_stream(call: Call<ReceiveSignals>, body: Json<StreamBody>) -> Answer {
    let managing = Managing::new(&call);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let stream = managing.manager().create(ctx, tx, body.0).await?;
        let (receiver, delivery) = (stream.receiver.to_string(), delivery_name(&stream.delivery));
        let event = Event::new(stream.id.as_str(), &SignalStreamCreated { receiver, delivery });
        Ok::<_, Problem>(Audited::new((stream, managing), event))
    };
    let (stream, managing) = call.write(work).await?;
    Ok(HttpResponse::Created().json(view(&call, &managing, &stream)))
}

/// Get the stream of a receiver
///
/// Without `stream_id`, the response is an array with the receiver's stream, which is empty if it has none.
#[utoipa::path(
    security(("receiverToken" = [])),
    params(("stream_id" = Option<String>, Query, description = "sst_…")),
    responses(
        (status = 200, description = "The stream, or an array of streams.", body = SignalStreams),
        (status = 404, description = "The receiver has no stream with this ID."),
    )
)]
#[get("/api/ssf/stream")]
pub(crate) async fn get_ssf_stream(call: Call<ReceiveSignals>) -> Answer {
    let (managing, id) = (Managing::new(&call), query(&call.request, "stream_id"));
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let found = managing.manager().stream(tx).await?.map(|(stream, _)| stream);
        Ok::<_, Problem>((found, managing))
    };
    let (found, managing) = call.read(work).await?;
    let Some(id) = id else {
        let all = found.iter().map(|stream| view(&call, &managing, stream)).collect();
        return Ok(answer(&SignalStreams::All(all)));
    };
    let stream = found.filter(|stream| stream.id.as_str() == id).ok_or_else(Problem::not_found)?;
    Ok(answer(&SignalStreams::One(Box::new(view(&call, &managing, &stream)))))
}

/// Update the stream of a receiver
///
/// Changes the members that are present. `stream_id` is required.
#[utoipa::path(
    security(("receiverToken" = [])),
    responses(
        (status = 200, description = "The stream.", body = StreamView),
        (status = 400, description = "A member is malformed, or only the transmitter sets it, or the URL is not allowed."),
        (status = 404, description = "The receiver has no stream with this ID."),
    )
)]
#[patch("/api/ssf/stream")]
pub(crate) async fn update_ssf_stream(call: Call<ReceiveSignals>, body: Json<StreamBody>) -> Answer {
    change(&call, body.0, false).await
}

/// Replace the stream of a receiver
///
/// Changes all members that the receiver sets. `stream_id` and `delivery` are required.
#[utoipa::path(
    security(("receiverToken" = [])),
    responses(
        (status = 200, description = "The stream.", body = StreamView),
        (status = 400, description = "A member is malformed or missing, or only the transmitter sets it, or the URL is not allowed."),
        (status = 404, description = "The receiver has no stream with this ID."),
    )
)]
#[put("/api/ssf/stream")]
pub(crate) async fn replace_ssf_stream(call: Call<ReceiveSignals>, body: Json<StreamBody>) -> Answer {
    change(&call, body.0, true).await
}

async fn change(call: &Call<ReceiveSignals>, body: StreamBody, replaces: bool) -> Answer {
    let managing = Managing::new(call);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (stream, has_changed) = managing.manager().change(ctx, tx, body, replaces).await?;
        let event = has_changed.then(|| updated(&stream));
        Ok::<_, Problem>(Audited::of_changes((stream, managing), event.into_iter().collect()))
    };
    let (stream, managing) = call.write(work).await?;
    Ok(answer(&view(call, &managing, &stream)))
}

/// Returns the event of a changed stream.
pub(super) fn updated(stream: &Stream) -> Event {
    let (receiver, status) = (stream.receiver.to_string(), stream.status.as_str().to_owned());
    Event::new(stream.id.as_str(), &SignalStreamUpdated { receiver, status })
}

/// Delete the stream of a receiver
///
/// The events that wait are deleted.
#[utoipa::path(
    security(("receiverToken" = [])),
    params(("stream_id" = String, Query, description = "sst_…")),
    responses(
        (status = 204, description = "Deleted."),
        (status = 404, description = "The receiver has no stream with this ID."),
    )
)]
#[delete("/api/ssf/stream")]
pub(crate) async fn delete_ssf_stream(call: Call<ReceiveSignals>) -> Answer {
    let (managing, id) = (Managing::new(&call), query(&call.request, "stream_id").unwrap_or_default());
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let stream = managing.manager().delete(tx, &id).await?;
        let deleted = SignalStreamDeleted { receiver: stream.receiver.to_string() };
        Ok::<_, Problem>(Audited::new((), Event::new(stream.id.as_str(), &deleted)))
    };
    call.write(work).await?;
    Ok(HttpResponse::NoContent().finish())
}
