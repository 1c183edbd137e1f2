//! The row of a session.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use kernel::{StoreError, StoreResult, Timestamp};
use sessions::{Session, Standing};

use crate::{
    error::corrupt,
    json::{JsonText, read_json},
    schema::sessions as rows,
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
pub(crate) struct SessionRow {
    pub(crate) tenant_id: String,
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) signed_in_at: NaiveDateTime,
    pub(crate) last_seen_at: NaiveDateTime,
    pub(crate) ip: Option<String>,
    pub(crate) device_label: String,
    pub(crate) location: Option<String>,
    pub(crate) standing: String,
    pub(crate) methods: JsonText,
    pub(crate) grace: Option<JsonText>,
    pub(crate) foreign_hash: Option<Vec<u8>>,
    pub(crate) revoked_at: Option<NaiveDateTime>,
    pub(crate) not_after: Option<NaiveDateTime>,
    pub(crate) device: Option<JsonText>,
}

impl TryFrom<SessionRow> for Session {
    type Error = StoreError;

    fn try_from(row: SessionRow) -> StoreResult<Self> {
        let foreign = row.foreign_hash.map(|hash| hash.as_slice().try_into());
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("sessions.id", error))?,
            user: row.user_id.parse().map_err(|error| corrupt("sessions.user_id", error))?,
            created_at: Timestamp::from_naive(row.created_at),
            signed_in_at: Timestamp::from_naive(row.signed_in_at),
            last_seen_at: Timestamp::from_naive(row.last_seen_at),
            ip: row.ip.and_then(|ip| ip.parse().ok()),
            device_label: row.device_label,
            location: row.location,
            standing: Standing::parse(&row.standing)
                .ok_or_else(|| corrupt("sessions.standing", &row.standing))?,
            methods: read_json("sessions.methods", &row.methods)?,
            grace: row.grace.map(|grace| read_json("sessions.grace", &grace)).transpose()?,
            foreign: foreign.transpose().map_err(|_| corrupt("sessions.foreign_hash", "not 32 bytes"))?,
            not_after: row.not_after.map(Timestamp::from_naive),
            revoked_at: row.revoked_at.map(Timestamp::from_naive),
            device: row.device.map(|device| read_json("sessions.device", &device)).transpose()?,
        })
    }
}
