//! The only changes to existing entries: erasing addresses, and removing entries whose retention has ended. On
//! PostgreSQL a separate role does this (docs/design/audit-log.md).

use async_trait::async_trait;
use audit::{
    StoredEntry, Unaudited,
    log::{
        COUNTERSIGNATURE, CheckpointKey, GROUP, Removal, Retention, RetentionStore, Statement, VerifyStore,
        is_covered, newest_removal,
    },
};
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};

use super::{
    entry_row::EntryRow,
    log::{number, read_position},
};
use crate::{
    Tx,
    db::{change, change_unaudited, read},
    error::corrupt,
    prepared::Prepared,
    schema::{audit_drops, audit_entries, audit_sealed, audit_statements, tenants},
};

/// Entries read, changed or removed per unit of work.
const KEPT_AT_ONCE: u64 = 4096;

#[derive(Insertable)]
#[diesel(table_name = audit_statements)]
struct StatementRow {
    tenant_id: String,
    kind: String,
    number: i64,
    created_at: NaiveDateTime,
    note: String,
}

impl StatementRow {
    fn new(tx: &Tx, kind: &str, of: u64, at: Timestamp, note: &str) -> Self {
        Self {
            tenant_id: tx.tenant.to_string(),
            kind: kind.to_owned(),
            number: number(of),
            created_at: at.naive(),
            note: note.to_owned(),
        }
    }
}

#[async_trait]
impl RetentionStore for Tx {
    async fn retention_days(&mut self) -> StoreResult<Option<u32>> {
        let query = tenants::table.find(self.tenant.as_str()).select(tenants::audit_days);
        let days: Option<Option<i64>> = read!(self, c => query.first(c).await.optional())?;
        let days = days.flatten().map(u32::try_from).transpose();
        days.map_err(|error| corrupt("tenants.audit_days", error))
    }

    async fn newest_of_action(&mut self, action: &str) -> StoreResult<Option<StoredEntry>> {
        let query = audit_entries::table
            .filter(audit_entries::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_entries::action.eq(action))
            .order((audit_entries::created_at.desc(), audit_entries::id.desc()));
        let row: Option<EntryRow> =
            read!(self, c => query.select(EntryRow::as_select()).first(c).await.optional())?;
        Ok(row.map(StoredEntry::from))
    }

    async fn set_retention(&mut self, retention: &Retention, note: &str) -> StoreResult<()> {
        let days = retention.days.map(i64::from);
        let row = tenants::table.find(self.tenant.as_str());
        let update = Prepared(diesel::update(row).set(tenants::audit_days.eq(days)));
        change!(self, c => update.execute(c).await)?;
        let number = self.statements(Retention::KIND).await?.last().map_or(0, |(number, _)| number + 1);
        self.insert_statement(Retention::KIND, number, retention.at, note).await
    }

    async fn add_countersignature(&mut self, note: &str, at: Timestamp) -> StoreResult<()> {
        let number = self.statements(COUNTERSIGNATURE).await?.last().map_or(0, |(number, _)| number + 1);
        let row = StatementRow::new(self, COUNTERSIGNATURE, number, at, note);
        let insert = Prepared(diesel::insert_into(audit_statements::table).values(row));
        change_unaudited!(self, Unaudited::Sealed, c => insert.execute(c).await)?;
        Ok(())
    }

    async fn declare_removal(&mut self, removal: &Removal, note: &str) -> StoreResult<()> {
        let before = removal.before;
        if !before.is_multiple_of(GROUP) || before > self.log().await?.size() {
            return Err(StoreError::Aborted("a removal must cover whole groups of sealed entries"));
        }
        if removal.from != self.removed_before().await? {
            return Err(StoreError::Aborted("another process removed entries at the same time: try again"));
        }
        let row = (
            audit_drops::tenant_id.eq(self.tenant.as_str()),
            audit_drops::before_sequence.eq(number(before)),
            audit_drops::created_at.eq(removal.at.naive()),
        );
        let insert = diesel::insert_into(audit_drops::table).values(row);
        change_unaudited!(self, Unaudited::Announced, c => insert.execute(c).await)?;
        self.insert_statement(Removal::KIND, before, removal.at, note).await
    }

    async fn remove_declared(&mut self, keys: &[CheckpointKey]) -> StoreResult<u64> {
        let tenant = self.tenant.as_str().to_owned();
        let Some(removal) = newest_removal(self, &tenant, keys).await? else { return Ok(0) };
        let before = number(removal.before);
        let first = audit_sealed::table
            .filter(audit_sealed::tenant_id.eq(&tenant))
            .filter(audit_sealed::sequence.ge(0))
            .filter(audit_sealed::sequence.lt(before))
            .order(audit_sealed::sequence)
            .select(audit_sealed::sequence);
        let Some(first): Option<i64> = read!(self, c => first.first(c).await.optional())? else {
            return Ok(0);
        };
        let end = before.min(first.saturating_add(number(KEPT_AT_ONCE)));
        let (from, to) =
            (read_position("audit_sealed.sequence", first)?, read_position("audit_sealed.sequence", end)?);
        if !is_covered(self, &tenant, &removal, from, to).await? {
            return Err(StoreError::Aborted(
                "the entries differ from the declared removal: run `gatehouse audit verify`",
            ));
        }
        let some = || {
            audit_sealed::table
                .filter(audit_sealed::tenant_id.eq(&tenant))
                .filter(audit_sealed::sequence.ge(first))
                .filter(audit_sealed::sequence.lt(end))
        };
        let entries = audit_entries::table
            .filter(audit_entries::tenant_id.eq(&tenant))
            .filter(audit_entries::id.eq_any(some().select(audit_sealed::entry_id)));
        let removed =
            change_unaudited!(self, Unaudited::Announced, c => diesel::delete(entries).execute(c).await)?;
        change_unaudited!(self, Unaudited::Announced, c => diesel::delete(some()).execute(c).await)?;
        Ok(removed as u64)
    }

    async fn erase_addresses(&mut self, actor: &str) -> StoreResult<u64> {
        let query = audit_entries::table
            .filter(audit_entries::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_entries::actor_id.eq(actor))
            .filter(audit_entries::ip.is_not_null())
            .limit(number(KEPT_AT_ONCE));
        let rows: Vec<EntryRow> = read!(self, c => query.select(EntryRow::as_select()).load(c).await)?;
        let count = rows.len() as u64;
        for entry in rows.into_iter().map(StoredEntry::from) {
            let none = || corrupt("audit_entries.salt", "the address has no salt");
            let row = audit_entries::table.find((self.tenant.as_str(), &entry.id));
            let erased = (
                audit_entries::ip.eq(None::<String>),
                audit_entries::salt.eq(None::<Vec<u8>>),
                audit_entries::ip_commitment.eq(Some(entry.commitment().ok_or_else(none)?)),
            );
            let update = Prepared(diesel::update(row).set(erased));
            change!(self, c => update.execute(c).await)?;
        }
        Ok(count)
    }
}

impl Tx {
    async fn insert_statement(&mut self, kind: &str, of: u64, at: Timestamp, note: &str) -> StoreResult<()> {
        let row = StatementRow::new(self, kind, of, at, note);
        let insert = Prepared(diesel::insert_into(audit_statements::table).values(row));
        change!(self, c => insert.execute(c).await)?;
        Ok(())
    }

    /// Returns the position before which entries are declared removed.
    async fn removed_before(&mut self) -> StoreResult<u64> {
        Ok(self.removals().await?.pop().unwrap_or_default())
    }
}
