//! Integrity of the audit log: its signed checkpoint, and proofs against it.

use actix_web::{
    HttpResponse, get,
    http::header::{ACCEPT, VARY},
};
use audit::{
    StoredEntry,
    log::{Checkpoint, CheckpointKey, Nodes, consistency, inclusion},
};
use data_encoding::BASE64;
use kernel::{Ctx, Timestamp};
use serde::Serialize;
use store::Tx;
use utoipa::{IntoParams, ToSchema};

use crate::api::{Answer, Call, query::query};
use gate::{
    body::answer,
    errors::{Code, Problem},
    permissions::Administer,
};

/// The newest checkpoint of the log.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownCheckpoint {
    /// Origin of the log: `gatehouse/audit/` and the tenant ID.
    origin: String,
    /// Number of entries.
    size: u64,
    /// Root hash of the Merkle tree (RFC 6962) in base64.
    root_hash: String,
    /// When it was signed.
    #[schema(value_type = String, format = "date-time")]
    sealed_at: Timestamp,
    /// The checkpoint as a signed note (C2SP tlog-checkpoint).
    note: String,
    /// Keys that verify such notes, newest first (C2SP verifier keys).
    keys: Vec<String>,
}

/// An inclusion proof.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownProof {
    /// `aud_…`
    id: String,
    /// Index in the log, from 0.
    sequence: u64,
    /// Leaf hash in base64.
    leaf_hash: String,
    /// Key of the commitment to the address in base64, if the entry has an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ip_salt: Option<String>,
    /// Commitment to the address, if it was erased, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ip_commitment: Option<String>,
    /// Size of the log of the checkpoint.
    size: u64,
    /// Hashes of the proof, from leaf to root (RFC 6962, section 2.1.1), in base64.
    path: Vec<String>,
    /// The checkpoint as a signed note.
    checkpoint: String,
}

/// A consistency proof.
#[derive(Serialize, ToSchema)]
struct ShownConsistency {
    /// Size of the earlier log.
    from: u64,
    /// Size of the later log.
    to: u64,
    /// Hashes of the proof (RFC 6962, section 2.1.2) in base64.
    path: Vec<String>,
}

fn not_sealed() -> Problem {
    Problem::new(Code::NotSealed, "this entry is not sealed yet; try again in a second")
}

/// Encodes hashes in base64.
pub(crate) fn encoded(path: &[[u8; 32]]) -> Vec<String> {
    path.iter().map(|hash| BASE64.encode(hash)).collect()
}

/// Returns what a verifier needs to hash an entry again: the salt of the address commitment, or the commitment itself
/// if the address was erased.
pub(crate) fn commitment(entry: &StoredEntry) -> (Option<String>, Option<String>) {
    let bytes = |bytes: &Vec<u8>| BASE64.encode(bytes);
    (entry.salt.as_ref().filter(|_| entry.ip.is_some()).map(bytes), entry.ip_commitment.as_ref().map(bytes))
}

/// Returns the keys that verify the checkpoints of the caller's tenant.
fn keys(call: &Call<Administer>) -> Vec<CheckpointKey> {
    call.site.pipeline.keys.checkpoints().of(call.tenant().as_str())
}

/// Returns the newest checkpoint, or an error before the first one. A checkpoint whose signature does not verify is
/// not returned.
async fn newest(tx: &mut Tx, keys: &[CheckpointKey]) -> Result<(Checkpoint, String, Timestamp), Problem> {
    let nothing = || Problem::missing("nothing is sealed yet; entries are sealed within a second");
    let (note, at) = tx.newest_checkpoint().await?.ok_or_else(nothing)?;
    let unsigned = |error| {
        Problem::unexpected(format!("the newest checkpoint is invalid ({error}); run gatehouse audit verify"))
    };
    Ok((Checkpoint::verified(&note, keys).map_err(unsigned)?, note, at))
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
            content((String = "text/plain"), (ShownCheckpoint = "application/json"))
        ),
        (status = 404, description = "No entry is sealed yet."),
    )
)]
#[get("/api/settings/audit-log/checkpoint")]
pub(crate) async fn get_audit_checkpoint(call: Call<Administer>) -> Answer {
    let keys = keys(&call);
    let shown: Vec<_> = keys.iter().map(ToString::to_string).collect();
    let look = async move |_: &Ctx, tx: &mut Tx| newest(tx, &keys).await;
    let (checkpoint, note, sealed_at) = call.read(look).await?;
    let accepted = call.request.headers().get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    let mut answer = if accepted.into_iter().any(|value| value.contains("json")) {
        answer(&ShownCheckpoint {
            origin: checkpoint.origin,
            size: checkpoint.size,
            root_hash: BASE64.encode(&checkpoint.root),
            sealed_at,
            note,
            keys: shown,
        })
    } else {
        HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(note)
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
        (status = 200, description = "The proof.", body = ShownProof),
        (status = 404, description = "The audit log has no such entry, or it was purged."),
        (status = 409, description = "NOT_SEALED: the entry is not sealed yet; repeat the request after a second."),
    )
)]
#[get("/api/settings/audit-log/{id}/proof")]
pub(crate) async fn get_audit_proof(call: Call<Administer>) -> Answer {
    let (id, keys): (String, _) = (call.id()?, keys(&call));
    let prove = async move |_: &Ctx, tx: &mut Tx| {
        let none = || Problem::missing("no such entry in this tenant's audit log");
        let entry = tx.entry(&id).await?.ok_or_else(none)?;
        let Some((sequence, leaf)) = tx.position_of(&id).await? else { return Err(not_sealed()) };
        let (checkpoint, note, _) = newest(tx, &keys).await?;
        let path = inclusion(tx, &mut Nodes::default(), sequence, checkpoint.size).await?;
        let path = path.ok_or_else(not_sealed)?;
        let (ip_salt, ip_commitment) = commitment(&entry);
        Ok(ShownProof {
            id,
            sequence,
            leaf_hash: BASE64.encode(&leaf),
            ip_salt,
            ip_commitment,
            size: checkpoint.size,
            path: encoded(&path),
            checkpoint: note,
        })
    };
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
        (status = 200, description = "The proof.", body = ShownConsistency),
        (status = 400, description = "A size is malformed or larger than the log."),
        (status = 404, description = "No entry is sealed yet, or the hashes of purged entries do not suffice for the proof."),
    )
)]
#[get("/api/settings/audit-log/consistency")]
pub(crate) async fn get_audit_consistency(call: Call<Administer>) -> Answer {
    let size = |name: &str| match query(&call.request, name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => value.parse::<u64>().map(Some).map_err(|_| {
            Problem::invalid_request(format!("{name}: write the size of a checkpoint, such as 1024"))
        }),
    };
    let from =
        size("from")?.ok_or_else(|| Problem::invalid_request("from: write the size of a checkpoint"))?;
    let (to, keys) = (size("to")?, keys(&call));
    let prove = async move |_: &Ctx, tx: &mut Tx| {
        let (checkpoint, _, _) = newest(tx, &keys).await?;
        let to = to.unwrap_or(checkpoint.size);
        if from > to || to > checkpoint.size {
            let size = checkpoint.size;
            return Err(Problem::invalid_request(format!(
                "from, to: must be sizes in ascending order, at most {size}, the size of the log"
            )));
        }
        let gone = || Problem::missing("entries before that size were purged; use a larger size");
        let path = consistency(tx, from, to).await?.ok_or_else(gone)?;
        Ok(ShownConsistency { from, to, path: encoded(&path) })
    };
    Ok(answer(&call.read(prove).await?))
}
