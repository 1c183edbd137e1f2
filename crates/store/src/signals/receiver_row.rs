//! Rows of receivers.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};
use signals::{EventType, Receiver, SubjectFormat};
use tokens::TokenHash;

use crate::{
    error::corrupt,
    json::{JsonText, json_text, read_json},
    schema::signal_receivers as rows,
};

#[derive(Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = rows, primary_key(tenant_id, id))]
#[diesel(treat_none_as_default_value = false, treat_none_as_null = true)]
pub(crate) struct ReceiverRow {
    tenant_id: String,
    id: String,
    name: String,
    audience: String,
    event_types: JsonText,
    subject_format: String,
    enabled: bool,
    hash: Vec<u8>,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    last_used_at: Option<NaiveDateTime>,
    last_used_ip: Option<String>,
}

impl ReceiverRow {
    pub(super) fn new(tenant: &TenantId, receiver: &Receiver) -> StoreResult<Self> {
        Ok(Self {
            tenant_id: tenant.to_string(),
            id: receiver.id.to_string(),
            name: receiver.name.clone(),
            audience: receiver.audience.clone(),
            event_types: json_text("signal_receivers.event_types", &receiver.event_types)?,
            subject_format: match receiver.subject_format {
                SubjectFormat::IssSub => "ISS_SUB".to_owned(),
                SubjectFormat::Email => "EMAIL".to_owned(),
            },
            enabled: receiver.enabled,
            hash: receiver.hash.as_bytes().to_vec(),
            created_at: receiver.created_at.naive(),
            updated_at: receiver.updated_at.naive(),
            last_used_at: receiver.last_used_at.map(Timestamp::naive),
            last_used_ip: receiver.last_used_ip.map(|ip| ip.to_string()),
        })
    }
}

impl TryFrom<ReceiverRow> for Receiver {
    type Error = StoreError;

    fn try_from(row: ReceiverRow) -> StoreResult<Self> {
        let uris: Vec<String> = read_json("signal_receivers.event_types", &row.event_types)?;
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("signal_receivers.id", error))?,
            name: row.name,
            audience: row.audience,
            // Types that this version does not know come from a newer one.
            event_types: uris.iter().filter_map(|uri| EventType::from_uri(uri)).collect(),
            subject_format: match row.subject_format.as_str() {
                "ISS_SUB" => SubjectFormat::IssSub,
                "EMAIL" => SubjectFormat::Email,
                other => return Err(corrupt("signal_receivers.subject_format", other)),
            },
            enabled: row.enabled,
            hash: TokenHash::from_bytes(&row.hash)
                .ok_or_else(|| corrupt("signal_receivers.hash", "not 32 bytes"))?,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
            last_used_at: row.last_used_at.map(Timestamp::from_naive),
            last_used_ip: row.last_used_ip.and_then(|ip| ip.parse().ok()),
        })
    }
}
