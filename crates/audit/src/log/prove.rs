//! The newest checkpoint of a log, and proofs against it.

use data_encoding::BASE64;
use kernel::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    proof::{Nodes, consistency, inclusion},
};
use crate::{error::ProofError, export::encoded, store::ProofStore};

/// The newest checkpoint of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = ShownCheckpoint))]
pub struct NewestCheckpoint {
    /// Origin of the log: `gatehouse/audit/` and the tenant ID.
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// Root hash of the Merkle tree (RFC 6962) in base64.
    pub root_hash: String,
    /// When it was signed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    pub sealed_at: Timestamp,
    /// The checkpoint as a signed note (C2SP tlog-checkpoint).
    pub note: String,
    /// Keys that verify such notes, newest first (C2SP verifier keys).
    pub keys: Vec<String>,
}

/// An inclusion proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = ShownProof))]
pub struct InclusionProof {
    /// `aud_…`
    pub id: String,
    /// Index in the log, from 0.
    pub sequence: u64,
    /// Leaf hash in base64.
    pub leaf_hash: String,
    /// Key of the commitment to the address in base64, if the entry has an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ip_salt: Option<String>,
    /// Commitment to the address, if it was erased, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ip_commitment: Option<String>,
    /// Size of the log of the checkpoint.
    pub size: u64,
    /// Hashes of the proof, from leaf to root (RFC 6962, section 2.1.1), in base64.
    pub path: Vec<String>,
    /// The checkpoint as a signed note.
    pub checkpoint: String,
}

/// A consistency proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ShownConsistency))]
pub struct ConsistencyProof {
    /// Size of the earlier log.
    pub from: u64,
    /// Size of the later log.
    pub to: u64,
    /// Hashes of the proof (RFC 6962, section 2.1.2) in base64.
    pub path: Vec<String>,
}

/// Returns the newest checkpoint. Fails before the first one, and if its signature does not verify.
pub async fn newest_checkpoint<S: ProofStore + ?Sized>(
    store: &mut S,
    keys: &[CheckpointKey],
) -> Result<NewestCheckpoint, ProofError> {
    let (note, sealed_at) = store.newest_checkpoint().await?.ok_or(ProofError::NothingSealed)?;
    let Checkpoint { origin, size, root } = Checkpoint::verified(&note, keys)?;
    let keys = keys.iter().map(ToString::to_string).collect();
    Ok(NewestCheckpoint { origin, size, root_hash: BASE64.encode(&root), sealed_at, note, keys })
}

/// Proves that the log of the newest checkpoint contains an entry.
pub async fn prove_inclusion<S: ProofStore + ?Sized>(
    store: &mut S,
    keys: &[CheckpointKey],
    id: String,
) -> Result<InclusionProof, ProofError> {
    let entry = store.entry(&id).await?.ok_or(ProofError::NoEntry)?;
    let (sequence, leaf) = store.position_of(&id).await?.ok_or(ProofError::NotSealed)?;
    let NewestCheckpoint { size, note, .. } = newest_checkpoint(store, keys).await?;
    let path = inclusion(store, &mut Nodes::default(), sequence, size).await?;
    let path = encoded(&path.ok_or(ProofError::NotSealed)?);
    let (ip_salt, ip_commitment) = entry.shown_commitment();
    let leaf_hash = BASE64.encode(&leaf);
    Ok(InclusionProof { id, sequence, leaf_hash, ip_salt, ip_commitment, size, path, checkpoint: note })
}

/// Proves that the log at size `from` is a prefix of the log at size `to`, by default that of the newest checkpoint.
pub async fn prove_consistency<S: ProofStore + ?Sized>(
    store: &mut S,
    keys: &[CheckpointKey],
    from: u64,
    to: Option<u64>,
) -> Result<ConsistencyProof, ProofError> {
    let NewestCheckpoint { size, .. } = newest_checkpoint(store, keys).await?;
    let to = to.unwrap_or(size);
    if from > to || to > size {
        return Err(ProofError::Sizes(size));
    }
    let path = consistency(store, from, to).await?.ok_or(ProofError::Purged)?;
    Ok(ConsistencyProof { from, to, path: encoded(&path) })
}
