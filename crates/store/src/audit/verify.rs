//! Queries for verifying the audit log.

use async_trait::async_trait;
use audit::{
    StoredEntry,
    log::{COUNTERSIGNATURE, Frontier, GROUP, SealedRow, VerifyStore},
};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::StoreResult;

use super::{
    entry_row::EntryRow,
    log::{LogRow, number, read_position},
};
use crate::{
    Tx,
    db::read,
    error::corrupt,
    schema::{
        audit_checkpoints, audit_drops, audit_entries, audit_logs, audit_sealed, audit_statements,
        audit_subtrees, audit_unsealed,
    },
};

/// Position, id, hash, and the entry if it exists.
type NodeRow = (i64, String, Vec<u8>, Option<EntryRow>);

#[async_trait]
impl VerifyStore for Tx {
    async fn log(&mut self) -> StoreResult<Frontier> {
        let query = audit_logs::table.find(self.tenant.as_str());
        let row: Option<LogRow> =
            read!(self, c => query.select(LogRow::as_select()).first(c).await.optional())?;
        row.map_or_else(|| Ok(Frontier::default()), |row| row.log())
    }

    async fn sealed(&mut self, from: u64, to: u64) -> StoreResult<Vec<SealedRow>> {
        let query = audit_sealed::table
            .left_join(
                audit_entries::table.on(audit_entries::tenant_id
                    .eq(audit_sealed::tenant_id)
                    .and(audit_entries::id.eq(audit_sealed::entry_id))),
            )
            .filter(audit_sealed::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_sealed::sequence.ge(number(from)))
            .filter(audit_sealed::sequence.lt(number(to)))
            .order(audit_sealed::sequence);
        let rows: Vec<NodeRow> = read!(self, c => query
            .select((
                audit_sealed::sequence,
                audit_sealed::entry_id,
                audit_sealed::leaf,
                Option::<EntryRow>::as_select(),
            ))
            .load(c).await)?;
        let row = |(sequence, id, leaf, entry): NodeRow| {
            Ok(SealedRow {
                sequence: read_position("audit_sealed.sequence", sequence)?,
                id,
                // A leaf of another length was altered in the database, so it must not match.
                leaf: leaf.try_into().unwrap_or_default(),
                entry: entry.map(StoredEntry::from),
            })
        };
        rows.into_iter().map(row).collect()
    }

    async fn checkpoints(&mut self, after: u64, limit: usize) -> StoreResult<Vec<(u64, String)>> {
        let query = audit_checkpoints::table
            .filter(audit_checkpoints::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_checkpoints::size.gt(number(after)))
            .order(audit_checkpoints::size)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX))
            .select((audit_checkpoints::size, audit_checkpoints::note));
        let rows: Vec<(i64, String)> = read!(self, c => query.load(c).await)?;
        let is_any = !rows.is_empty();
        // SQLite sorts non-numbers after all numbers but reads them as smaller ones, so a size that does not grow is
        // corrupt.
        let (mut last, mut read) = (number(after), Vec::new());
        for (size, note) in rows {
            if size <= last {
                break;
            }
            read.push((read_position("audit_checkpoints.size", size)?, note));
            last = size;
        }
        if read.is_empty() && is_any {
            return Err(corrupt("audit_checkpoints.size", "not a number"));
        }
        self.with_countersignatures(read).await
    }

    async fn mac_start(&mut self) -> StoreResult<Option<String>> {
        let query = audit_logs::table.find(self.tenant.as_str()).select(audit_logs::mac_start);
        let note: Option<Option<String>> = read!(self, c => query.first(c).await.optional())?;
        Ok(self.countersigned(note.flatten().into_iter().collect()).await?.pop())
    }

    async fn removals(&mut self) -> StoreResult<Vec<u64>> {
        let query = audit_drops::table
            .filter(audit_drops::tenant_id.eq(self.tenant.as_str()))
            .order(audit_drops::before_sequence)
            .select(audit_drops::before_sequence);
        let rows: Vec<i64> = read!(self, c => query.load(c).await)?;
        rows.into_iter().map(|before| read_position("audit_drops.before_sequence", before)).collect()
    }

    async fn statements(&mut self, kind: &str) -> StoreResult<Vec<(u64, String)>> {
        let query = audit_statements::table
            .filter(audit_statements::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_statements::kind.eq(kind))
            .order(audit_statements::number)
            .select((audit_statements::number, audit_statements::note));
        let rows: Vec<(i64, String)> = read!(self, c => query.load(c).await)?;
        let numbered = rows
            .into_iter()
            .map(|(number, note)| Ok((read_position("audit_statements.number", number)?, note)));
        let numbered = numbered.collect::<StoreResult<Vec<_>>>()?;
        if kind == COUNTERSIGNATURE { Ok(numbered) } else { self.with_countersignatures(numbered).await }
    }

    async fn waiting(&mut self, after: &str, limit: usize) -> StoreResult<Vec<String>> {
        let query = audit_unsealed::table
            .filter(audit_unsealed::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_unsealed::entry_id.gt(after))
            .order(audit_unsealed::entry_id)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX))
            .select(audit_unsealed::entry_id);
        read!(self, c => query.load(c).await)
    }

    async fn entries_of(&mut self, ids: &[String]) -> StoreResult<Vec<StoredEntry>> {
        let query = audit_entries::table
            .filter(audit_entries::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_entries::id.eq_any(ids));
        let rows: Vec<EntryRow> = read!(self, c => query.select(EntryRow::as_select()).load(c).await)?;
        Ok(rows.into_iter().map(StoredEntry::from).collect())
    }

    async fn outside(&mut self, size: u64, limit: usize) -> StoreResult<Vec<String>> {
        let query = audit_sealed::table
            .filter(audit_sealed::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_sealed::sequence.lt(0).or(audit_sealed::sequence.ge(number(size))))
            .order(audit_sealed::sequence)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX))
            .select(audit_sealed::entry_id);
        read!(self, c => query.load(c).await)
    }

    async fn next_place(&mut self, from: u64, to: u64) -> StoreResult<Option<u64>> {
        let entry = audit_sealed::table
            .filter(audit_sealed::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_sealed::sequence.ge(number(from)))
            .filter(audit_sealed::sequence.lt(number(to)))
            .order(audit_sealed::sequence)
            .select(audit_sealed::sequence);
        let entry: Option<i64> = read!(self, c => entry.first(c).await.optional())?;
        let group = audit_subtrees::table
            .filter(audit_subtrees::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_subtrees::level.eq(1))
            .filter(audit_subtrees::number.ge(number(from / GROUP)))
            .filter(audit_subtrees::number.lt(number(to / GROUP)))
            .order(audit_subtrees::number)
            .select(audit_subtrees::number);
        let group: Option<i64> = read!(self, c => group.first(c).await.optional())?;
        let entry = entry.map(|entry| read_position("audit_sealed.sequence", entry)).transpose()?;
        let group = group.map(|group| read_position("audit_subtrees.number", group)).transpose()?;
        Ok(entry.into_iter().chain(group.map(|group| group.saturating_mul(GROUP))).min())
    }

    async fn unaccounted(&mut self, limit: usize) -> StoreResult<Vec<String>> {
        let tenant = self.tenant.as_str().to_owned();
        let sealed = audit_sealed::table
            .filter(audit_sealed::tenant_id.eq(&tenant))
            .filter(audit_sealed::entry_id.eq(audit_entries::id));
        let waiting = audit_unsealed::table
            .filter(audit_unsealed::tenant_id.eq(&tenant))
            .filter(audit_unsealed::entry_id.eq(audit_entries::id));
        let query = audit_entries::table
            .filter(audit_entries::tenant_id.eq(&tenant))
            .filter(diesel::dsl::not(diesel::dsl::exists(sealed)))
            .filter(diesel::dsl::not(diesel::dsl::exists(waiting)))
            .select(audit_entries::id)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX));
        read!(self, c => query.load(c).await)
    }
}

impl Tx {
    /// Returns numbered notes with the signatures of their countersignatures.
    async fn with_countersignatures(
        &mut self,
        numbered: Vec<(u64, String)>,
    ) -> StoreResult<Vec<(u64, String)>> {
        let (numbers, notes): (Vec<_>, Vec<_>) = numbered.into_iter().unzip();
        Ok(numbers.into_iter().zip(self.countersigned(notes).await?).collect())
    }
}
