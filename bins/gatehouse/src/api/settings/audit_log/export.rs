//! `GET /api/settings/audit-log/export`: the audit log as a file.

use actix_web::{
    HttpResponse, HttpResponseBuilder, get,
    http::header::{self, HeaderName, HeaderValue},
    web,
};
use audit::{
    Audited, Event, ExportFormat, ExportWriter, FilterParameters, Order,
    events::audit_log::{AuditLogExportFinished, AuditLogExported},
    ocsf::Source,
};
use futures_util::stream;
use kernel::{Ctx, Timestamp};
use store::{Export, ExportOutcome, Tx};
use tokio::sync::oneshot;
use utoipa::IntoParams;

use super::{event_source, filter, order};
use crate::api::{Answer, Call, Site, query::query};
use gate::{
    access::{Access, Gate, record},
    errors::Problem,
    permissions::ReadAudit,
};

/// Maximum entries per export.
const MOST: usize = 50_000;
/// `Retry-After` in seconds.
const LATER: u64 = 10;
/// Approximate size of a chunk in bytes.
const CHUNK: usize = 64 * 1024;
/// How long a check of the caller holds, in milliseconds.
const RECHECK: i64 = 100;

const TRUNCATED: HeaderName = HeaderName::from_static("x-export-truncated");
const ESCAPING: HeaderName = HeaderName::from_static("x-export-formula-escaping");

/// How an export is written.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what `ExportWriter` reads")]
struct ExportQuery {
    /// `csv` (default), `ndjson`, or `ocsf`: one event of OCSF 1.7.0 per line.
    #[param(value_type = Option<ExportFormat>, inline)]
    format: Option<String>,
    /// `true`, with `ndjson`: the first line is the checkpoint and each entry has its inclusion proof, for `gatehouse audit verify`.
    proofs: Option<bool>,
}

/// Builds the status and headers of a starting export.
fn respond(writer: ExportWriter, now: Timestamp, is_truncated: bool) -> HttpResponseBuilder {
    let disposition = format!("attachment; filename=\"{}\"", writer.file_name(now));
    let mut answer = HttpResponse::Ok();
    answer.content_type(writer.format.media_type());
    answer.insert_header((header::CONTENT_DISPOSITION, disposition));
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    if is_truncated {
        answer.insert_header((TRUNCATED, HeaderValue::from_static("true")));
    }
    if writer.format == ExportFormat::Csv {
        answer.insert_header((ESCAPING, HeaderValue::from_static("apostrophe")));
    }
    answer
}

/// A running export.
struct RunningExport {
    export: Export,
    /// The exporting caller, checked again before a chunk if the last check is older than [`RECHECK`].
    access: Access<ReadAudit>,
    checked: Timestamp,
    writer: ExportWriter,
    /// What OCSF events name as their source.
    source: Source,
    /// Bytes not yet sent.
    buffer: Vec<u8>,
    has_ended: bool,
}

impl RunningExport {
    fn new(call: Call<ReadAudit>, export: Export, writer: ExportWriter) -> Self {
        let (buffer, checked) = (writer.head(export.checkpoint.as_deref()), call.ctx().now);
        let source = event_source(call.tenant());
        Self { export, access: call.into_access(), checked, writer, source, buffer, has_ended: false }
    }

    /// Returns the next bytes, or `None` at the end. An error cuts the connection, so that clients do not take a
    /// partial file for the whole.
    async fn next(&mut self) -> Option<Result<web::Bytes, Problem>> {
        if self.has_ended {
            return None;
        }
        while self.buffer.len() < CHUNK {
            let lines = match self.export.next().await {
                Some(Ok(some)) => {
                    let written = some
                        .into_iter()
                        .try_for_each(|one| self.writer.line(&mut self.buffer, one, &self.source));
                    written.map_err(Problem::unexpected)
                }
                Some(Err(error)) => Err(error.into()),
                None => {
                    self.has_ended = true;
                    break;
                }
            };
            if let Err(problem) = lines {
                return Some(Err(self.cut_off(problem)));
            }
        }
        if let Err(problem) = self.recheck().await {
            return Some(Err(self.cut_off(problem)));
        }
        let bytes = std::mem::take(&mut self.buffer);
        (!bytes.is_empty()).then(|| Ok(bytes.into()))
    }

    /// Returns an error if the caller may no longer read the audit log.
    async fn recheck(&mut self) -> Result<(), Problem> {
        let now = self.access.env().now();
        let is_recent = self.checked <= now && now < self.checked.plus_millis(RECHECK);
        if !is_recent {
            self.access.still_admitted().await?;
            self.checked = now;
        }
        Ok(())
    }

    fn cut_off(&mut self, problem: Problem) -> Problem {
        self.has_ended = true;
        tracing::warn!(code = problem.code(), "an audit log export was interrupted");
        problem
    }
}

/// Records the outcome of an export in the audit log when it ends, or a failure if it never started. Shutdown waits
/// for this.
fn record_end(site: &Site, gate: web::Data<Gate>, ctx: Ctx, ended: oneshot::Receiver<(ExportOutcome, u64)>) {
    let answering = site.pipeline.load.arrived();
    actix_web::rt::spawn(async move {
        let (ending, rows) = ended.await.unwrap_or((ExportOutcome::Failed, 0));
        let outcome = ending.as_str();
        let event = Event::new(ctx.tenant.as_str(), &AuditLogExportFinished { rows, outcome });
        let ctx = Ctx { now: gate.env().now(), ..ctx };
        record(gate, ctx, event).await;
        drop(answering);
    });
}

/// Export the audit log
///
/// A snapshot of at most 50,000 entries, newest first. An audit entry records the start of the export before its
/// first byte, and another its end. One export at a time per user, two per tenant.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(FilterParameters, ExportQuery),
    responses(
        (
            status = 200,
            description = "The file. `X-Export-Truncated: true` if there are more entries. In CSV an apostrophe precedes values \
                           that a spreadsheet would read as a formula (`X-Export-Formula-Escaping: apostrophe`).",
            content((String = "text/csv"), (String = "application/x-ndjson"))
        ),
        (status = 400, description = "A parameter is malformed."),
        (status = 429, description = "RATE_LIMITED: another export is running."),
    )
)]
#[get("/api/settings/audit-log/export")]
pub(crate) async fn export_audit_log(call: Call<ReadAudit>) -> Answer {
    let (filter, filters) = filter(&call.request)?;
    let said = |name| query(&call.request, name);
    let writer = ExportWriter::read(said("format").as_deref(), said("proofs").as_deref())?;
    if order(&call.request)? == Order::Sequence {
        return Err(Problem::invalid_request("order: exports are newest first"));
    }
    let user = call.caller().holder().user.clone();
    let Some(slot) = call.site.audit.exports.take(call.tenant(), user.as_str()) else {
        return Err(Problem::busy("another audit log export is running", LATER));
    };
    let data = AuditLogExported { format: writer.format.as_str(), filters };
    let began = async move |ctx: &Ctx, _: &mut Tx| {
        Ok::<_, Problem>(Audited::new((), Event::new(ctx.tenant.as_str(), &data)))
    };
    call.write(began).await?;
    let (send_end, end) = oneshot::channel();
    record_end(&call.site, call.gate(), call.ctx().clone(), end);
    let ended = move |ending, rows| {
        drop(slot);
        let _gone = send_end.send((ending, rows));
    };
    let export = call.export(filter, MOST, writer.with_proofs, call.site.audit.export_limit, ended).await?;
    let mut answer = respond(writer, call.ctx().now, export.is_cut);
    let running = RunningExport::new(call, export, writer);
    let body = stream::unfold(running, async |mut running| Some((running.next().await?, running)));
    Ok(answer.streaming(Box::pin(body)))
}
