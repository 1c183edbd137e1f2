//! What may be removed from the beginning of a log, and the root that a removal declares.

use data_encoding::BASE64;
use kernel::{StoreError, StoreResult, Timestamp};

use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    merkle::{Frontier, GROUP, Hash, verify_consistency},
    proof::consistency,
    statement::{Removal, Statement},
};
use crate::store::{TreeStore, VerifyStore};

/// Groups that are read at once.
const GROUPS_AT_ONCE: u64 = 16;
/// Entries of a group.
const GROUP_LENGTH: usize = 256;
/// Hashes of groups that are read at once.
const HASHES_AT_ONCE: u64 = 4096;

const NOT_SEALED: StoreError =
    StoreError::Aborted("an entry is not what was sealed: gatehouse audit verify says which");
const NOT_SIGNED: StoreError =
    StoreError::Aborted("the log is not what was signed: gatehouse audit verify says more");

/// The beginning of a log that is old enough to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removable {
    /// The first place that stays: a multiple of 256.
    pub before: u64,
    /// The time of the newest entry that may be removed.
    pub newest: Timestamp,
    /// The root of the tree over all places before `before`.
    pub root: Hash,
}

/// Returns the whole groups from `from` on whose entries are all older than `time`, or `None` if there are none.
///
/// Each entry is hashed again and compared with the hash of its group, and the groups with the newest signed checkpoint: an
/// entry whose time was changed is an error, not an old entry. MACs are not checked: the caller runs
/// [`verify`](super::verify) at the same moment.
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

/// The time of the newest entry of each of these whole groups; `None` where an entry is not what its group was sealed with.
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

/// The removal that was declared last by a signed statement, if there is one.
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

/// Whether the entries of these places, whole groups, are those that a signed removal covers: they are hashed again, and the
/// hashes of all groups have the root that was signed.
pub async fn is_covered<S: VerifyStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    removal: &Removal,
    from: u64,
    to: u64,
) -> StoreResult<bool> {
    let root = root_before(store, removal.before).await?.map(|root| BASE64.encode(&root));
    if root.as_ref() != Some(&removal.root) || to > removal.before || !from.is_multiple_of(GROUP) {
        return Ok(false);
    }
    Ok(newest_of_groups(store, tenant, from, to).await?.is_some())
}

/// The root of the tree over all places before this one, a multiple of 256, made of the hashes of groups; `None` where one of
/// them is not there.
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

/// The newest checkpoint of the log of this size, where it is signed.
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
