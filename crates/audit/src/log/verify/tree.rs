//! Walks the log's tree from its beginning to its end.

use std::collections::HashMap;

use data_encoding::BASE64;
use kernel::{StoreError, StoreResult};

use super::{MOST, SealedRow, Verifier};
use crate::log::{
    checkpoint::Checkpoint,
    finding::Finding,
    merkle::{Frontier, GROUP, Hash, NodePosition, last_group},
};
use crate::store::VerifyStore;

/// Groups per statement.
const GROUPS_AT_ONCE: u64 = 16;

impl<S: VerifyStore + ?Sized> Verifier<'_, S> {
    /// Reads the rows of a range. If the range is unreadable, it is split, so that only single unreadable rows are
    /// left out.
    pub(super) async fn rows(&mut self, from: u64, to: u64) -> StoreResult<Vec<SealedRow>> {
        let (mut rows, mut ranges) = (Vec::new(), vec![(from, to)]);
        while let Some((from, to)) = ranges.pop() {
            match self.store.sealed(from, to).await {
                Err(StoreError::Corrupt(_)) if to - from > 1 => {
                    let middle = from + (to - from) / 2;
                    ranges.extend([(middle, to), (from, middle)]);
                }
                Err(StoreError::Corrupt(_)) => rows.extend(self.unreadable_row(from).await?),
                read => rows.extend(read?),
            }
        }
        Ok(rows)
    }

    /// Reports an unreadable row, and returns it with its hash if that is readable.
    async fn unreadable_row(&mut self, sequence: u64) -> StoreResult<Option<SealedRow>> {
        self.result.found(Finding::Unreadable { table: "audit_entries", at: sequence.to_string() });
        let leaf = self.hashes(0, sequence, sequence + 1).await?.remove(&sequence);
        self.unreadable.extend(leaf.map(|_| sequence));
        Ok(leaf.map(|leaf| SealedRow { sequence, id: String::new(), leaf, entry: None }))
    }

    /// Reads the hashes of subtrees, by index. Unreadable ones become findings.
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> StoreResult<HashMap<u64, Hash>> {
        let table = if level == 0 { "audit_sealed" } else { "audit_subtrees" };
        match self.store.hashes(level, from, to).await {
            Err(StoreError::Corrupt(_)) => {}
            read => return Ok(read?.into_iter().collect()),
        }
        let mut hashes = HashMap::new();
        for index in from..to {
            let read = self.store.hashes(level, index, index + 1).await;
            let at = if level == 0 { index.to_string() } else { format!("{index} of level {level}") };
            hashes.extend(self.readable(read, table, &at)?.unwrap_or_default());
        }
        Ok(hashes)
    }

    /// Continues after positions with unknown hashes.
    fn skip_to(&mut self, size: u64) {
        self.is_known = false;
        let unknown = vec![0; 32 * size.count_ones() as usize];
        self.log = Frontier::restore(size, &unknown).unwrap_or_default();
    }

    /// Verifies some groups, beginning at a multiple of [`GROUP`]: each call ends at one, or at `size`. A removed group
    /// contributes its stored hash. One with remaining rows is verified like any other, because it has not been
    /// removed yet.
    pub(super) async fn groups(&mut self, size: u64) -> StoreResult<()> {
        let from = self.log.size();
        let to = size.min(from + GROUPS_AT_ONCE * GROUP);
        let hashes = self.hashes(1, from / GROUP, to / GROUP).await?;
        let rows = self.rows(from, to).await?;
        if rows.is_empty() && hashes.is_empty() {
            return self.nothing_left(from, to, size).await;
        }
        let mut rows = rows.into_iter().peekable();
        while self.log.size() < to {
            let first = self.log.size();
            let end = to.min(first + GROUP);
            let mut group = Vec::new();
            while let Some(row) = rows.next_if(|row| row.sequence < end) {
                group.push(row);
            }
            let hash = hashes.get(&(first / GROUP)).filter(|_| end % GROUP == 0).copied();
            match hash.filter(|_| group.is_empty() && end <= self.result.dropped) {
                Some(hash) => self.push_group(hash).await?,
                None => self.group(first, end, group, hash).await?,
            }
        }
        Ok(())
    }

    /// Continues at the next position that has data, so that a forged size does not cost a walk over all positions.
    async fn nothing_left(&mut self, from: u64, to: u64, size: u64) -> StoreResult<()> {
        let next = self.store.next_place(to, size).await;
        let next = self.readable(next, "audit_sealed", &format!("after {to}"))?.flatten();
        let next = next.map_or(size, |next| (next - next % GROUP).max(to));
        self.result.found(Finding::Missing { from, to: next });
        self.skip_to(next);
        self.compare().await
    }

    /// Verifies the entries of a group against its stored hash.
    async fn group(
        &mut self,
        first: u64,
        end: u64,
        rows: Vec<SealedRow>,
        hash: Option<Hash>,
    ) -> StoreResult<()> {
        let before = self.log.clone();
        let (mut expected, mut is_whole, mut complete) = (first, true, None);
        for row in rows {
            if row.sequence < expected {
                // Another row has the same position.
                self.result.found(Finding::Inserted { id: row.id });
                continue;
            }
            if row.sequence != expected {
                is_whole = false;
                self.result.found(Finding::Missing { from: expected, to: row.sequence });
            }
            expected = row.sequence + 1;
            let leaf = row.leaf;
            self.check_entry(row);
            if is_whole {
                let mut altered = Vec::new();
                self.log.push(leaf, |place, hash| match place.level {
                    1 => complete = Some(hash),
                    _ => altered.push((place, hash)),
                });
                for (place, hash) in altered {
                    self.subtree(place, hash).await?;
                }
                self.compare().await?;
            }
        }
        if expected != end {
            is_whole = false;
            self.result.found(Finding::Missing { from: expected, to: end });
        }
        let is_complete = end % GROUP == 0;
        if is_whole && (!is_complete || complete == hash) {
            return Ok(());
        }
        if is_whole {
            self.result.found(Finding::Altered { from: first, to: end });
        }
        self.log = before;
        if let Some(hash) = hash {
            return self.push_group(hash).await;
        }
        self.skip_to(end);
        self.compare().await
    }

    /// Appends a group by its stored hash.
    async fn push_group(&mut self, hash: Hash) -> StoreResult<()> {
        let mut completed = Vec::new();
        self.log.push_subtree(1, hash, |place, hash| completed.push((place, hash)));
        for (place, hash) in completed {
            self.subtree(place, hash).await?;
        }
        self.compare().await
    }

    /// Verifies a subtree of several groups against its stored hash.
    async fn subtree(&mut self, place: NodePosition, hash: Hash) -> StoreResult<()> {
        if !self.is_known {
            return Ok(());
        }
        let kept = self.hashes(place.level, place.index, place.index + 1).await?;
        if kept.get(&place.index) != Some(&hash) {
            let leaves = 1_u64 << (8 * u32::from(place.level));
            self.result
                .found(Finding::Altered { from: place.index * leaves, to: (place.index + 1) * leaves });
        }
        Ok(())
    }

    /// Compares the log with the checkpoints of its size.
    async fn compare(&mut self) -> StoreResult<()> {
        let size = self.log.size();
        if self.ahead.is_empty() && self.read < size {
            let some = self.store.checkpoints(size - 1, MOST).await;
            let some = self.readable(some, "audit_checkpoints", &format!("from {size}"))?.unwrap_or_default();
            self.read = some.last().map_or(u64::MAX, |(last, _)| *last);
            for (size, note) in some.into_iter().rev() {
                match Checkpoint::read(&note) {
                    Ok(checkpoint) if checkpoint.size == size => self.ahead.push((checkpoint, note)),
                    _ => self.result.found_once(Finding::Unsigned { size }),
                }
            }
        }
        while self.ahead.last().is_some_and(|(checkpoint, _)| checkpoint.size <= size) {
            let Some((checkpoint, note)) = self.ahead.pop() else { break };
            if checkpoint.size != size || !self.is_known {
                continue;
            }
            self.result.checkpoints += 1;
            if checkpoint.root == self.log.root() {
                continue;
            }
            let is_signed = Checkpoint::verified(&note, self.keys.checkpoints).is_ok();
            self.result.found(if is_signed {
                Finding::Altered { from: last_group(size), to: size }
            } else {
                Finding::Unsigned { size }
            });
        }
        while self.declared.first().is_some_and(|(declared, _)| *declared <= size) {
            let (declared, root) = self.declared.remove(0);
            if declared == size && self.is_known && root != BASE64.encode(&self.log.root()) {
                self.result.found(Finding::Altered { from: 0, to: size });
            }
        }
        while self.known.first().is_some_and(|known| known.size <= size) {
            let known = self.known.remove(0);
            if known.size == size && self.is_known {
                self.result.checkpoints += 1;
                if known.root != self.log.root() {
                    self.result.found(Finding::Forked { size });
                }
            } else {
                self.result.found(Finding::NotCompared { size: known.size });
            }
        }
        Ok(())
    }
}
