//! Hashes of a log's tree (RFC 6962 §2.1, RFC 9162 §2.1): its root as it grows, and checks of proofs.

use ring::digest::{Context, SHA256, digest};

/// SHA-256 of a leaf or of a node.
pub type Hash = [u8; 32];

/// The hash of a subtree of `256^level` leaves is kept.
const LEVEL_BITS: u32 = 8;
/// Leaves of the smallest of them, a group.
pub const GROUP: u64 = 1 << LEVEL_BITS;

/// A subtree whose hash is kept: of `256^level` leaves, the one of this number. Level 0 are the leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePosition {
    /// Height in the tree: the node covers `256^level` leaves.
    pub level: u8,
    /// Which of that size.
    pub index: u64,
}

/// The hash of a node over two subtrees.
pub(super) fn node(left: &Hash, right: &Hash) -> Hash {
    let mut context = Context::new(&SHA256);
    context.update(&[1]);
    context.update(left);
    context.update(right);
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

/// The root of a log without entries.
fn nothing() -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, b"").as_ref());
    hash
}

/// What has to be known of a log to go on with it: how long it is, and the hashes of the complete subtrees it consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    /// Largest first; one for each bit that is set in the size.
    peaks: Vec<Hash>,
}

impl Frontier {
    /// How many entries.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The tree's root.
    pub fn root(&self) -> Hash {
        self.peaks.iter().rev().copied().reduce(|right, left| node(&left, &right)).unwrap_or_else(nothing)
    }

    /// Adds a leaf. `completed` is told of each subtree that is complete by it and whose hash is to be kept.
    pub fn push(&mut self, leaf: Hash, completed: impl FnMut(NodePosition, Hash)) {
        self.push_subtree(0, leaf, completed);
    }

    /// Adds a complete subtree of `256^level` leaves. Nothing happens where the log does not end at such a one.
    pub(super) fn push_subtree(
        &mut self,
        level: u8,
        hash: Hash,
        mut completed: impl FnMut(NodePosition, Hash),
    ) -> bool {
        let first = u32::from(level) * LEVEL_BITS;
        let Some(leaves) = 1_u64.checked_shl(first).filter(|leaves| self.size.is_multiple_of(*leaves)) else {
            return false;
        };
        let (mut carry, mut height) = (hash, first);
        while (self.size >> height) & 1 == 1
            && let Some(left) = self.peaks.pop()
        {
            carry = node(&left, &carry);
            height += 1;
            if height.is_multiple_of(LEVEL_BITS) {
                let level = u8::try_from(height / LEVEL_BITS).unwrap_or(u8::MAX);
                completed(NodePosition { level, index: self.size >> height }, carry);
            }
        }
        self.peaks.push(carry);
        self.size += leaves;
        true
    }

    /// As it is stored: the hashes one after the other.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.peaks.concat()
    }

    /// As it was stored; `None` if this is none of a log of that size.
    pub fn restore(size: u64, bytes: &[u8]) -> Option<Self> {
        let (peaks, rest) = bytes.as_chunks::<32>();
        let is_one = rest.is_empty() && peaks.len() == size.count_ones() as usize;
        is_one.then(|| Self { size, peaks: peaks.to_vec() })
    }
}

/// A range of leaves that RFC 6962 gives a hash: from, and before.
pub(super) type Range = (u64, u64);

/// How many of so many leaves are in the left subtree: the largest power of two that is less.
fn left_of(count: u64) -> u64 {
    1 << (count.max(2) - 1).ilog2()
}

/// The place of a range, where its hash is kept.
fn kept(range: Range) -> Option<NodePosition> {
    let count = range.1 - range.0;
    let height = count.trailing_zeros();
    let is_kept =
        count.is_power_of_two() && height.is_multiple_of(LEVEL_BITS) && range.0.is_multiple_of(count);
    is_kept.then(|| NodePosition {
        level: u8::try_from(height / LEVEL_BITS).unwrap_or(u8::MAX),
        index: range.0 >> height,
    })
}

/// The places of which the hash of a range is made.
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

/// The hash of a range of what is at its places; `None` where one of them is missing.
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

/// The ranges whose hashes prove that a leaf is in a log of this size, from the leaf upwards (RFC 6962 §2.1.1).
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

/// The ranges whose hashes prove that a log of one size is the beginning of one of another (RFC 6962 §2.1.2).
pub(super) fn consistency_ranges(earlier: u64, later: u64) -> Vec<Range> {
    if earlier == 0 || earlier >= later {
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

/// Whether a path proves that a leaf stands at this place of the log with this size and root (RFC 9162 §2.1.3.2).
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

/// Whether a path proves that the log of the first size and root is the beginning of that of the second
/// (RFC 9162 §2.1.4.2). An empty log is the beginning of each.
pub fn verify_consistency(first: (u64, &Hash), second: (u64, &Hash), path: &[Hash]) -> bool {
    let ((earlier, first), (later, second)) = (first, second);
    if earlier == 0 || earlier == later {
        let same = if earlier == later { first == second } else { *first == nothing() };
        return same && path.is_empty();
    }
    if earlier > later {
        return false;
    }
    // Where the earlier log is one complete subtree, its root is where the path begins.
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
