//! Countersignatures: signatures of a remaining key under what a key that is retired has signed. Notes are append-only,
//! so their countersignatures are stored apart, and the storage returns notes with the signatures of both.

use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use super::{
    checkpoint::{CheckpointKey, split_note, verify_signatures},
    seal::{AT_ONCE, SealRules},
    statement::{Removal, Retention, Statement},
};
use crate::{
    Audited, EntryKeys, Unaudited,
    store::{ProofStore, RetentionStore, SealStore},
};

/// The kind of stored countersignatures, beside those of [`Statement`].
pub const COUNTERSIGNATURE: &str = "countersignature";

/// Why a key cannot be retired yet.
#[derive(Debug, thiserror::Error)]
pub enum CountersignError {
    /// Only the key proves who wrote entries that are not sealed yet.
    #[error(
        "entries that are not sealed yet: {0}. Start a server on this database, and run the command again"
    )]
    Unsealed(usize),
    /// No known key has signed a note, so a signature would legitimize it.
    #[error("{0} is not signed with a known key. Find out why with gatehouse audit verify")]
    NotSigned(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds the signatures of those countersignatures that repeat this note's text.
pub fn add_countersignatures(note: &mut String, countersignatures: &[String]) {
    for other in countersignatures {
        let (Ok((text, _)), Ok((same, signatures))) = (split_note(note), split_note(other)) else { continue };
        if text == same {
            note.push_str(signatures.trim_start_matches('\n'));
        }
    }
}

/// Signs a tenant's newest checkpoint and statements with the newest of the keys in `remaining`, unless one of them
/// already has. Returns the number of new signatures. `all` has also the key to retire.
pub async fn countersign<S: RetentionStore + ProofStore + SealStore + ?Sized>(
    store: &mut S,
    tenant: &TenantId,
    all: &SealRules,
    remaining: &SealRules,
    now: Timestamp,
) -> Result<Audited<usize>, CountersignError> {
    let tenant = tenant.as_str();
    let waiting = waiting_for_key(store, tenant, &all.entries, &remaining.entries).await?;
    if waiting > 0 {
        return Err(CountersignError::Unsealed(waiting));
    }
    let (known, keys) = (all.checkpoints.of(tenant), remaining.checkpoints.of(tenant));
    let mut count = 0;
    for (name, note) in notes(store).await? {
        if is_signed(&note, tenant, &keys) {
            continue;
        }
        if !is_signed(&note, tenant, &known) {
            return Err(CountersignError::NotSigned(name));
        }
        let text = split_note(&note).map(|(text, _)| text).unwrap_or_default();
        let signed = remaining.checkpoints.sign_text(tenant, text);
        let note = signed.ok_or(StoreError::Aborted("there is no key to sign with; set master_key"))?;
        store.add_countersignature(&note, now).await?;
        count += 1;
    }
    Ok(Audited::without(count, Unaudited::Sealed))
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

/// Returns the notes that a log needs in order to verify, with their names.
async fn notes<S: RetentionStore + ProofStore + ?Sized>(
    store: &mut S,
) -> StoreResult<Vec<(&'static str, String)>> {
    let mut notes = Vec::new();
    notes.extend(store.newest_checkpoint().await?.map(|(note, _)| ("the newest checkpoint", note)));
    notes.extend(store.mac_start().await?.map(|note| ("the start of MACs", note)));
    for (kind, name) in [(Retention::KIND, "a retention setting"), (Removal::KIND, "a removal")] {
        notes.extend(store.statements(kind).await?.into_iter().map(|(_, note)| (name, note)));
    }
    Ok(notes)
}

fn is_signed(note: &str, tenant: &str, keys: &[CheckpointKey]) -> bool {
    split_note(note).is_ok_and(|(text, signatures)| verify_signatures(text, signatures, tenant, keys).is_ok())
}
