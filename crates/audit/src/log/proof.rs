//! Proofs of a log, made of the hashes that are kept of it.

use crate::store::TreeStore;
use std::collections::HashMap;

use kernel::StoreResult;

use super::merkle::{Hash, NodePosition, Range, consistency_ranges, hash_of, inclusion_ranges, places};

/// Hashes that were read already: proofs of entries that are near each other need the same.
#[derive(Debug, Default)]
pub struct Nodes(HashMap<NodePosition, Hash>);

/// So many hashes are kept in memory at most.
const MOST: usize = 4096;
/// Places that are so near to each other are read together.
const NEAR: u64 = 16;

impl Nodes {
    /// The hashes of these ranges; `None` where something of them is not kept any more.
    async fn of(
        &mut self,
        store: &mut (impl TreeStore + ?Sized),
        ranges: &[Range],
    ) -> StoreResult<Option<Vec<Hash>>> {
        if self.0.len() > MOST {
            self.0.clear();
        }
        let mut missing = Vec::new();
        for range in ranges {
            places(*range, &mut missing);
        }
        missing.retain(|place| !self.0.contains_key(place));
        missing.sort_unstable();
        let mut rest = missing.as_slice();
        while let Some(first) = rest.first() {
            let is_near = |one: &NodePosition, next: &NodePosition| {
                one.level == next.level && next.index - one.index <= NEAR
            };
            let count =
                1 + rest.windows(2).take_while(|pair| matches!(pair, [a, b] if is_near(a, b))).count();
            let (run, after) = rest.split_at(count);
            let last = run.last().map_or(first.index, |last| last.index);
            for (index, hash) in store.hashes(first.level, first.index, last + 1).await? {
                self.0.insert(NodePosition { level: first.level, index }, hash);
            }
            rest = after;
        }
        let at = |place: NodePosition| self.0.get(&place).copied();
        Ok(ranges.iter().map(|range| hash_of(*range, &at)).collect())
    }
}

/// The path that proves that the entry at this place is in the log of this size, from the leaf upwards; `None` where it
/// is not, or too little of the log is kept.
pub async fn inclusion(
    store: &mut (impl TreeStore + ?Sized),
    nodes: &mut Nodes,
    index: u64,
    size: u64,
) -> StoreResult<Option<Vec<Hash>>> {
    if index >= size {
        return Ok(None);
    }
    nodes.of(store, &inclusion_ranges(index, size)).await
}

/// The path that proves that the log of one size is the beginning of that of another; `None` where it is longer, or too
/// little of the log is kept.
pub async fn consistency(
    store: &mut (impl TreeStore + ?Sized),
    earlier: u64,
    later: u64,
) -> StoreResult<Option<Vec<Hash>>> {
    if earlier > later {
        return Ok(None);
    }
    Nodes::default().of(store, &consistency_ranges(earlier, later)).await
}
