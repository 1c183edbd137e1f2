//! Creates proofs from the stored hashes of a log.

use crate::store::{SubtreeRun, TreeStore};
use std::collections::HashMap;

use kernel::StoreResult;

use super::merkle::{Hash, NodePosition, Range, consistency_ranges, hash_of, inclusion_ranges, places};

/// A cache of hashes, because proofs of neighboring entries share most of them.
#[derive(Debug, Default)]
pub struct Nodes(HashMap<NodePosition, Hash>);

/// Maximum number of cached hashes.
const MOST: usize = 4096;
/// Positions at most this far apart are read together.
const NEAR: u64 = 16;

impl Nodes {
    /// Returns the hashes of these ranges; `None` if one is no longer stored.
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
        let (mut rest, mut runs) = (missing.as_slice(), Vec::new());
        while let Some(first) = rest.first() {
            let is_near = |one: &NodePosition, next: &NodePosition| {
                one.level == next.level && next.index - one.index <= NEAR
            };
            let count =
                1 + rest.windows(2).take_while(|pair| matches!(pair, [a, b] if is_near(a, b))).count();
            let (run, after) = rest.split_at(count);
            let last = run.last().map_or(first.index, |last| last.index);
            runs.push(SubtreeRun { level: first.level, from: first.index, to: last + 1 });
            rest = after;
        }
        for (run, hashes) in runs.iter().zip(store.hashes_of(&runs).await?) {
            let of_run =
                hashes.into_iter().map(|(index, hash)| (NodePosition { level: run.level, index }, hash));
            self.0.extend(of_run);
        }
        let at = |place: NodePosition| self.0.get(&place).copied();
        Ok(ranges.iter().map(|range| hash_of(*range, &at)).collect())
    }
}

/// Returns the inclusion proof of the entry at `index` in the log of `size` entries, from the leaf upwards. `None` if
/// it is not in that log, or too few hashes are stored.
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

/// Returns the consistency proof between two sizes of the log. `None` if the first is larger, or too few hashes are
/// stored.
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
