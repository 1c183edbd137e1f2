//! Purges expired rows of all tenants.

use std::sync::Arc;

use audit::{Audited, Unaudited};
use chrono::NaiveDateTime;
use diesel::{sql_query, sql_types};
use diesel_async::RunQueryDsl;
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use crate::{
    Across, Store, Tx,
    conn::on,
    db::{change_unaudited, unaudited},
    distribution::ON_COORDINATOR,
    prepared::Prepared,
};

const HOUR: i64 = 3_600_000;

/// Tables with rows that expire: the column with a row's time, and how long it is kept from then on, in milliseconds.
const EXPIRING: [(&str, &str, i64); 10] = [
    ("attempts", "until", 0),
    ("spent_challenges", "until", 0),
    ("tickets", "created_at", HOUR),
    ("step_up_challenges", "created_at", HOUR),
    ("step_up_tokens", "expires_at", HOUR),
    ("links", "created_at", 100 * HOUR),
    ("scim_refusals", "last_at", 30 * 24 * HOUR),
    ("removals", "at", 2 * HOUR),
    ("signal_events", "created_at", 7 * 24 * HOUR),
    ("received_signals", "expires_at", 0),
];

/// How long the ID token of a session is kept after its last use: as long as a session may be idle, in milliseconds.
const HINT_KEPT: i64 = 31 * 24 * HOUR;

/// The statement that removes the ID tokens of sessions that were last used before a time.
macro_rules! purge_hints {
    ($before:expr) => {
        Prepared(
            sql_query(
                "UPDATE sessions SET logout_hint = NULL WHERE logout_hint IS NOT NULL AND last_seen_at < $1",
            )
            .bind::<sql_types::Timestamp, _>($before),
        )
    };
}

/// The statement that deletes the rows of a table before a time.
macro_rules! purge {
    ($table:expr, $column:expr, $before:expr) => {
        Prepared(
            sql_query(format!("DELETE FROM {} WHERE {} < $1", $table, $column))
                .bind::<sql_types::Timestamp, _>($before),
        )
    };
}

impl Tx {
    /// Purges expired rows of all tenants: attempts, used challenges, tickets, step-up challenges and tokens, links,
    /// refused SCIM requests, counted removals of users, signals that were not delivered, IDs of received signals, and ID tokens of unused sessions.
    pub async fn purge_expired(&mut self, now: Timestamp) -> StoreResult<()> {
        for (table, column, kept) in EXPIRING {
            let before = now.plus_millis(-kept).naive();
            let purge = purge!(table, column, before);
            change_unaudited!(self, Unaudited::LookedAfter, c => purge.execute(c).await)?;
        }
        let purge = purge_hints!(now.plus_millis(-HINT_KEPT).naive());
        change_unaudited!(self, Unaudited::LookedAfter, c => purge.execute(c).await)?;
        Ok(())
    }
}

impl Across {
    /// Removes the ID tokens of unused sessions of a distributed database, as far as its nodes answer.
    async fn purge_hints_on_shards(&mut self, before: NaiveDateTime) -> StoreResult<()> {
        unaudited(Unaudited::LookedAfter);
        let purge = format!(
            "WITH purged AS (UPDATE %1$s SET logout_hint = NULL \
             WHERE logout_hint IS NOT NULL AND last_seen_at < '{before}' RETURNING 1) \
             SELECT json_build_array(count(*))::text FROM purged"
        );
        let _counts: Vec<u64> = self.on_shards("sessions", &purge).await?;
        Ok(())
    }

    /// Purges the expired rows of one table of a distributed database, as far as its nodes answer. A deletion that is lost
    /// while a shard moves is repeated by the next purge.
    async fn purge_on_shards(&mut self, table: &str, column: &str, before: NaiveDateTime) -> StoreResult<()> {
        unaudited(Unaudited::LookedAfter);
        if ON_COORDINATOR.contains(&table) {
            on!(&mut self.conn, c => purge!(table, column, before).execute(c).await)?;
            return Ok(());
        }
        let purge = format!(
            "WITH purged AS (DELETE FROM %1$s WHERE {column} < '{before}' RETURNING 1) \
             SELECT json_build_array(count(*))::text FROM purged"
        );
        let _counts: Vec<u64> = self.on_shards(table, &purge).await?;
        Ok(())
    }
}

impl Store {
    /// Purges the rows of all tenants that [`Tx::purge_expired`] names, in a unit of work of its own. On a distributed
    /// database each table has its own, because a node that does not answer costs time.
    pub async fn purge_expired(&self, env: &Arc<dyn Env>) -> StoreResult<()> {
        if self.is_distributed().await? {
            let (now, mut done) = (env.now(), Ok(()));
            for (table, column, kept) in EXPIRING {
                let before = now.plus_millis(-kept).naive();
                let purge = async |across: &mut Across| across.purge_on_shards(table, column, before).await;
                done = done.and(self.across(purge).await);
            }
            let before = now.plus_millis(-HINT_KEPT).naive();
            let purge = async |across: &mut Across| across.purge_hints_on_shards(before).await;
            return done.and(self.across(purge).await);
        }
        let nobody = TenantId::new(&**env);
        let ctx = Ctx::new(Arc::clone(env), nobody, Actor::system("tidy"));
        let work = async |ctx: &Ctx, tx: &mut Tx| {
            tx.purge_expired(ctx.now).await?;
            Ok::<_, StoreError>(Audited::without((), Unaudited::AttemptCounted))
        };
        self.write(ctx, work).await
    }
}
