//! Every SQL statement of the storage layer uses an index on both databases, and stays prepared.
//!
//! The areas' conformance suites and the lookups across tenants run with a listener on the connections, and the
//! recorded statements are then explained. A new query is covered as soon as a suite runs it. This is a separate test
//! program because the listener is process-wide.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod one_node;
mod operations;
mod tasks;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use audit::{Audited, Event, events::users::UserDeactivated};
use diesel::{
    QueryableByName,
    connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation},
    prelude::*,
    sql_types::Text,
    sqlite::SqliteConnection,
};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use kernel::{Actor, Ctx, Env, StoreError, SystemEnv, TenantId};
use scim_core::{
    Group, GroupDraft, GroupStore, Page, Patch, Query, Start, User, UserDraft, UserStore, schema::GROUPS,
};
use serde_json::json;
use store::{
    DatabaseUrl, Store,
    testing::{Kind, TestDatabase},
};

/// Statements that may scan, each with its reason. This list may only shrink.
const MAY_SCAN: [(&str, &str); 6] = [
    ("FROM `dispatchers`", "one row per instance"),
    ("`enabled` AND webhook_deliveries.is_fresh", "counts an index of pending deliveries alone"),
    ("`enabled` AND NOT webhook_deliveries.is_fresh", "likewise"),
    ("WHERE (users.role = 'ADMIN' AND", "reads the first row of the index of administrators"),
    ("WHERE (`scim_tokens`.`id` =", "only the command line looks up a token's tenant"),
    ("WHERE (`personal_access_tokens`.`id` =", "only the command line looks up a token's tenant"),
];

/// Statements that a distributed database would send to all nodes, each with its reason. No request runs them, except where
/// the reason says so. On a distributed database, background jobs search each shard instead of running most of them. Only
/// background jobs that search each shard instead may be added.
const MAY_ASK_ALL: [(&str, &str); 33] = [
    (" ORDER BY `tenants`.`id` LIMIT", "the command line lists tenants"),
    ("WHERE (users.role = 'ADMIN' AND (", "once, while a new server is set up"),
    ("`tenant_id` FROM `scim_tokens` WHERE (`scim_tokens`.`id` =", "the command line finds a token"),
    ("`tenant_id` FROM `personal_access_tokens` WHERE (`personal_access_tokens`.`id` =", "likewise"),
    ("WHERE (`sessions`.`foreign_hash` =", "first request with a token that names no tenant"),
    ("FROM (`audit_unsealed` LEFT OUTER JOIN", "background: logs to seal"),
    ("WHERE ((webhook_deliveries.is_fresh AND", "background: deliveries"),
    ("WHERE ((`webhook_queues`.`failing_since` IS NOT NULL", "background: failing webhooks"),
    ("`enabled` AND webhook_deliveries.is_fresh", "background: metrics"),
    ("`enabled` AND NOT webhook_deliveries.is_fresh", "background: metrics"),
    ("WHERE (((`webhook_queues`.`next_retry` IS NOT NULL", "background: retries"),
    ("`webhook_subscriptions`.`id` FROM `webhook_subscriptions` WHERE ((`", "background: purges"),
    ("`webhook_subscriptions`.`routed` <", "start: filters of earlier versions"),
    ("`audit_logs`.`published_", "background: checkpoints"),
    ("`log_stream_states`.`position` !=", "background: log streams"),
    ("count(*) FILTER (WHERE failing_since IS NOT NULL)", "background: metrics"),
    ("WHERE ((`saml_providers`.`due_at` IS NOT NULL)", "background: metadata"),
    ("WHERE ((`oidc_providers`.`due_at` IS NOT NULL)", "background: metadata"),
    ("WHERE (`saml_providers`.`expires_at` >", "background: metrics"),
    ("WHERE (`saml_requests`.`expires_at` <=", "background: purges"),
    ("WHERE (`oidc_requests`.`expires_at` <=", "background: purges"),
    ("WHERE (`saml_trials`.`expires_at` <=", "background: purges"),
    ("WHERE (`saml_assertions`.`expires_at` <=", "background: purges"),
    ("DELETE FROM links WHERE created_at <", "background: purges"),
    ("DELETE FROM removals WHERE at <", "background: purges"),
    ("DELETE FROM scim_refusals WHERE last_at <", "background: purges"),
    ("`signal_stream_states`.`pushes` AND", "background: pushes of signals"),
    ("DELETE FROM received_signals WHERE expires_at <", "background: purges"),
    ("DELETE FROM signal_events WHERE created_at <", "background: purges"),
    ("DELETE FROM spent_challenges WHERE until <", "background: purges"),
    ("DELETE FROM step_up_", "background: purges"),
    ("DELETE FROM tickets WHERE created_at <", "background: purges"),
    ("UPDATE sessions SET logout_hint = NULL WHERE", "background: purges"),
];

/// Changes that are prepared on each use, each with its reason. This list may only shrink.
const MAY_BE_PREPARED_AGAIN: [(&str, &str); 1] = [(
    "AND (`step_up_challenges`.`id` IN (",
    "SQLite's IN has one parameter per value; it takes a sixth concurrent challenge",
)];

static SENT: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static CACHED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Listener;

impl Instrumentation for Listener {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartQuery { query, .. } => {
                let text = query.to_string();
                let statement = text.split(" -- binds").next().unwrap_or_default();
                SENT.lock().unwrap().insert(statement.to_owned());
                COUNT.fetch_add(1, Ordering::Relaxed);
            }
            InstrumentationEvent::CacheQuery { sql, .. } => {
                CACHED.lock().unwrap().insert(sql.to_owned());
            }
            _ => {}
        }
    }
}

/// Runs every operation of the storage layer and returns the statements, without those of migrations.
async fn sent(store: &Store) -> Vec<String> {
    // The store is open, so its migrations have run.
    SENT.lock().unwrap().clear();
    Box::pin(operations::run_all(store)).await;
    let sent = SENT.lock().unwrap().clone();
    let changes = ["INSERT", "UPDATE", "DELETE"];
    let cached = CACHED.lock().unwrap().clone();
    let again: Vec<_> = sent
        .difference(&cached)
        .filter(|statement| changes.iter().any(|change| statement.starts_with(change)))
        .filter(|statement| !MAY_BE_PREPARED_AGAIN.iter().any(|(part, _)| statement.contains(part)))
        .collect();
    assert!(again.is_empty(), "prepared again each time: {again:#?}");
    let kinds = ["SELECT", "UPDATE", "DELETE", "INSERT", "WITH"];
    sent.into_iter().filter(|statement| kinds.iter().any(|kind| statement.starts_with(kind))).collect()
}

/// Returns whether rows found by the index of a client's filter must still be sorted.
fn is_filtered_page(statement: &str) -> bool {
    statement.contains("LIMIT ? OFFSET ?") && statement.contains(" = ? AND (")
}

/// Counts the statements of lists and changes of `many` rows.
async fn counted(store: &Store, many: usize) -> Vec<(&'static str, usize)> {
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let ctx = Ctx::new(env.clone(), TenantId::new(&*env), Actor::system("test"));
    let run = async move |ctx: &Ctx, tx: &mut store::Tx| {
        let (mut people, mut counts) = (BTreeSet::new(), Vec::new());
        let mut last = COUNT.load(Ordering::Relaxed);
        let mut count = |name| {
            let now = COUNT.load(Ordering::Relaxed);
            counts.push((name, now - std::mem::replace(&mut last, now)));
        };
        for number in 0..many {
            let draft = UserDraft::read(&json!({ "userName": format!("u{number}") })).unwrap();
            let user = User::new(ctx, draft).unwrap();
            tx.insert_user(&user).await?;
            people.insert(user.id);
        }
        let mut groups = Vec::new();
        for number in 0..many {
            let draft = GroupDraft::read(&json!({ "displayName": format!("g{number}") })).unwrap();
            let group = Group::new(ctx, &draft).unwrap();
            tx.insert_group(&group).await?;
            groups.push(group.id);
        }
        count("creating them");
        let members = json!(people.iter().collect::<Vec<_>>());
        let add = json!({ "Operations": [{ "op": "add", "path": "members", "value": members }] });
        let add = Patch::read(&GROUPS, &add).unwrap();
        scim_core::groups::patch(ctx, tx, &groups[0], &add).await.unwrap();
        count("PATCH of a group");
        let query = Query { page: Page { start: Start::Index(1), count: 200 }, ..Query::default() };
        assert_eq!(scim_core::users::list(tx, &query, true).await.unwrap().resources.len(), many);
        count("list of users with their groups");
        let found = scim_core::groups::list(tx, &query, true).await.unwrap().resources;
        let members: usize = found.iter().map(|(_, members)| members.len()).sum();
        assert_eq!((found.len(), members), (many, many));
        count("list of groups with their members");
        counts.remove(0);
        Ok::<_, StoreError>(Audited::new(counts, Event::new("test", &UserDeactivated {})))
    };
    store.write(ctx, run).await.unwrap()
}

fn may(list: &[(&str, &str)], statement: &str) -> bool {
    let statement = statement.replace('"', "`");
    list.iter().any(|(part, _)| statement.contains(part))
}

/// Returns whether a statement looks for rows, so that it should use an index.
fn looks(statement: &str) -> bool {
    ["SELECT", "UPDATE", "DELETE"].iter().any(|start| statement.starts_with(start))
        || (statement.starts_with("INSERT") && statement.contains("SELECT"))
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text, column_name = "detail")]
    text: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_use_indexes_and_do_not_multiply_with_rows() {
    set_default_instrumentation(|| Some(Box::new(Listener))).unwrap();

    let database = TestDatabase::new(Kind::Sqlite).await;
    let statements = Box::pin(sent(&database.store())).await;
    assert!(statements.len() >= 40, "{statements:#?}");
    assert_eq!(counted(&database.store(), 100).await, counted(&database.store(), 3).await);
    let DatabaseUrl::Sqlite(path) = &database.url else { unreachable!() };
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    for statement in statements.iter().filter(|statement| looks(statement) && !may(&MAY_SCAN, statement)) {
        let plan: Vec<Line> =
            diesel::sql_query(format!("EXPLAIN QUERY PLAN {statement}")).load(&mut conn).unwrap();
        let plan: Vec<_> = plan.into_iter().map(|line| line.text).collect();
        // Scans of a list parameter or of a limited subquery are allowed.
        let own = |line: &str| line.contains("VIRTUAL TABLE") || line == "SCAN few";
        let scans = |line: &String| line.starts_with("SCAN") && !own(line);
        assert!(!plan.iter().any(scans), "{statement}\n{plan:#?}");
        let sorts = plan.iter().any(|line| line.contains("TEMP B-TREE"));
        assert!(!sorts || is_filtered_page(statement), "sorted without an index: {statement}\n{plan:#?}");
    }

    let database = TestDatabase::new(Kind::Postgres).await;
    let statements = Box::pin(sent(&database.store())).await;
    assert!(statements.len() >= 40, "{statements:#?}");
    let DatabaseUrl::Postgres(url) = &database.url else { unreachable!() };
    let mut conn = AsyncPgConnection::establish(url).await.unwrap();
    assert_eq!(counted(&database.store(), 100).await, counted(&database.store(), 3).await);
    let mut problems = Vec::new();
    for statement in statements.iter().filter(|statement| !may(&MAY_ASK_ALL, statement)) {
        problems.extend(one_node::problem(statement).map(|problem| format!("{statement}\n  {problem}")));
        // Only background jobs ask each shard, by a function of the coordinator.
        let asks_shards = statement.contains("FROM run_command_on_");
        if TestDatabase::is_distributed() && !asks_shards {
            let plan = tasks::plan(&mut conn, statement, true).await;
            problems.extend(tasks::problem(&plan).map(|problem| format!("{statement}\n{problem}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    if TestDatabase::is_distributed() {
        return;
    }
    // The tables are small, so the planner would otherwise prefer sequential scans.
    conn.batch_execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan").await.unwrap();
    for statement in statements.iter().filter(|statement| looks(statement) && !may(&MAY_SCAN, statement)) {
        let plan = tasks::plan(&mut conn, statement, false).await;
        assert!(!plan.contains("Seq Scan"), "{statement}\n{plan}");
    }
}
