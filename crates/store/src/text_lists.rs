//! Statements with lists of thousands of texts, each in one parameter.

use diesel::{
    backend::Backend,
    prelude::*,
    query_builder::{BoxedSqlQuery, SqlQuery},
    serialize::ToSql,
    sql_types::{HasSqlType, Text},
};
use diesel_async::RunQueryDsl;
use kernel::StoreResult;

use crate::{conn::Conn, dialect::Dialect, error::store_error, prepared::Prepared};

#[derive(QueryableByName)]
struct TextRow {
    #[diesel(sql_type = Text)]
    text: String,
}

/// Returns SQL that expands a list ([`json_list`]), bound as `parameter`, to rows `each` with the column `value`.
pub(crate) fn elements(dialect: Dialect, parameter: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("json_array_elements_text({parameter}::json) AS each(value)"),
        Dialect::Sqlite => format!("json_each({parameter}) AS each"),
    }
}

/// Returns a list as a JSON array.
pub(crate) fn json_list(texts: impl Iterator<Item = impl AsRef<str>>) -> String {
    let texts: Vec<_> = texts.map(|text| text.as_ref().to_owned()).collect();
    serde_json::Value::from(texts).to_string()
}

/// Runs a statement with `parameters` as `$1`, `$2`, … and returns the column `text` of its rows.
pub(crate) async fn load_texts(
    conn: &mut Conn,
    statement: &str,
    parameters: &[&str],
) -> StoreResult<Vec<String>> {
    let rows: Vec<TextRow> = match conn {
        Conn::Postgres(pg) => {
            let query = bound(statement, parameters);
            let result = query.load(pg.in_transaction().await.map_err(store_error)?).await;
            pg.note(result)
        }
        // SQLite's own syntax is `?1`; there `$1` is a named parameter.
        Conn::Sqlite(c) => bound(&statement.replace('$', "?"), parameters).load(c).await,
    }
    .map_err(store_error)?;
    Ok(rows.into_iter().map(|row| row.text).collect())
}

fn bound<'q, DB>(statement: &str, parameters: &[&'q str]) -> Prepared<BoxedSqlQuery<'q, DB, SqlQuery>>
where
    DB: Backend + HasSqlType<Text>,
    str: ToSql<Text, DB>,
{
    let query = diesel::sql_query(statement).into_boxed();
    Prepared(parameters.iter().fold(query, |query, parameter| query.bind::<Text, _>(*parameter)))
}
