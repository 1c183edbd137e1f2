//! Integrity of the audit log: its signed checkpoint, and proofs against it.

use actix_web::{
    HttpResponse, get,
    http::header::{ACCEPT, VARY},
};
use audit::log::{
    CheckpointKey, ConsistencyProof, InclusionProof, NewestCheckpoint, newest_checkpoint, prove_consistency,
    prove_inclusion,
};
use kernel::Ctx;
use store::Tx;
use utoipa::IntoParams;

use crate::api::{Answer, Call, query::query};
use gate::{body::answer, errors::Problem, permissions::ReadAudit};

/// Returns the keys that verify the checkpoints of the caller's tenant.
pub(super) fn keys(call: &Call<ReadAudit>) -> Vec<CheckpointKey> {
    call.site.pipeline.keys.checkpoints().of(call.tenant().as_str())
}

/// Get the checkpoint of the audit log
///
/// The signed state of the log. Keep a copy elsewhere: any later change of earlier entries becomes detectable.
/// Returns a note as `text/plain`, or JSON on request.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (
            status = 200,
            description = "The checkpoint.",
            content((String = "text/plain"), (NewestCheckpoint = "application/json"))
        ),
        (status = 404, description = "No entry is sealed yet."),
    )
)]
#[get("/api/settings/audit-log/checkpoint")]
pub(crate) async fn get_audit_checkpoint(call: Call<ReadAudit>) -> Answer {
    let keys = keys(&call);
    let look = async move |_: &Ctx, tx: &mut Tx| newest_checkpoint(tx, &keys).await;
    let checkpoint = call.read(look).await?;
    let accepted = call.request.headers().get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    let mut answer = if accepted.into_iter().any(|value| value.contains("json")) {
        answer(&checkpoint)
    } else {
        HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(checkpoint.note)
    };
    answer.headers_mut().append(VARY, ACCEPT.into());
    Ok(answer)
}

/// Get an inclusion proof
///
/// Proves that the log of the newest checkpoint contains the entry. To verify it, hash the entry, follow the path and
/// compare the result with the signed root hash.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(("id" = String, Path, description = "`aud_…`")),
    responses(
        (status = 200, description = "The proof.", body = InclusionProof),
        (status = 404, description = "The audit log has no such entry, or it was purged."),
        (status = 409, description = "NOT_SEALED: the entry is not sealed yet; repeat the request after a second."),
    )
)]
#[get("/api/settings/audit-log/{id}/proof")]
pub(crate) async fn get_audit_proof(call: Call<ReadAudit>) -> Answer {
    let (id, keys): (String, _) = (call.id()?, keys(&call));
    let prove = async move |_: &Ctx, tx: &mut Tx| prove_inclusion(tx, &keys, id).await;
    Ok(answer(&call.read(prove).await?))
}

/// Between which logs.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what the operation reads")]
struct ConsistencyQuery {
    /// Size of the earlier log, from a checkpoint that you kept.
    from: u64,
    /// Size of the later log. Default: the newest checkpoint.
    to: Option<u64>,
}

/// Get a consistency proof
///
/// Proves that the log at one size is a prefix of the log at a larger size.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(ConsistencyQuery),
    responses(
        (status = 200, description = "The proof.", body = ConsistencyProof),
        (status = 400, description = "A size is malformed or larger than the log."),
        (status = 404, description = "No entry is sealed yet, or the hashes of purged entries do not suffice for the proof."),
    )
)]
#[get("/api/settings/audit-log/consistency")]
pub(crate) async fn get_audit_consistency(call: Call<ReadAudit>) -> Answer {
    let size = |name: &str| match query(&call.request, name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => value.parse::<u64>().map(Some).map_err(|_| {
            Problem::invalid_request(format!("{name}: write the size of a checkpoint, such as 1024"))
        }),
    };
    let from =
        size("from")?.ok_or_else(|| Problem::invalid_request("from: write the size of a checkpoint"))?;
    let (to, keys) = (size("to")?, keys(&call));
    let prove = async move |_: &Ctx, tx: &mut Tx| prove_consistency(tx, &keys, from, to).await;
    Ok(answer(&call.read(prove).await?))
}
