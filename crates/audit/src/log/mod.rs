//! The tamper-evident log: a Merkle tree over the hashes of the audit entries (RFC 6962 §2.1) with signed roots.
//!
//! An entry is hashed when it is written and sealed shortly after ([`seal`]): it gets its position in the log, and a
//! checkpoint over all entries is signed. An entry without a valid MAC is not sealed. A [`Sealer`]
//! does this for all tenants. From then on, changing,
//! removing, inserting or reordering entries without the key is detected ([`verify`]). Anyone can be given a proof
//! that an entry is in the log ([`inclusion`]) and that a later log extends an earlier one ([`consistency`]). Entries past
//! their retention are purged without breaking the proofs of the others ([`plan_purge`]).

mod backlog;
mod checkpoint;
mod countersign;
mod finding;
mod merkle;
mod note;
mod observer;
mod offline;
mod proof;
mod prove;
mod purge;
mod removal;
mod report;
mod retention;
mod seal;
mod sealer;
mod statement;
mod streamed;
mod tile;
mod verify;
pub mod witness;

pub use backlog::LONG_UNSEALED;
pub use checkpoint::{Checkpoint, CheckpointKey, CheckpointKeys};
pub use countersign::{
    COUNTERSIGNATURE, CountersignError, Countersigned, add_countersignatures, countersign,
};
pub use finding::{Finding, Verified};
pub use merkle::{Frontier, GROUP, Hash, NodePosition, verify_consistency, verify_inclusion};
pub use observer::SealObserver;
pub use offline::{VerifiedExport, exported_tenant, verify_export};
pub use proof::{Nodes, consistency, inclusion};
pub use prove::{
    ConsistencyProof, InclusionProof, NewestCheckpoint, newest_checkpoint, prove_consistency, prove_inclusion,
};
pub use purge::{
    PurgePlan, PurgeRefusal, declare_purge, erase_some_addresses, plan_purge, purge_some, set_retention,
};
pub use removal::{Removable, is_covered, newest_removal, removable, root_before};
pub use retention::RetentionSettings;
pub use seal::{
    AT_ONCE, Batch, Lease, LockedLog, SealPolicy, SealProgress, SealRules, Sealed, Unsealed, UnsealedLog,
    seal,
};
pub use sealer::Sealer;
pub use statement::{MacStart, Removal, Retention, Statement};
pub use streamed::{VerifiedStream, streamed_tenant, verify_stream};
pub use tile::{Tile, tile};
pub use verify::{SealedRow, VerifyKeys, verify};

pub use crate::{
    error::{ExportError, NoteError, ProofError},
    store::{ProofStore, RetentionStore, SealQueue, SealStore, SubtreeRun, TreeStore, VerifyStore},
};
