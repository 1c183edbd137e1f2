//! Rows of transmitters.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use kernel::{StoreError, StoreResult, TenantId, Timestamp};
use signals::TrustedTransmitter;
use tokens::TokenHash;

use crate::{
    error::corrupt,
    json::{JsonText, json_text, read_json},
    schema::signal_transmitters as rows,
};

#[derive(Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = rows, primary_key(tenant_id, id))]
#[diesel(treat_none_as_default_value = false, treat_none_as_null = true)]
pub(super) struct TransmitterRow {
    tenant_id: String,
    id: String,
    name: String,
    issuer: String,
    audience: String,
    connection_id: String,
    jwks_uri: Option<String>,
    consequences: JsonText,
    enabled: bool,
    hash: Option<Vec<u8>>,
    keys: JsonText,
    state: JsonText,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

impl TransmitterRow {
    pub(super) fn new(tenant: &TenantId, transmitter: &TrustedTransmitter) -> StoreResult<Self> {
        Ok(Self {
            tenant_id: tenant.to_string(),
            id: transmitter.id.to_string(),
            name: transmitter.name.clone(),
            issuer: transmitter.issuer.clone(),
            audience: transmitter.audience.clone(),
            connection_id: transmitter.connection.clone(),
            jwks_uri: transmitter.jwks_uri.clone(),
            consequences: json_text("signal_transmitters.consequences", &transmitter.consequences)?,
            enabled: transmitter.enabled,
            hash: transmitter.hash.as_ref().map(|hash| hash.as_bytes().to_vec()),
            keys: json_text("signal_transmitters.keys", &transmitter.keys)?,
            state: json_text("signal_transmitters.state", &transmitter.state)?,
            created_at: transmitter.created_at.naive(),
            updated_at: transmitter.updated_at.naive(),
        })
    }
}

impl TryFrom<TransmitterRow> for TrustedTransmitter {
    type Error = StoreError;

    fn try_from(row: TransmitterRow) -> StoreResult<Self> {
        let hash = row.hash.map(|hash| {
            TokenHash::from_bytes(&hash).ok_or_else(|| corrupt("signal_transmitters.hash", "not 32 bytes"))
        });
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("signal_transmitters.id", error))?,
            name: row.name,
            issuer: row.issuer,
            audience: row.audience,
            connection: row.connection_id,
            jwks_uri: row.jwks_uri,
            consequences: read_json("signal_transmitters.consequences", &row.consequences)?,
            enabled: row.enabled,
            hash: hash.transpose()?,
            keys: read_json("signal_transmitters.keys", &row.keys)?,
            state: read_json("signal_transmitters.state", &row.state)?,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        })
    }
}
