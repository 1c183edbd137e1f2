//! Countersignatures: signatures of a remaining key under what a key that is retired has signed. Notes are append-only,
//! so their countersignatures are stored apart, and the storage returns notes with the signatures of both.

use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    note::{MAX_NOTE, split_note},
    seal::{AT_ONCE, SealRules},
    statement::{MacStart, Removal, Retention, Statement},
};
use crate::{
    Audited, EntryKeys, Unaudited,
    store::{ProofStore, RetentionStore, SealStore},
};

/// The kind of stored countersignatures, beside those of [`Statement`].
pub const COUNTERSIGNATURE: &str = "countersignature";

/// Why a key cannot be retired yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountersignError {
    /// Only the key proves who wrote entries that are not sealed yet.
    #[error(
        "entries that are not sealed yet: {0}. Start a server on this database, and run the command again"
    )]
    Unsealed(usize),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What [`countersign`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Countersigned {
    /// Number of new signatures.
    pub count: usize,
    /// Number of notes that no known key has signed. A signature would legitimize them.
    pub refused: usize,
}

/// Adds the signatures of those countersignatures that repeat this note's text, once each.
pub fn add_countersignatures(note: &mut String, countersignatures: &[String]) {
    for other in countersignatures {
        let (Ok((text, known)), Ok((same, signatures))) = (split_note(note), split_note(other)) else {
            continue;
        };
        let signatures = signatures.trim_start_matches('\n');
        if text == same && !known.contains(signatures) && note.len() + signatures.len() <= MAX_NOTE {
            note.push_str(signatures);
        }
    }
}

/// Signs a tenant's newest checkpoint and statements with the newest of the keys in `remaining`, unless one of them
/// already has. `all` has also the key to retire.
pub async fn countersign<S: RetentionStore + ProofStore + SealStore + ?Sized>(
    store: &mut S,
    tenant: &TenantId,
    all: &SealRules,
    remaining: &SealRules,
    now: Timestamp,
) -> Result<Audited<Countersigned>, CountersignError> {
    let tenant = tenant.as_str();
    let waiting = waiting_for_key(store, tenant, &all.entries, &remaining.entries).await?;
    if waiting > 0 {
        return Err(CountersignError::Unsealed(waiting));
    }
    let (known, keys) = (all.checkpoints.of(tenant), remaining.checkpoints.of(tenant));
    let mut done = Countersigned::default();
    for (is_signed, note) in notes(store).await? {
        if is_signed(&note, tenant, &keys) {
            continue;
        }
        if !is_signed(&note, tenant, &known) {
            done.refused += 1;
            continue;
        }
        let text = split_note(&note).map(|(text, _)| text).unwrap_or_default();
        let signed = remaining.checkpoints.sign_text(tenant, text);
        let note = signed.ok_or(StoreError::Aborted("there is no key to sign with; set master_key"))?;
        store.add_countersignature(&note, now).await?;
        done.count += 1;
    }
    Ok(Audited::without(done, Unaudited::Sealed))
}

/// Counts unsealed entries that only a key to be retired authenticates.
async fn waiting_for_key<S: SealStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    entries: &EntryKeys,
    remaining: &EntryKeys,
) -> StoreResult<usize> {
    let unsealed = store.unsealed(None, AT_ONCE).await?;
    let needs_key = unsealed.iter().filter(|entry| {
        let is_valid = |keys: &EntryKeys| {
            entry.leaf.is_some_and(|leaf| keys.verify(tenant, &entry.id, &leaf, entry.mac.as_ref()).is_ok())
        };
        is_valid(entries) && !is_valid(remaining)
    });
    Ok(needs_key.count())
}

/// Returns whether a note of one kind about a tenant's log is signed with one of these keys.
type IsSigned = fn(&str, &str, &[CheckpointKey]) -> bool;

/// Returns the notes that a log needs in order to verify, each with its verification.
async fn notes<S: RetentionStore + ProofStore + ?Sized>(
    store: &mut S,
) -> StoreResult<Vec<(IsSigned, String)>> {
    let mut notes: Vec<(IsSigned, String)> = Vec::new();
    notes.extend(store.newest_checkpoint().await?.map(|(note, _)| (is_checkpoint as IsSigned, note)));
    notes.extend(store.mac_start().await?.map(|note| (is_statement::<MacStart> as IsSigned, note)));
    for (kind, is_signed) in
        [(Retention::KIND, is_statement::<Retention> as IsSigned), (Removal::KIND, is_statement::<Removal>)]
    {
        notes.extend(store.statements(kind).await?.into_iter().map(|(_, note)| (is_signed, note)));
    }
    Ok(notes)
}

fn is_checkpoint(note: &str, tenant: &str, keys: &[CheckpointKey]) -> bool {
    Checkpoint::verified(note, keys).is_ok_and(|checkpoint| checkpoint.tenant() == Some(tenant))
}

fn is_statement<T: Statement>(note: &str, tenant: &str, keys: &[CheckpointKey]) -> bool {
    T::verified(note, tenant, keys).is_ok()
}
