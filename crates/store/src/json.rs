//! JSON columns as text. Values are read byte for byte as they were written, which the audit log's hashes require.

use std::io::Write;

use kernel::StoreResult;
use serde::{Serialize, de::DeserializeOwned};

use diesel::{
    deserialize::{self, FromSql, FromSqlRow},
    expression::AsExpression,
    pg::{Pg, PgValue},
    serialize::{self, IsNull, Output, ToSql},
    sql_types::{Json, Text},
    sqlite::{Sqlite, SqliteValue},
};

use crate::error::corrupt;

/// The text of a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Json)]
pub(crate) struct JsonText(pub(crate) String);

/// Serializes a value for a JSON column.
pub(crate) fn json_text(column: &str, value: &(impl Serialize + ?Sized)) -> StoreResult<JsonText> {
    serde_json::to_string(value).map(JsonText).map_err(|error| corrupt(column, error))
}

/// Deserializes a value from a JSON column.
pub(crate) fn read_json<T: DeserializeOwned>(column: &str, text: &JsonText) -> StoreResult<T> {
    serde_json::from_str(&text.0).map_err(|error| corrupt(column, error))
}

impl FromSql<Json, Pg> for JsonText {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(std::str::from_utf8(value.as_bytes())?.to_owned()))
    }
}

impl ToSql<Json, Pg> for JsonText {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(self.0.as_bytes())?;
        Ok(IsNull::No)
    }
}

impl FromSql<Json, Sqlite> for JsonText {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        <String as FromSql<Text, Sqlite>>::from_sql(value).map(Self)
    }
}

impl ToSql<Json, Sqlite> for JsonText {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_str());
        Ok(IsNull::No)
    }
}
