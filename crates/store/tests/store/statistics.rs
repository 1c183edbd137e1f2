//! Statistics of tables that grow quickly.

use std::time::{Duration, Instant};

use diesel::{QueryableByName, sql_types::Text};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
use store::{
    Across,
    testing::{Kind, TestDatabase},
};

use crate::support::world;

const FILL: &str = "INSERT INTO users (tenant_id, id, user_name, user_name_key, active, role, attributes, created_at, \
    updated_at, folded, has_groups, break_glass) SELECT 't', 'usr_' || value, value, value, TRUE, 'MEMBER', '{}', \
    now(), now(), '{}', FALSE, FALSE FROM generate_series(1, 2000) AS value";

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    text: String,
}

async fn plan(url: &str) -> String {
    let mut conn = AsyncPgConnection::establish(url).await.unwrap();
    let query = "EXPLAIN SELECT * FROM users WHERE tenant_id = 't' AND id = 'usr_7' AND deleted_at IS NULL";
    let lines: Vec<Line> = diesel::sql_query(query).load(&mut conn).await.unwrap();
    lines.into_iter().map(|line| line.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_analyzed_when_they_have_grown() {
    let world = world(Kind::Postgres).await;
    let analyze = async || {
        let look = async |across: &mut Across| across.analyze_grown_tables().await;
        world.store.across(look).await.unwrap()
    };
    // PostgreSQL counts changes with a delay.
    let analyzed = async || {
        let start = Instant::now();
        loop {
            let tables = analyze().await;
            if !tables.is_empty() {
                return tables;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "no table was analyzed");
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(analyze().await, [""; 0], "nothing has grown");
    if TestDatabase::is_distributed() {
        // The rows are on the workers, and their autovacuum analyzes them.
        return;
    }
    // Where autovacuum analyzes a table at the same time, it is skipped.
    world.raw("ALTER TABLE users SET (autovacuum_enabled = FALSE)").await;
    world.raw("ALTER TABLE attempts SET (autovacuum_enabled = FALSE)").await;
    world.raw(FILL).await;
    assert_eq!(analyzed().await, ["users"]);
    let plan = plan(world.postgres()).await;
    // Without statistics it would be an index on something else, and a filter.
    assert!(plan.contains("Index Cond: ((tenant_id = 't'::text) AND (id = 'usr_7'::text))"), "{plan}");
    assert_eq!(analyze().await, [""; 0], "it has not grown since");
    // Changes that add no rows, as in a queue. A table that does grow shows when they have been counted.
    world.raw("UPDATE users SET updated_at = now()").await;
    world.raw("UPDATE users SET updated_at = now()").await;
    world.raw("INSERT INTO attempts SELECT value::text::bytea, '[]', now() FROM generate_series(1, 100) AS value").await;
    assert_eq!(analyzed().await, ["attempts"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_has_statistics_from_the_start() {
    let world = world(Kind::Sqlite).await;
    let look = async |across: &mut Across| across.analyze_grown_tables().await;
    assert_eq!(world.store.across(look).await.unwrap(), [""; 0]);
}
