//! `/api/settings/log-streams`: streams of the audit log to SIEM systems.

pub(crate) mod connection_test;
pub(crate) mod resend;

use actix_web::{delete, get, patch, post};
use audit::{
    Audited, Event,
    events::log_streams::{LogStreamCreated, LogStreamDeleted, LogStreamUpdated},
};
use kernel::Ctx;
use log_streams::{Change, LogStreamStore, LogStreamView, New};
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, me::factors::Deleted};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{ManageLogStreams, Permission},
};

/// The log streams of the tenant.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogStreamList {
    /// Oldest first.
    log_streams: Vec<LogStreamView>,
}

/// List log streams
///
/// With how far each is, and what the last problem was while it fails.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All log streams of the tenant.", body = LogStreamList))
)]
#[get("/api/settings/log-streams")]
pub(crate) async fn list_log_streams(call: Call<ManageLogStreams>) -> Answer {
    Ok(answer(&log_stream_list(&call).await?))
}

/// Returns the log streams of the tenant.
pub(crate) async fn log_stream_list<P: Permission>(call: &Call<P>) -> Result<LogStreamList, Problem> {
    let work = async |_: &Ctx, tx: &mut Tx| {
        let (found, size) = (tx.log_streams().await?, tx.log_size().await?);
        let views = found.iter().map(|(stream, state)| LogStreamView::new(stream, state, size)).collect();
        Ok::<_, Problem>(LogStreamList { log_streams: views })
    };
    Ok(call.read(work).await?)
}

/// Add a log stream
///
/// Sends the sealed entries of the audit log in their order, each at least once, as events of OCSF 1.7.0. A tenant has
/// at most 20 log streams. Needs the permissions `manage:webhooks` and `read:audit`, as all operations of log streams.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The log stream.", body = LogStreamView),
        (status = 400, description = "A member is malformed, missing, or belongs to another type; or the URL is not allowed."),
        (status = 409, description = "CONFLICT: the tenant has 20 log streams."),
    )
)]
#[post("/api/settings/log-streams")]
pub(crate) async fn create_log_stream(call: Call<ManageLogStreams>, body: Json<New>) -> Answer {
    let (guard, keys) = (call.site.webhooks.client.guard().clone(), call.site.pipeline.keys.log_streams());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (stream, state) = log_streams::create(ctx, tx, (&guard, &keys), body.0).await?;
        let view = LogStreamView::new(&stream, &state, tx.log_size().await?);
        let data =
            LogStreamCreated { r#type: stream.destination.kind.as_str().to_owned(), from: state.position };
        Ok::<_, Problem>(Audited::new(view, Event::new(stream.id.as_str(), &data)))
    };
    Ok(answer(&call.write(work).await?))
}

/// Get a log stream
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The log stream.", body = LogStreamView))
)]
#[get("/api/settings/log-streams/{id}")]
pub(crate) async fn get_log_stream(call: Call<ManageLogStreams>) -> Answer {
    let id = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let (stream, state) = log_streams::find(tx, &id).await?;
        Ok::<_, Problem>(LogStreamView::new(&stream, &state, tx.log_size().await?))
    };
    Ok(answer(&call.read(work).await?))
}

/// Update a log stream
///
/// The next batch is sent with the new settings, at once if the stream was failing. If the receiver changes, write its
/// secret again.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The log stream.", body = LogStreamView),
        (status = 400, description = "A member is malformed, missing, or belongs to another type; or the URL is not allowed."),
    )
)]
#[patch("/api/settings/log-streams/{id}")]
pub(crate) async fn change_log_stream(call: Call<ManageLogStreams>, body: Json<Change>) -> Answer {
    let id = call.id()?;
    let (guard, keys) = (call.site.webhooks.client.guard().clone(), call.site.pipeline.keys.log_streams());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (stream, state, changed) = log_streams::change(ctx, tx, (&guard, &keys), &id, body.0).await?;
        let view = LogStreamView::new(&stream, &state, tx.log_size().await?);
        let changed: Vec<_> = changed.into_iter().map(str::to_owned).collect();
        let event = (!changed.is_empty()).then(|| Event::new(id.as_str(), &LogStreamUpdated { changed }));
        Ok::<_, Problem>(Audited::of_changes(view, event.into_iter().collect()))
    };
    Ok(answer(&call.write(work).await?))
}

/// Delete a log stream
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Deleted.", body = Deleted))
)]
#[delete("/api/settings/log-streams/{id}")]
pub(crate) async fn delete_log_stream(call: Call<ManageLogStreams>) -> Answer {
    let id = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        log_streams::remove(tx, &id).await?;
        Ok::<_, Problem>(Audited::new((), Event::new(id.as_str(), &LogStreamDeleted {})))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
