//! `GET /api/settings/audit-log/export`: the audit log as a file.

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder, get,
    http::header::{self, HeaderName, HeaderValue},
    web,
};
use audit::{
    Audited, Event, ListedEntry, csv,
    events::audit_log::{AuditLogExportFinished, AuditLogExported},
};
use futures_util::stream;
use kernel::{Ctx, Timestamp};
use serde::Serialize;
use store::{Export, ExportOutcome, Exported, Proof, Tx};
use tokio::sync::oneshot;
use utoipa::IntoParams;

use super::{
    AuditFilter, ShownEntry, by_sequence, filter,
    proofs::{commitment, encoded},
};
use crate::api::{Answer, Call, Site, openapi::values, query::query};
use gate::{
    access::{Access, Gate, record},
    errors::Problem,
    permissions::Administer,
};

/// Maximum entries per export.
const MOST: usize = 50_000;
/// `Retry-After` in seconds.
const LATER: u64 = 10;
/// Approximate size of a chunk in bytes.
const CHUNK: usize = 64 * 1024;

const TRUNCATED: HeaderName = HeaderName::from_static("x-export-truncated");
const ESCAPING: HeaderName = HeaderName::from_static("x-export-formula-escaping");

/// How an export is written.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what `Format` reads")]
struct ExportQuery {
    /// `csv` (default) or `ndjson`.
    #[param(value_type = Option<values::ExportFormat>, inline)]
    format: Option<String>,
    /// `true`, with `ndjson`: the first line is the checkpoint and each entry has its inclusion proof, for `gatehouse audit verify`.
    proofs: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Ndjson,
}

impl Format {
    fn of(request: &HttpRequest) -> Result<Self, Problem> {
        match query(request, "format").as_deref() {
            None | Some("" | "csv") => Ok(Self::Csv),
            Some("ndjson") => Ok(Self::Ndjson),
            Some(_) => Err(Problem::invalid_request("format: write csv or ndjson")),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Ndjson => "application/x-ndjson",
        }
    }

    /// Builds the status and headers of a starting export.
    fn answer(self, now: Timestamp, is_truncated: bool) -> HttpResponseBuilder {
        let name = format!(
            "attachment; filename=\"audit-log-{}.{}\"",
            now.naive().format("%Y-%m-%d"),
            self.as_str()
        );
        let mut answer = HttpResponse::Ok();
        answer.content_type(self.content_type());
        answer.insert_header((header::CONTENT_DISPOSITION, name));
        answer.insert_header((header::CACHE_CONTROL, "no-store"));
        if is_truncated {
            answer.insert_header((TRUNCATED, HeaderValue::from_static("true")));
        }
        if self == Self::Csv {
            answer.insert_header((ESCAPING, HeaderValue::from_static("apostrophe")));
        }
        answer
    }

    fn head(self) -> Vec<u8> {
        match self {
            Self::Csv => csv::HEADER.into(),
            Self::Ndjson => Vec::new(),
        }
    }

    fn line(self, out: &mut Vec<u8>, exported: Exported, with_proofs: bool) -> Result<(), Problem> {
        match self {
            Self::Csv => csv::line(out, &exported.listed),
            // Entries that are not sealed yet have no proof; leave them out.
            Self::Ndjson if with_proofs => {
                if let Exported { listed, proof: Some(proof) } = exported {
                    json_line(out, &ProvedEntry::new(listed, &proof)?)?;
                }
            }
            Self::Ndjson => json_line(out, &ShownEntry::try_from(exported.listed)?)?,
        }
        Ok(())
    }
}

fn json_line(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Problem> {
    serde_json::to_writer(&mut *out, value).map_err(Problem::unexpected)?;
    out.push(b'\n');
    Ok(())
}

/// Returns whether the request asks for proofs.
fn with_proofs(request: &HttpRequest, format: Format) -> Result<bool, Problem> {
    match query(request, "proofs").as_deref() {
        None | Some("" | "false") => Ok(false),
        Some("true") if format == Format::Ndjson => Ok(true),
        Some("true") => Err(Problem::invalid_request("proofs: with format=ndjson")),
        Some(_) => Err(Problem::invalid_request("proofs: write true or false")),
    }
}

/// An exported entry with its proof.
#[derive(Serialize)]
struct ProvedEntry {
    #[serde(flatten)]
    entry: ShownEntry,
    proof: EntryProof,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryProof {
    sequence: u64,
    path: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip_salt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip_commitment: Option<String>,
}

impl ProvedEntry {
    fn new(listed: ListedEntry, proof: &Proof) -> Result<Self, Problem> {
        let (ip_salt, ip_commitment) = commitment(&listed.entry);
        let path = encoded(&proof.path);
        let proof = EntryProof { sequence: proof.sequence, path, ip_salt, ip_commitment };
        Ok(Self { entry: ShownEntry::try_from(listed)?, proof })
    }
}

/// A running export.
struct RunningExport {
    export: Export,
    /// The exporting caller, checked again before each chunk.
    access: Access<Administer>,
    format: Format,
    with_proofs: bool,
    /// Bytes not yet sent.
    buffer: Vec<u8>,
    has_ended: bool,
}

impl RunningExport {
    /// Returns the next bytes, or `None` at the end. An error cuts the connection, so that clients do not take a
    /// partial
    /// file for the whole.
    async fn next(&mut self) -> Option<Result<web::Bytes, Problem>> {
        if self.has_ended {
            return None;
        }
        while self.buffer.len() < CHUNK {
            let lines = match self.export.next().await {
                Some(Ok(some)) => {
                    let (format, proofs) = (self.format, self.with_proofs);
                    some.into_iter().try_for_each(|exported| format.line(&mut self.buffer, exported, proofs))
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
        if let Err(problem) = self.access.still_admitted().await {
            return Some(Err(self.cut_off(problem)));
        }
        let bytes = std::mem::take(&mut self.buffer);
        (!bytes.is_empty()).then(|| Ok(bytes.into()))
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
        let outcome = match ending {
            ExportOutcome::Completed => "COMPLETED",
            ExportOutcome::Abandoned => "ABANDONED",
            ExportOutcome::TimedOut => "TIMED_OUT",
            ExportOutcome::Failed => "FAILED",
        };
        let event = Event::new(ctx.tenant.as_str(), &AuditLogExportFinished { rows, outcome });
        let ctx = Ctx { now: gate.env().now(), ..ctx };
        record(gate, ctx, event).await;
        drop(answering);
    });
}

/// Returns the names of the filter parameters in the request, as written.
fn names(request: &HttpRequest) -> Vec<String> {
    let all = ["userId", "action", "resourceType", "resourceId", "q", "from", "to"];
    let is_set = |name: &&str| query(request, name).is_some_and(|value| !value.is_empty());
    all.into_iter().filter(is_set).map(str::to_owned).collect()
}

/// Export the audit log
///
/// A snapshot of at most 50,000 entries, newest first. An audit entry records the start of the export before its
/// first byte, and another its end. One export at a time per user, two per tenant.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(AuditFilter, ExportQuery),
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
pub(crate) async fn export_audit_log(call: Call<Administer>) -> Answer {
    let (filter, format) = (filter(&call.request)?, Format::of(&call.request)?);
    let with_proofs = with_proofs(&call.request, format)?;
    if by_sequence(&call.request)? {
        return Err(Problem::invalid_request("order: exports are newest first"));
    }
    let user = call.caller().holder().user.clone();
    let Some(slot) = call.site.audit.exports.take(call.tenant(), user.as_str()) else {
        return Err(Problem::busy("another audit log export is running", LATER));
    };
    let data = AuditLogExported { format: format.as_str(), filters: names(&call.request) };
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
    let export = call.export(filter, MOST, with_proofs, call.site.audit.export_limit, ended).await?;
    let mut answer = format.answer(call.ctx().now, export.is_cut);
    let mut buffer = format.head();
    if with_proofs {
        json_line(&mut buffer, &serde_json::json!({ "checkpoint": export.checkpoint }))?;
    }
    let running =
        RunningExport { export, access: call.into_access(), format, with_proofs, buffer, has_ended: false };
    let body = stream::unfold(running, async |mut running| Some((running.next().await?, running)));
    Ok(answer.streaming(Box::pin(body)))
}
