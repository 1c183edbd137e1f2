//! The transparency log of each tenant: sealing entries and storing the hashes of the Merkle tree.

use std::collections::HashMap;

use async_trait::async_trait;
use audit::{
    StoredEntry, Unaudited,
    log::{
        Batch, COUNTERSIGNATURE, Checkpoint, Frontier, Hash, Lease, LockedLog, NodePosition, ProofStore,
        SealStore, SubtreeRun, TreeStore, Unsealed, UnsealedLog, add_countersignatures,
    },
};
use chrono::NaiveDateTime;
use diesel::{
    prelude::*,
    sql_types::{Array, BigInt, Binary, Text},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};

use super::entry_row::{EntryRow, entry_mac};
use crate::{
    Across, Tx,
    conn::{Conn, on, on_each},
    db::{change_unaudited, lock, read, unaudited},
    error::{corrupt, store_error},
    prepared::Prepared,
    schema::{
        audit_checkpoints, audit_entries, audit_logs, audit_sealed, audit_statements, audit_subtrees,
        audit_unsealed,
    },
};

/// Inserts the positions of many queued entries with one statement that stays prepared. PostgreSQL only. The tenant is
/// read from the queue, so that a distributed database runs it on the node of the tenant.
const SEAL: &str = "INSERT INTO audit_sealed (tenant_id, sequence, entry_id, leaf) \
    SELECT waiting.tenant_id, sealed.sequence, waiting.entry_id, sealed.leaf FROM audit_unsealed AS waiting \
    JOIN unnest($2::bigint[], $3::text[], $4::bytea[]) AS sealed(sequence, entry_id, leaf) ON sealed.entry_id = waiting.entry_id \
    WHERE waiting.tenant_id = $1";

/// The first unsealed entry of each tenant. Reads one index entry per tenant.
const UNSEALED: &str = "WITH RECURSIVE found AS (\
    (SELECT tenant_id, entry_id FROM %1$s ORDER BY 1, 2 LIMIT 1) UNION ALL \
    SELECT next.* FROM found, LATERAL (SELECT tenant_id, entry_id FROM %1$s WHERE tenant_id > found.tenant_id \
    ORDER BY 1, 2 LIMIT 1) AS next) \
    SELECT coalesce(json_agg(json_build_array(tenant_id, entry_id)), '[]')::text \
    FROM (SELECT * FROM found LIMIT 1000) AS few";

/// Converts a position to a database integer.
pub(crate) fn number(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

/// Reads a position from its column.
pub(crate) fn read_position(column: &'static str, number: i64) -> StoreResult<u64> {
    u64::try_from(number).map_err(|error| corrupt(column, error))
}

fn hash(column: &'static str, bytes: Vec<u8>) -> StoreResult<Hash> {
    bytes.try_into().map_err(|_| corrupt(column, "not 32 bytes"))
}

/// A log's size, frontier and current sealer.
#[derive(Queryable, Selectable)]
#[diesel(table_name = audit_logs)]
pub(crate) struct LogRow {
    size: i64,
    frontier: Vec<u8>,
    lease_owner: String,
    lease_until: NaiveDateTime,
    mac_start: Option<String>,
}

impl LogRow {
    pub(crate) fn log(&self) -> StoreResult<Frontier> {
        let size = read_position("audit_logs.size", self.size)?;
        Frontier::restore(size, &self.frontier)
            .ok_or_else(|| corrupt("audit_logs.frontier", "does not match the size of the log"))
    }
}

/// Id, leaf hash, and the MAC's key id and tag. Nothing here is trusted: it may have been altered in the database.
type LeafRow = (String, Option<Vec<u8>>, Option<String>, Option<Vec<u8>>);

/// Tenant, entry, owner and end of the lease.
type WaitingRow = (String, String, Option<(String, NaiveDateTime)>);

impl Across {
    /// Returns the next tenant by id that has unsealed entries.
    pub async fn next_unsealed(&mut self, after: Option<&TenantId>) -> StoreResult<Option<UnsealedLog>> {
        let query = audit_unsealed::table
            .left_join(audit_logs::table.on(audit_logs::tenant_id.eq(audit_unsealed::tenant_id)))
            .filter(audit_unsealed::tenant_id.gt(after.map_or("", TenantId::as_str)))
            .order((audit_unsealed::tenant_id, audit_unsealed::entry_id))
            .select((
                audit_unsealed::tenant_id,
                audit_unsealed::entry_id,
                (audit_logs::lease_owner, audit_logs::lease_until).nullable(),
            ));
        let row: Option<WaitingRow> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        row.map(|(tenant, first, lease)| {
            Ok(UnsealedLog {
                first,
                tenant: tenant.parse().map_err(|error| corrupt("audit_unsealed.tenant_id", error))?,
                lease: lease.map(|(owner, until)| (owner, Timestamp::from_naive(until))),
            })
        })
        .transpose()
    }

    /// Returns tenants with unsealed entries and the first one of each, as far as their nodes answer.
    pub(crate) async fn unsealed_on_shards(&mut self) -> StoreResult<Vec<(TenantId, String)>> {
        let found: Vec<(String, String)> = self.on_shards("audit_unsealed", UNSEALED).await?;
        let read = |(tenant, entry): (String, String)| {
            Ok((tenant.parse().map_err(|error| corrupt("audit_unsealed.tenant_id", error))?, entry))
        };
        found.into_iter().map(read).collect()
    }
}

impl Tx {
    /// Reads the log's row and, in a unit of work that writes, locks it.
    async fn log_row(&mut self) -> StoreResult<Option<LogRow>> {
        let query = audit_logs::table.find(self.tenant.as_str());
        lock!(self, for_update, first, query.select(LogRow::as_select()))
    }

    /// Returns the newest checkpoint as stored and its time, or `None` if there is none. Its signature is not
    /// verified here.
    pub async fn newest_checkpoint(&mut self) -> StoreResult<Option<(String, Timestamp)>> {
        let query = audit_checkpoints::table
            .filter(audit_checkpoints::tenant_id.eq(self.tenant.as_str()))
            .order(audit_checkpoints::size.desc())
            .select((audit_checkpoints::size, audit_checkpoints::note, audit_checkpoints::created_at));
        let row: Option<(i64, String, NaiveDateTime)> = read!(self, c => query.first(c).await.optional())?;
        let Some((size, note, at)) = row else { return Ok(None) };
        // An old note stored under a larger size must not count as the newest.
        let is_of_size = |checkpoint: &Checkpoint| number(checkpoint.size) == size;
        if !Checkpoint::read(&note).is_ok_and(|checkpoint| is_of_size(&checkpoint)) {
            return Err(corrupt("audit_checkpoints.note", "does not match the size of the checkpoint"));
        }
        let notes = self.countersigned(vec![note]).await?;
        Ok(notes.into_iter().next().map(|note| (note, Timestamp::from_naive(at))))
    }

    /// Returns notes with the signatures of their countersignatures.
    pub(super) async fn countersigned(&mut self, mut notes: Vec<String>) -> StoreResult<Vec<String>> {
        if notes.is_empty() {
            return Ok(notes);
        }
        let query = audit_statements::table
            .filter(audit_statements::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_statements::kind.eq(COUNTERSIGNATURE))
            .order(audit_statements::number)
            .select(audit_statements::note);
        let countersignatures: Vec<String> = read!(self, c => query.load(c).await)?;
        for note in &mut notes {
            add_countersignatures(note, &countersignatures);
        }
        Ok(notes)
    }

    /// Returns the position and leaf hash of an entry, if it is sealed.
    pub async fn position_of(&mut self, id: &str) -> StoreResult<Option<(u64, Hash)>> {
        let query = audit_sealed::table
            .filter(audit_sealed::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_sealed::entry_id.eq(id))
            // The stored position may be invalid if the row was altered.
            .filter(audit_sealed::sequence.ge(0))
            .select((audit_sealed::sequence, audit_sealed::leaf));
        let row: Option<(i64, Vec<u8>)> = read!(self, c => query.first(c).await.optional())?;
        row.map(|(sequence, leaf)| {
            Ok((read_position("audit_sealed.sequence", sequence)?, hash("audit_sealed.leaf", leaf)?))
        })
        .transpose()
    }

    /// Returns the positions of the entries that are sealed.
    pub(crate) async fn positions_of(&mut self, ids: &[&str]) -> StoreResult<HashMap<String, u64>> {
        let of_tenant = audit_sealed::table.filter(audit_sealed::tenant_id.eq(self.tenant.as_str()));
        let columns = (audit_sealed::entry_id, audit_sealed::sequence);
        let query = of_tenant.filter(audit_sealed::entry_id.eq_any(ids)).filter(audit_sealed::sequence.ge(0));
        let query = query.select(columns);
        let rows: Vec<(String, i64)> = read!(self, c => query.load(c).await)?;
        rows.into_iter()
            .map(|(id, sequence)| Ok((id, read_position("audit_sealed.sequence", sequence)?)))
            .collect()
    }

    /// Returns the entry with this id.
    pub async fn entry(&mut self, id: &str) -> StoreResult<Option<StoredEntry>> {
        let query = audit_entries::table.find((self.tenant.as_str(), id));
        let row: Option<EntryRow> =
            read!(self, c => query.select(EntryRow::as_select()).first(c).await.optional())?;
        Ok(row.map(StoredEntry::from))
    }

    /// Returns the stored hashes and MACs of entries.
    async fn leaves_of(&mut self, ids: &[String]) -> StoreResult<Vec<LeafRow>> {
        let query = audit_entries::table
            .filter(audit_entries::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_entries::id.eq_any(ids))
            .select((
                audit_entries::id,
                audit_entries::leaf.nullable(),
                audit_entries::mac_key,
                audit_entries::mac,
            ));
        read!(self, c => query.load(c).await)
    }

    async fn store_nodes(&mut self, batch: &Batch) -> StoreResult<()> {
        let tenant = self.tenant.as_str();
        let ids: Vec<&str> = batch.entries.iter().map(|sealed| sealed.id.as_str()).collect();
        unaudited(Unaudited::Sealed);
        match self.db.changing().await? {
            Conn::Postgres(pg) => {
                let sequences: Vec<i64> =
                    batch.entries.iter().map(|sealed| number(sealed.sequence)).collect();
                let leaves: Vec<&[u8]> = batch.entries.iter().map(|sealed| sealed.leaf.as_slice()).collect();
                let insert = diesel::sql_query(SEAL)
                    .bind::<Text, _>(tenant)
                    .bind::<Array<BigInt>, _>(sequences)
                    .bind::<Array<Text>, _>(&ids)
                    .bind::<Array<Binary>, _>(leaves);
                let waited = audit_unsealed::table
                    .filter(audit_unsealed::tenant_id.eq(tenant))
                    .filter(audit_unsealed::entry_id.eq_any(&ids));
                let conn = pg.in_transaction().await.map_err(store_error)?;
                let result = async {
                    let inserted = Prepared(insert).execute(conn).await?;
                    Ok((inserted, diesel::delete(waited).execute(conn).await?))
                }
                .await;
                if pg.note(result).map_err(store_error)? != (ids.len(), ids.len()) {
                    return Err(StoreError::Aborted("entries left the queue while they were sealed"));
                }
            }
            Conn::Sqlite(conn) => {
                for sealed in &batch.entries {
                    let row = (
                        audit_sealed::tenant_id.eq(tenant),
                        audit_sealed::sequence.eq(number(sealed.sequence)),
                        audit_sealed::entry_id.eq(&sealed.id),
                        audit_sealed::leaf.eq(sealed.leaf.as_slice()),
                    );
                    let insert = diesel::insert_into(audit_sealed::table).values(row);
                    insert.execute(conn).await.map_err(store_error)?;
                    let waited = audit_unsealed::table.find((tenant, &sealed.id));
                    diesel::delete(waited).execute(conn).await.map_err(store_error)?;
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl SealStore for Tx {
    async fn claim(&mut self, lease: &Lease) -> StoreResult<Option<LockedLog>> {
        let mut row = self.log_row().await?;
        if row.is_none() {
            let first = (
                audit_logs::tenant_id.eq(self.tenant.as_str()),
                audit_logs::size.eq(0_i64),
                audit_logs::frontier.eq(Vec::<u8>::new()),
                audit_logs::lease_owner.eq(&lease.owner),
                audit_logs::lease_until.eq(lease.until.naive()),
            );
            let first = diesel::insert_into(audit_logs::table).values(first).on_conflict_do_nothing();
            change_unaudited!(self, Unaudited::Sealed, c => first.execute(c).await)?;
            row = self.log_row().await?;
        }
        let Some(row) = row else {
            return Err(StoreError::Aborted("the row of the new audit log is missing"));
        };
        let is_free = lease.may_take(&row.lease_owner, Timestamp::from_naive(row.lease_until));
        if !is_free {
            return Ok(None);
        }
        let log = row.log()?;
        let mac_start = self.countersigned(row.mac_start.into_iter().collect()).await?.pop();
        Ok(Some(LockedLog { log, mac_start }))
    }

    async fn newest_note(&mut self) -> StoreResult<Option<String>> {
        Ok(self.newest_checkpoint().await?.map(|(note, _)| note))
    }

    async fn unsealed(&mut self, after: Option<&str>, limit: usize) -> StoreResult<Vec<Unsealed>> {
        let waiting = audit_unsealed::table
            .filter(audit_unsealed::tenant_id.eq(self.tenant.as_str()))
            .filter(audit_unsealed::entry_id.gt(after.unwrap_or_default()))
            .order(audit_unsealed::entry_id)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX))
            .select(audit_unsealed::entry_id);
        let ids: Vec<String> = read!(self, c => waiting.load(c).await)?;
        // No join: for a few rows, PostgreSQL would merge-join both tables from the start and scan all audit entries.
        let rows = self.leaves_of(&ids).await?.into_iter();
        let mut rows: HashMap<String, LeafRow> = rows.map(|row| (row.0.clone(), row)).collect();
        let unsealed = |id: String| {
            let (_, leaf, key, tag) = rows.remove(&id).unwrap_or_default();
            let leaf = leaf.and_then(|leaf| leaf.try_into().ok());
            Unsealed { id, leaf, mac: entry_mac(key, tag) }
        };
        Ok(ids.into_iter().map(unsealed).collect())
    }

    async fn store_batch(&mut self, batch: &Batch, lease: &Lease) -> StoreResult<()> {
        self.store_nodes(batch).await?;
        let tenant = self.tenant.as_str().to_owned();
        for (NodePosition { level, index }, hash) in &batch.nodes {
            let row = (
                audit_subtrees::tenant_id.eq(&tenant),
                audit_subtrees::level.eq(i64::from(*level)),
                audit_subtrees::number.eq(number(*index)),
                audit_subtrees::hash.eq(hash.as_slice()),
            );
            let insert = diesel::insert_into(audit_subtrees::table).values(row);
            change_unaudited!(self, Unaudited::Sealed, c => insert.execute(c).await)?;
        }
        let checkpoint = (
            audit_checkpoints::tenant_id.eq(&tenant),
            audit_checkpoints::size.eq(number(batch.log.size())),
            audit_checkpoints::created_at.eq(batch.at.naive()),
            audit_checkpoints::note.eq(&batch.note),
        );
        let insert = diesel::insert_into(audit_checkpoints::table).values(checkpoint);
        change_unaudited!(self, Unaudited::Sealed, c => insert.execute(c).await)?;
        let log = (
            audit_logs::size.eq(number(batch.log.size())),
            audit_logs::frontier.eq(batch.log.to_bytes()),
            audit_logs::lease_owner.eq(&lease.owner),
            audit_logs::lease_until.eq(lease.until.naive()),
            audit_logs::mac_start.eq(&batch.mac_start),
        );
        let update = Prepared(diesel::update(audit_logs::table.find(&tenant)).set(log));
        change_unaudited!(self, Unaudited::Sealed, c => update.execute(c).await)?;
        Ok(())
    }
}

#[async_trait]
impl ProofStore for Tx {
    async fn newest_checkpoint(&mut self) -> StoreResult<Option<(String, Timestamp)>> {
        Self::newest_checkpoint(self).await
    }

    async fn entry(&mut self, id: &str) -> StoreResult<Option<StoredEntry>> {
        Self::entry(self, id).await
    }

    async fn position_of(&mut self, id: &str) -> StoreResult<Option<(u64, Hash)>> {
        Self::position_of(self, id).await
    }
}

/// Loads the hashes of a run of subtrees.
macro_rules! load_hashes {
    ($tenant:expr, $run:expr, $conn:expr) => {{
        let SubtreeRun { level, from, to } = $run;
        if level == 0 {
            let query = audit_sealed::table
                .filter(audit_sealed::tenant_id.eq($tenant))
                .filter(audit_sealed::sequence.ge(number(from)))
                .filter(audit_sealed::sequence.lt(number(to)))
                .order(audit_sealed::sequence)
                .select((audit_sealed::sequence, audit_sealed::leaf));
            query.load::<(i64, Vec<u8>)>($conn).await
        } else {
            let query = audit_subtrees::table
                .filter(audit_subtrees::tenant_id.eq($tenant))
                .filter(audit_subtrees::level.eq(i64::from(level)))
                .filter(audit_subtrees::number.ge(number(from)))
                .filter(audit_subtrees::number.lt(number(to)))
                .order(audit_subtrees::number)
                .select((audit_subtrees::number, audit_subtrees::hash));
            query.load($conn).await
        }
    }};
}

fn read_hashes(rows: Vec<(i64, Vec<u8>)>) -> StoreResult<Vec<(u64, Hash)>> {
    let read = |(index, bytes)| {
        Ok((read_position("audit_subtrees.number", index)?, hash("audit_subtrees.hash", bytes)?))
    };
    rows.into_iter().map(read).collect()
}

#[async_trait]
impl TreeStore for Tx {
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> StoreResult<Vec<(u64, Hash)>> {
        let run = SubtreeRun { level, from, to };
        let tenant = self.tenant.as_str().to_owned();
        read_hashes(read!(self, c => load_hashes!(&tenant, run, c))?)
    }

    async fn hashes_of(&mut self, runs: &[SubtreeRun]) -> StoreResult<Vec<Vec<(u64, Hash)>>> {
        let tenant = self.tenant.as_str().to_owned();
        let found = on_each!(self.db.reading().await?, runs, run, c => load_hashes!(&tenant, *run, c))?;
        found.into_iter().map(read_hashes).collect()
    }
}
