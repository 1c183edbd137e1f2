//! The hashes of a log's Merkle tree (RFC 6962 §2.1, RFC 9162 §2.1), and verification of proofs.

use ring::digest::{Context, SHA256, digest};

/// SHA-256 of a leaf or of a node.
pub type Hash = [u8; 32];

/// Hashes of subtrees of `256^level` leaves are stored.
const LEVEL_BITS: u32 = 8;
/// Number of leaves in the smallest stored subtree, a group.
pub const GROUP: u64 = 1 << LEVEL_BITS;

/// The position of a stored subtree of `256^level` leaves. Level 0 contains the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePosition {
    /// Height in the tree: the node covers `256^level` leaves.
    pub level: u8,
    /// Index within the level.
    pub index: u64,
}

/// Returns the position at which the last group of a log of this size begins.
pub(super) fn last_group(size: u64) -> u64 {
    size.saturating_sub(1) / GROUP * GROUP
}

/// Hashes a node over two subtrees.
pub(super) fn node(left: &Hash, right: &Hash) -> Hash {
    let mut context = Context::new(&SHA256);
    context.update(&[1]);
    context.update(left);
    context.update(right);
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// Returns the root of an empty log.
fn nothing() -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, b"").as_ref());
    hash
}

/// The state needed to append to a log: its size, and the hashes of the complete subtrees it consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    /// Largest first, one for each bit set in the size.
    peaks: Vec<Hash>,
}

impl Frontier {
    /// Returns the number of entries.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the root hash of the tree.
    pub fn root(&self) -> Hash {
        self.peaks.iter().rev().copied().reduce(|right, left| node(&left, &right)).unwrap_or_else(nothing)
    }

    /// Appends a leaf. `completed` is called for each stored subtree that becomes complete.
    pub fn push(&mut self, leaf: Hash, completed: impl FnMut(NodePosition, Hash)) {
        self.push_subtree(0, leaf, completed);
    }

    /// Appends a complete subtree of `256^level` leaves. Returns `false` if the log's size is not a multiple of that.
    pub(super) fn push_subtree(
        &mut self,
        level: u8,
        hash: Hash,
        mut completed: impl FnMut(NodePosition, Hash),
    ) -> bool {
        let first = u32::from(level) * LEVEL_BITS;
        let Some(leaves) = 1_u64.checked_shl(first).filter(|leaves| self.size % *leaves == 0) else {
            return false;
        };
        let (mut carry, mut height) = (hash, first);
        while (self.size >> height) & 1 == 1 {
            let Some(left) = self.peaks.pop() else { break };
            carry = node(&left, &carry);
            height += 1;
            if height % LEVEL_BITS == 0 {
                let level = u8::try_from(height / LEVEL_BITS).unwrap_or(u8::MAX);
                completed(NodePosition { level, index: self.size >> height }, carry);
            }
        }
        self.peaks.push(carry);
        self.size += leaves;
        true
    }

    /// Serializes the hashes, one after the other.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.peaks.concat()
    }

    /// Deserializes the hashes; `None` if their number does not match the size.
    pub fn restore(size: u64, bytes: &[u8]) -> Option<Self> {
        let chunks = bytes.chunks_exact(32);
        let is_one = chunks.remainder().is_empty() && chunks.len() == size.count_ones() as usize;
        let peaks = chunks.map(|hash| hash.try_into().ok()).collect::<Option<Vec<_>>>()?;
        is_one.then_some(Self { size, peaks })
    }
}

/// A range of leaves for which RFC 6962 defines a hash: start and exclusive end.
pub(super) type Range = (u64, u64);

/// Returns the size of the left subtree: the largest power of two less than `count`.
fn left_of(count: u64) -> u64 {
    1 << (count.max(2) - 1).ilog2()
}

/// Returns the position where a range's hash is stored, if it is.
fn kept(range: Range) -> Option<NodePosition> {
    let count = range.1 - range.0;
    let height = count.trailing_zeros();
    let is_kept = count.is_power_of_two() && height % LEVEL_BITS == 0 && range.0 % count == 0;
    is_kept.then(|| NodePosition {
        level: u8::try_from(height / LEVEL_BITS).unwrap_or(u8::MAX),
        index: range.0 >> height,
    })
}

/// Collects the positions of the stored hashes that a range's hash is computed from.
pub(super) fn places((from, to): Range, all: &mut Vec<NodePosition>) {
    if from >= to {
        return;
    }
    if let Some(place) = kept((from, to)) {
        all.push(place);
    } else {
        let middle = from + left_of(to - from);
        places((from, middle), all);
        places((middle, to), all);
    }
}

/// Computes the hash of a range from stored hashes; `None` if one is missing.
pub(super) fn hash_of((from, to): Range, at: &impl Fn(NodePosition) -> Option<Hash>) -> Option<Hash> {
    if from >= to {
        return Some(nothing());
    }
    if let Some(place) = kept((from, to)) {
        return at(place);
    }
    let middle = from + left_of(to - from);
    Some(node(&hash_of((from, middle), at)?, &hash_of((middle, to), at)?))
}

/// Returns the ranges whose hashes form an inclusion proof, from the leaf upwards (RFC 6962 §2.1.1).
pub(super) fn inclusion_ranges(index: u64, size: u64) -> Vec<Range> {
    let (mut from, mut to, mut ranges) = (0, size, Vec::new());
    while to - from > 1 {
        let middle = from + left_of(to - from);
        if index < middle {
            ranges.push((middle, to));
            to = middle;
        } else {
            ranges.push((from, middle));
            from = middle;
        }
    }
    ranges.reverse();
    ranges
}

/// Returns the ranges whose hashes form a consistency proof between two sizes (RFC 6962 §2.1.2). `earlier` must not
/// exceed `later`.
pub(super) fn consistency_ranges(earlier: u64, later: u64) -> Vec<Range> {
    if earlier == 0 {
        return Vec::new();
    }
    let (mut from, mut to, mut ranges) = (0, later, Vec::new());
    while to != earlier {
        let middle = from + left_of(to - from);
        if earlier <= middle {
            ranges.push((middle, to));
            to = middle;
        } else {
            ranges.push((from, middle));
            from = middle;
        }
    }
    if from != 0 {
        ranges.push((from, to));
    }
    ranges.reverse();
    ranges
}

/// Verifies that a leaf is at this position of the log with this size and root (RFC 9162 §2.1.3.2).
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, *leaf);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node(sibling, &hash);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            hash = node(&hash, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && hash == *root
}

/// Verifies that the second log is an extension of the first (RFC 9162 §2.1.4.2). Every log extends an empty one.
pub fn verify_consistency(first: (u64, &Hash), second: (u64, &Hash), path: &[Hash]) -> bool {
    let ((earlier, first), (later, second)) = (first, second);
    if earlier == 0 || earlier == later {
        let same = if earlier == later { first == second } else { *first == nothing() };
        return same && path.is_empty();
    }
    if earlier > later {
        return false;
    }
    // If the earlier log is one complete subtree, its root starts the path.
    let own = earlier.is_power_of_two().then_some(first);
    let mut path = own.into_iter().chain(path);
    let Some(begin) = path.next() else { return false };
    let (mut at, mut last) = (earlier - 1, later - 1);
    while at & 1 == 1 {
        (at, last) = (at >> 1, last >> 1);
    }
    let (mut old, mut new) = (*begin, *begin);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            (old, new) = (node(sibling, &old), node(sibling, &new));
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            new = node(&new, sibling);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    last == 0 && old == *first && new == *second
}
