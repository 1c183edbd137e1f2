//! The tamper-evident log of a ledger: a Merkle tree over the hashes of its entries (RFC 6962 §2.1), whose roots are
//! signed.
//!
//! Entries are hashed alone when they are written. A moment later they are sealed ([`seal`]): each gets its place in the
//! log, and a checkpoint over all of them is signed. An entry without a valid MAC is not sealed. From then on nobody who does not have the key can change, remove,
//! insert or reorder entries without a trace ([`verify`]), and anybody can be given a proof that an entry is in the log
//! ([`inclusion`]) and that a later log begins with an earlier one ([`consistency`]).

mod checkpoint;
mod finding;
mod merkle;
mod offline;
mod proof;
mod removal;
mod retention;
mod seal;
mod statement;
mod verify;

pub use checkpoint::{Checkpoint, CheckpointKey, CheckpointKeys};
pub use finding::{Finding, Verified};
pub use merkle::{Frontier, GROUP, Hash, NodePosition, verify_consistency, verify_inclusion};
pub use offline::{VerifiedExport, verify_export};
pub use proof::{Nodes, consistency, inclusion};
pub use removal::{Removable, is_covered, newest_removal, removable, root_before};
pub use retention::RetentionSettings;
pub use seal::{AT_ONCE, Batch, Lease, LockedLog, SealPolicy, SealProgress, Sealed, Unsealed, seal};
pub use statement::{MacStart, Removal, Retention, Statement};
pub use verify::{SealedRow, VerifyKeys, verify};

pub use crate::{
    error::{ExportError, NoteError},
    store::{SealStore, TreeStore, VerifyStore},
};
