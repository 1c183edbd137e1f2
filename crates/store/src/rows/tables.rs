//! Tables, and values as texts that mean the same in both databases.

use std::borrow::Cow;

use chrono::NaiveDateTime;
use kernel::StoreResult;

use crate::{dialect::Dialect, error::corrupt};

/// Tables with rows that rows of other tables refer to.
const REFERENCED: [&str; 3] = ["tenants", "users", "groups"];

/// How times are written. SQLite compares them as texts, so the digits must be those that diesel writes.
const TIME: &str = "%Y-%m-%d %H:%M:%S%.f";

/// The values of a row in the order of the table's columns. `None` is NULL.
pub(crate) type Row = Vec<Option<String>>;

/// A table. Its columns are in alphabetical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Json,
    Integer,
    Boolean,
    Bytes,
    Time,
}

impl Kind {
    /// Reads the name of a type in lower case, as either database shows it.
    pub(crate) fn of(name: &str) -> StoreResult<Self> {
        Ok(match name {
            "text" => Self::Text,
            "json" => Self::Json,
            "bigint" => Self::Integer,
            "boolean" => Self::Boolean,
            "bytea" | "blob" => Self::Bytes,
            "timestamp" | "timestamp without time zone" => Self::Time,
            other => return Err(corrupt("type of a column", format!("{other} is not known"))),
        })
    }

    /// Returns the expression that turns a column into a text.
    pub(crate) fn to_text(self, dialect: Dialect, column: &str) -> String {
        match (self, dialect) {
            (Self::Text, _) | (Self::Json | Self::Time, Dialect::Sqlite) => column.to_owned(),
            (Self::Json, Dialect::Postgres) => format!("{column}::text"),
            (Self::Integer, _) | (Self::Boolean, Dialect::Sqlite) => format!("CAST({column} AS text)"),
            (Self::Boolean, Dialect::Postgres) => format!("{column}::int::text"),
            (Self::Bytes, Dialect::Postgres) => format!("encode({column}, 'hex')"),
            (Self::Bytes, Dialect::Sqlite) => {
                format!("CASE WHEN {column} IS NOT NULL THEN lower(hex({column})) END")
            }
            (Self::Time, Dialect::Postgres) => format!("to_char({column}, 'YYYY-MM-DD HH24:MI:SS.US')"),
        }
    }

    /// Returns the expression that turns a text into a value of this kind.
    pub(crate) fn read_text(self, dialect: Dialect, text: &str) -> String {
        match (self, dialect) {
            (Self::Text, _) | (Self::Json | Self::Time, Dialect::Sqlite) => text.to_owned(),
            (Self::Json, Dialect::Postgres) => format!("({text})::json"),
            (Self::Integer, Dialect::Postgres) => format!("({text})::bigint"),
            (Self::Integer | Self::Boolean, Dialect::Sqlite) => format!("CAST({text} AS integer)"),
            (Self::Boolean, Dialect::Postgres) => format!("({text})::boolean"),
            (Self::Bytes, Dialect::Postgres) => format!("decode({text}, 'hex')"),
            (Self::Bytes, Dialect::Sqlite) => format!("unhex({text})"),
            (Self::Time, Dialect::Postgres) => format!("({text})::timestamp"),
        }
    }

    /// Returns the text of a value as it is stored and digested: one for each value.
    pub(crate) fn canonical(self, text: &str) -> StoreResult<Cow<'_, str>> {
        if self != Self::Time {
            return Ok(text.into());
        }
        let time = NaiveDateTime::parse_from_str(text, TIME).map_err(|error| corrupt("time", error))?;
        Ok(time.format(TIME).to_string().into())
    }
}

impl Table {
    /// Returns the query for all rows. `row` is a JSON array of texts.
    pub(crate) fn select(&self, dialect: Dialect) -> String {
        let array = match dialect {
            Dialect::Postgres => "json_build_array",
            Dialect::Sqlite => "json_array",
        };
        let text = |column: &Column| column.kind.to_text(dialect, &quoted(&column.name));
        let texts: Vec<_> = self.columns.iter().map(text).collect();
        format!("SELECT CAST({array}({}) AS text) AS \"row\" FROM {}", texts.join(", "), quoted(&self.name))
    }

    /// Returns the query for the rows that meet a condition.
    pub(crate) fn select_where(&self, dialect: Dialect, condition: &str) -> String {
        format!("{} WHERE {condition}", self.select(dialect))
    }

    /// Returns the statement that inserts rows. Its parameter is a JSON array of such arrays.
    pub(crate) fn insert(&self, dialect: Dialect) -> String {
        let value = |(number, column): (usize, &Column)| {
            let text = match dialect {
                Dialect::Postgres => format!("e.r ->> {number}"),
                Dialect::Sqlite => format!("json_extract(value, '$[{number}]')"),
            };
            column.kind.read_text(dialect, &text)
        };
        let names: Vec<_> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        let values: Vec<_> = self.columns.iter().enumerate().map(value).collect();
        let rows = match dialect {
            Dialect::Postgres => "json_array_elements($1::json) AS e(r)",
            // Without the condition, SQLite reads ON CONFLICT as part of a join.
            Dialect::Sqlite => "json_each(?1) WHERE true",
        };
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM {rows}",
            quoted(&self.name),
            names.join(", "),
            values.join(", ")
        )
    }
}

/// Returns a name as an identifier in SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a table that only one side has, or that has other columns there.
pub(crate) fn difference(ones: &[Table], others: &[Table]) -> Option<String> {
    let differing = |a: &[Table], b: &[Table]| a.iter().find(|table| !b.contains(table)).cloned();
    differing(ones, others).or_else(|| differing(others, ones)).map(|table| table.name)
}

/// Returns the tables so that rows exist before others refer to them.
pub(crate) fn referenced_first(tables: &[Table]) -> Vec<&Table> {
    let mut sorted: Vec<_> = tables.iter().collect();
    sorted.sort_by_key(|table| {
        REFERENCED.iter().position(|name| *name == table.name).unwrap_or(REFERENCED.len())
    });
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_text() {
        for (from, to) in [
            ("2026-11-25 09:03:34.560000", "2026-11-25 09:03:34.560"),
            ("2026-11-25 09:03:34.56", "2026-11-25 09:03:34.560"),
            ("2026-11-25 09:03:34", "2026-11-25 09:03:34"),
            ("2026-11-25 09:03:34.000000", "2026-11-25 09:03:34"),
            ("2026-11-25 09:03:34.123456", "2026-11-25 09:03:34.123456"),
        ] {
            assert_eq!(Kind::Time.canonical(from).unwrap(), to);
        }
        assert!(Kind::Time.canonical("yesterday").is_err());
    }

    #[test]
    fn tables_that_others_refer_to_are_first() {
        let table = |name: &str| Table { name: name.into(), columns: Vec::new() };
        let tables = ["attempts", "groups", "user_emails", "users"].map(table);
        let names: Vec<_> = referenced_first(&tables).into_iter().map(|table| &*table.name).collect();
        assert_eq!(names, ["users", "groups", "attempts", "user_emails"]);
        assert_eq!(difference(&tables, &tables), None);
        assert_eq!(difference(&tables, &tables[1..]), Some("attempts".into()));
        assert_eq!(difference(&tables[1..], &tables), Some("attempts".into()));
    }
}
