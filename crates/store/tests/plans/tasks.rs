//! Plans of PostgreSQL, and the tasks of a distributed database.

use diesel::{
    QueryableByName, sql_query,
    sql_types::{Array, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};

#[derive(QueryableByName)]
struct Types {
    #[diesel(sql_type = Array<Text>)]
    types: Vec<String>,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text, column_name = "detail")]
    text: String,
}

/// Returns the plan of a statement. Parameters are NULL, or else some value of their type.
pub(crate) async fn plan(conn: &mut AsyncPgConnection, statement: &str, has_values: bool) -> String {
    conn.batch_execute(&format!("PREPARE p AS {statement}"))
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
    let types =
        sql_query("SELECT parameter_types::text[] AS types FROM pg_prepared_statements WHERE name = 'p'");
    let Types { types } = types.get_result(conn).await.unwrap();
    let values: Vec<_> = types.iter().map(|of| if has_values { value(of) } else { "NULL".into() }).collect();
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    // A function returns the plan as one text; a prepared EXPLAIN does not.
    let explain = format!(
        "CREATE OR REPLACE FUNCTION pg_temp.plan() RETURNS text LANGUAGE plpgsql AS $f$ \
         DECLARE line text; whole text := ''; BEGIN \
         FOR line IN EXECUTE $e$EXPLAIN EXECUTE p{values}$e$ LOOP whole := whole || line || E'\\n'; END LOOP; \
         RETURN whole; END $f$"
    );
    conn.batch_execute(&explain).await.unwrap();
    let line = sql_query("SELECT pg_temp.plan() AS detail").get_result(conn).await;
    let line: Line = line.unwrap_or_else(|error| panic!("{statement}: {error}"));
    conn.batch_execute("DEALLOCATE p").await.unwrap();
    line.text
}

fn value(of: &str) -> String {
    match of {
        "bigint" | "integer" => "1".into(),
        "boolean" => "TRUE".into(),
        "timestamp without time zone" => "'2026-01-01'".into(),
        "json" => "'[]'".into(),
        _ if of.ends_with("[]") => "'{}'".into(),
        _ => "'x'".into(),
    }
}

/// Returns why the plan on a distributed database is not one task.
pub(crate) fn problem(plan: &str) -> Option<String> {
    let has = |words: &str| plan.contains(words);
    let tasks = plan.matches("Task Count:").count();
    let is_local = tasks == 0 && !has("Citus");
    if is_local || (tasks == 1 && has("Task Count: 1\n") && !has("Distributed Subplan")) {
        return None;
    }
    Some(plan.lines().take(12).collect::<Vec<_>>().join("\n"))
}
