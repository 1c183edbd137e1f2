//! Lists delivery attempts and loads their payloads.

use std::collections::HashMap;

use ::webhooks::{
    Attempt, Delivered, DeliveryStatus, Payload, PayloadActor, PayloadResource, SubscriptionId,
};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};
use serde_json::value::RawValue;

use super::{
    delivery_row::{DeliveryRow, PendingRow, entry_of, event_of},
    order::WAITING,
};
use crate::{
    Tx,
    audit::entry_row::EntryRow,
    db::read,
    error::corrupt,
    schema::{audit_entries as entries, webhook_deliveries as rows},
};

impl From<DeliveryRow> for Delivered {
    fn from(row: DeliveryRow) -> Self {
        let is_success = row.http_status.is_some_and(|status| (200..300).contains(&status));
        let status = match (row.due_at, is_success) {
            (Some(_), _) => DeliveryStatus::Pending,
            (None, true) => DeliveryStatus::Succeeded,
            (None, false) => DeliveryStatus::Failed,
        };
        Self {
            id: row.id,
            event_id: row.event_id,
            event_type: row.event_type,
            attempt: row.attempt,
            status,
            waiting: row.due_at == Some(WAITING),
            is_final: row.due_at.is_none() && row.next_at.is_none(),
            http_status: row.http_status,
            error: row.error,
            duration_ms: row.duration_ms,
            response_body: row.response_body,
            attempted_at: row.attempted_at.map(Timestamp::from_naive),
            next_attempt_at: row
                .due_at
                .or(row.next_at)
                .filter(|at| *at != WAITING)
                .map(Timestamp::from_naive),
        }
    }
}

/// Returns the id of an event and its payload.
pub fn event_payload(tenant: &str, entry: audit::StoredEntry) -> StoreResult<(String, bytes::Bytes)> {
    let event_id = event_of(&entry.id);
    let data =
        RawValue::from_string(entry.metadata).map_err(|error| corrupt("audit_entries.metadata", error))?;
    let payload = Payload {
        id: &event_id,
        kind: &entry.action,
        created_at: entry.timestamp,
        tenant_id: tenant,
        actor: Some(PayloadActor { id: &entry.actor_id, kind: &entry.actor_type }),
        resource: PayloadResource { kind: &entry.resource_type, id: &entry.resource_id },
        data: &data,
    };
    let body = payload.render();
    Ok((event_id, body))
}

impl Tx {
    /// Returns a subscription's newest attempts, at most `limit`.
    pub async fn deliveries(&mut self, id: &SubscriptionId, limit: i64) -> StoreResult<Vec<Delivered>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::subscription_id.eq(id.as_str()))
            .order(rows::id.desc())
            .limit(limit);
        let found: Vec<DeliveryRow> = read!(self, c => query.select(DeliveryRow::as_select()).load(c).await)?;
        Ok(found.into_iter().map(Delivered::from).collect())
    }

    pub(super) async fn delivery(
        &mut self,
        of: &SubscriptionId,
        id: &str,
    ) -> StoreResult<Option<DeliveryRow>> {
        let query = rows::table.find((self.tenant.as_str(), of.as_str(), id));
        read!(self, c => query.select(DeliveryRow::as_select()).first(c).await.optional())
    }

    /// Returns the payload of an attempt. `None` if the attempt does not exist or its event is no longer kept.
    pub async fn delivery_body(
        &mut self,
        of: &SubscriptionId,
        id: &str,
    ) -> StoreResult<Option<bytes::Bytes>> {
        let Some(row) = self.delivery(of, id).await? else { return Ok(None) };
        if let Some(payload) = row.payload {
            return Ok(Some(payload.into()));
        }
        let entry = self.entry(&entry_of(&row.event_id)).await?;
        entry.map(|entry| Ok(event_payload(self.tenant.as_str(), entry)?.1)).transpose()
    }

    /// Loads the payloads of attempts.
    pub(super) async fn attempts(&mut self, found: Vec<PendingRow>) -> StoreResult<Vec<Attempt>> {
        let ids: Vec<String> =
            found.iter().filter(|row| row.payload.is_none()).map(|row| entry_of(&row.event_id)).collect();
        let mut bodies: HashMap<String, audit::StoredEntry> = HashMap::new();
        if !ids.is_empty() {
            // No join, for the same reason as in `unsealed`.
            let query = entries::table
                .filter(entries::tenant_id.eq(self.tenant.as_str()))
                .filter(entries::id.eq_any(&ids));
            let entry_rows: Vec<EntryRow> =
                read!(self, c => query.select(EntryRow::as_select()).load(c).await)?;
            bodies.extend(
                entry_rows.into_iter().map(audit::StoredEntry::from).map(|entry| (entry.id.clone(), entry)),
            );
        }
        let tenant = self.tenant.as_str().to_owned();
        let attempt = |row: PendingRow| {
            let body = if let Some(text) = row.payload {
                Some(text.into())
            } else {
                let entry = bodies.get(&entry_of(&row.event_id)).cloned();
                entry.map(|entry| event_payload(&tenant, entry)).transpose()?.map(|(_, body)| body)
            };
            Ok(Attempt {
                id: row.id.parse().map_err(|error| corrupt("webhook_deliveries.id", error))?,
                event_id: row.event_id,
                event_type: row.event_type,
                subject: row.subject,
                number: u32::try_from(row.attempt)
                    .map_err(|error| corrupt("webhook_deliveries.attempt", error))?,
                is_fresh: row.is_fresh,
                body,
            })
        };
        found.into_iter().map(attempt).collect()
    }
}
