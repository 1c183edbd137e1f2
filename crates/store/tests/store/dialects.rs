//! The migrations of both dialects create the same tables.

use std::collections::BTreeMap;

use diesel::{
    QueryableByName, connection::SimpleConnection, prelude::*, sql_types::Text, sqlite::SqliteConnection,
};
use diesel_async::{AsyncConnection, AsyncPgConnection};
use store::{
    DatabaseUrl,
    testing::{Kind, TestDatabase},
};

#[derive(QueryableByName)]
struct Column {
    #[diesel(sql_type = Text)]
    table_name: String,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    data_type: String,
    #[diesel(sql_type = Text)]
    nullable: String,
}

type Columns = BTreeMap<(String, String), (String, String)>;

/// Maps the dialects' type names to portable types.
fn portable(data_type: &str) -> &'static str {
    match data_type.to_ascii_lowercase().as_str() {
        "text" => "Text",
        "boolean" => "Bool",
        "bigint" => "BigInt",
        "bytea" | "blob" => "Binary",
        "timestamp" | "timestamp without time zone" => "Timestamp",
        "json" => "Json",
        other => panic!("{other} is not portable"),
    }
}

fn collect(rows: Vec<Column>) -> Columns {
    rows.into_iter()
        .filter(|row| !row.table_name.starts_with("__diesel"))
        .map(|row| ((row.table_name, row.name), (portable(&row.data_type).to_owned(), row.nullable)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_dialects_have_the_same_columns() {
    let database = TestDatabase::new(Kind::Sqlite).await;
    drop(database.store());
    let DatabaseUrl::Sqlite(path) = &database.url else { unreachable!() };
    let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    conn.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
    let sqlite = diesel::sql_query(
        "SELECT m.name AS table_name, c.name AS name, c.type AS data_type, \
         CASE WHEN c.\"notnull\" = 1 THEN 'NO' ELSE 'YES' END AS nullable \
         FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'",
    )
    .load::<Column>(&mut conn)
    .unwrap();

    let database = TestDatabase::new(Kind::Postgres).await;
    let DatabaseUrl::Postgres(url) = &database.url else { unreachable!() };
    let mut conn = AsyncPgConnection::establish(url).await.unwrap();
    let query = diesel::sql_query(
        "SELECT table_name::text, column_name::text AS name, data_type::text, is_nullable::text AS nullable \
         FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) \
         WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    );
    let postgres = diesel_async::RunQueryDsl::load::<Column>(query, &mut conn).await.unwrap();

    let (sqlite, postgres) = (collect(sqlite), collect(postgres));
    assert!(sqlite.len() >= 52, "{}", sqlite.len());
    assert_eq!(sqlite, postgres);
}
