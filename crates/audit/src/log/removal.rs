//! Determines what may be removed from the beginning of a log, and the root that a removal declares.

use data_encoding::BASE64;
use kernel::{StoreError, StoreResult, Timestamp};

use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    merkle::{Frontier, GROUP, Hash, verify_consistency},
    proof::consistency,
    statement::{Removal, Statement},
};
use crate::store::{TreeStore, VerifyStore};

/// Groups per statement.
const GROUPS_AT_ONCE: u64 = 16;
/// Entries per group.
const GROUP_LENGTH: usize = 256;
/// Hashes of groups per statement.
const HASHES_AT_ONCE: u64 = 4096;

const NOT_SEALED: StoreError =
    StoreError::Aborted("an entry differs from what was sealed; run gatehouse audit verify to find it");
const NOT_SIGNED: StoreError =
    StoreError::Aborted("the log differs from what was signed; run gatehouse audit verify for details");

/// The beginning of a log that is old enough to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removable {
    /// The first position to keep: a multiple of 256.
    pub before: u64,
    /// The time of the newest entry to remove.
    pub newest: Timestamp,
    /// The root hash of the tree over all positions before `before`.
    pub root: Hash,
}

/// Returns the whole groups from `from` whose entries are all older than `time`, or `None` if there are none.
///
/// Each entry is hashed again and compared with its group, and the groups with the newest signed checkpoint. So an
/// entry whose time was changed is an error and does not count as old. MACs are not checked: the caller runs
/// [`verify`](super::verify) on the same snapshot.
pub async fn removable<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    keys: &[CheckpointKey],
    from: u64,
    time: Timestamp,
) -> StoreResult<Option<Removable>> {
    let size = store.log().await?.size();
    let (mut before, mut newest) = (from, Timestamp::from_unix_millis(0));
    while before + GROUP <= size {
        let to = (size - size % GROUP).min(before + GROUPS_AT_ONCE * GROUP);
        let times = newest_of_groups(store, tenant, before, to).await?.ok_or(NOT_SEALED)?;
        let old = times.iter().take_while(|newest_of_group| **newest_of_group < time);
        let mut count = 0;
        for newest_of_group in old {
            newest = newest.max(*newest_of_group);
            count += GROUP;
        }
        before += count;
        if before != to {
            break;
        }
    }
    if before == from {
        return Ok(None);
    }
    let root = root_before(store, before).await?.ok_or(NOT_SEALED)?;
    let signed = newest_signed(store, tenant, keys, size).await?.ok_or(NOT_SIGNED)?;
    let path = consistency(store, before, signed.size).await?.ok_or(NOT_SEALED)?;
    if !verify_consistency((before, &root), (signed.size, &signed.root), &path) {
        return Err(NOT_SIGNED);
    }
    Ok(Some(Removable { before, newest, root }))
}

/// Returns the newest time in each of these whole groups; `None` if an entry differs from its sealed hash.
async fn newest_of_groups<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    from: u64,
    to: u64,
) -> StoreResult<Option<Vec<Timestamp>>> {
    let hashes = store.hashes(1, from / GROUP, to / GROUP).await?;
    let rows = store.sealed(from, to).await?;
    let (mut times, mut first) = (Vec::new(), from);
    for (rows, (index, hash)) in rows.chunks(GROUP_LENGTH).zip(hashes) {
        let (mut group, mut whole, mut newest) = (Frontier::default(), None, Timestamp::from_unix_millis(0));
        for (row, sequence) in rows.iter().zip(first..) {
            let Some(entry) = row.entry.as_ref().filter(|_| row.sequence == sequence) else {
                return Ok(None);
            };
            if entry.content_leaf(tenant) != Some(row.leaf) {
                return Ok(None);
            }
            newest = newest.max(entry.timestamp);
            group.push(row.leaf, |_, hash| whole = Some(hash));
        }
        if index != first / GROUP || whole != Some(hash) {
            return Ok(None);
        }
        times.push(newest);
        first += GROUP;
    }
    Ok((first == to).then_some(times))
}

/// Returns the newest signed removal, if there is one.
pub async fn newest_removal<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    keys: &[CheckpointKey],
) -> StoreResult<Option<Removal>> {
    let notes = store.statements(Removal::KIND).await?;
    let signed = notes.into_iter().filter_map(|(before, note)| {
        Removal::verified(&note, tenant, keys).ok().filter(|removal| removal.before == before)
    });
    Ok(signed.max_by_key(|removal| removal.before))
}

/// Verifies that a signed removal covers these positions, which must be whole groups: the entries are hashed again,
/// and all groups together must have the signed root.
pub async fn is_covered<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    removal: &Removal,
    from: u64,
    to: u64,
) -> StoreResult<bool> {
    let root = root_before(store, removal.before).await?.map(|root| BASE64.encode(&root));
    if root.as_ref() != Some(&removal.root) || to > removal.before {
        return Ok(false);
    }
    Ok(newest_of_groups(store, tenant, from, to).await?.is_some())
}

/// Computes the root hash over all positions before `before`, a multiple of 256, from the groups' hashes; `None` if
/// one is missing.
pub async fn root_before<S: TreeStore + ?Sized>(store: &mut S, before: u64) -> StoreResult<Option<Hash>> {
    let (mut log, groups) = (Frontier::default(), before / GROUP);
    while log.size() / GROUP < groups {
        let at = log.size() / GROUP;
        let hashes = store.hashes(1, at, groups.min(at + HASHES_AT_ONCE)).await?;
        if hashes.is_empty() {
            return Ok(None);
        }
        for (index, hash) in hashes {
            if index != log.size() / GROUP {
                return Ok(None);
            }
            log.push_subtree(1, hash, |_, _| ());
        }
    }
    Ok(Some(log.root()))
}

/// Returns the newest checkpoint if it has this size and is signed.
async fn newest_signed<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    keys: &[CheckpointKey],
    size: u64,
) -> StoreResult<Option<Checkpoint>> {
    let newest = store.checkpoints(size.saturating_sub(1), 1).await?;
    let signed = newest.first().and_then(|(_, note)| Checkpoint::verified(note, keys).ok());
    Ok(signed.filter(|signed| signed.size == size && signed.tenant() == Some(tenant)))
}
