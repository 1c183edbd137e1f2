//! Times of audit entries. Only the exact format that is written can be read.
//!
//! SQLite stores and sorts a time as text. Another spelling of the same time has the same hash and MAC, but a
//! different position in the order, where searches and exports miss it. So such a value is rejected as corrupt.

use chrono::NaiveDateTime;
use diesel::{
    deserialize::{self, FromSql, FromSqlRow},
    expression::AsExpression,
    pg::{Pg, PgValue},
    serialize::{self, Output, ToSql},
    sql_types::{Text, Timestamp},
    sqlite::{Sqlite, SqliteType, SqliteValue},
};

/// The format in which SQLite stores a time.
const SPELLING: &str = "%F %T%.f";

/// The time of an entry, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Timestamp)]
pub(crate) struct EntryTime(pub(crate) NaiveDateTime);

impl EntryTime {
    /// Returns whether an entry can have this time: whole milliseconds, and no leap second.
    fn checked(time: NaiveDateTime) -> deserialize::Result<Self> {
        if kernel::Timestamp::from_naive(time).naive() != time {
            return Err("the time is not in whole milliseconds".into());
        }
        Ok(Self(time))
    }
}

impl FromSql<Timestamp, Pg> for EntryTime {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Self::checked(<NaiveDateTime as FromSql<Timestamp, Pg>>::from_sql(value)?)
    }
}

impl ToSql<Timestamp, Pg> for EntryTime {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <NaiveDateTime as ToSql<Timestamp, Pg>>::to_sql(&self.0, out)
    }
}

impl FromSql<Timestamp, Sqlite> for EntryTime {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        if value.value_type() != Some(SqliteType::Text) {
            return Err("the time is not stored as text".into());
        }
        let text = <String as FromSql<Text, Sqlite>>::from_sql(value)?;
        let time = NaiveDateTime::parse_from_str(&text, SPELLING)?;
        if time.format(SPELLING).to_string() != text {
            return Err("the time is in another format".into());
        }
        Self::checked(time)
    }
}

impl ToSql<Timestamp, Sqlite> for EntryTime {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.format(SPELLING).to_string());
        Ok(serialize::IsNull::No)
    }
}
