//! Audit entries.

use std::net::IpAddr;

use data_encoding::BASE64;
use kernel::{Actor, Ctx, Id, Kind, StoreError, StoreResult, TenantId, Timestamp};

use crate::{
    EntryKeys, EntryMac, Event,
    leaf::{SALT_LEN, commitment, leaf},
};

/// Marks ids of audit entries.
#[derive(Debug, Clone, Copy)]
pub enum AuditEntry {}
impl Kind for AuditEntry {
    const PREFIX: &'static str = "aud";
}
/// `aud_…`
pub type AuditId = Id<AuditEntry>;

/// An event with its actor, time and origin, written in the transaction of the change.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// `aud_…`
    pub id: AuditId,
    /// The tenant whose audit log contains the entry.
    pub tenant: TenantId,
    /// When the operation began.
    pub timestamp: Timestamp,
    /// The actor.
    pub actor: Actor,
    /// The client's address, if there is a client and its address is known.
    pub ip: Option<IpAddr>,
    /// The event and its data.
    pub event: Event,
    /// The key of the commitments to personal values.
    pub salt: Vec<u8>,
}

impl Entry {
    /// Creates the entry of `event` in the operation `ctx`.
    pub fn new(ctx: &Ctx, event: Event) -> Self {
        Self::with_id(AuditId::new(&*ctx.env), ctx, event)
    }

    fn with_id(id: AuditId, ctx: &Ctx, event: Event) -> Self {
        let mut salt = vec![0; SALT_LEN];
        ctx.env.fill(&mut salt);
        Self {
            id,
            tenant: ctx.tenant.clone(),
            timestamp: ctx.now,
            actor: ctx.actor.clone(),
            ip: ctx.ip,
            event,
            salt,
        }
    }

    /// Creates the entries of all events of an operation. Their IDs sort in the order of the events.
    pub fn all(ctx: &Ctx, events: Vec<Event>) -> Vec<Self> {
        let mut ids: Vec<_> = events.iter().map(|_| AuditId::new(&*ctx.env)).collect();
        ids.sort();
        ids.into_iter().zip(events).map(|(id, event)| Self::with_id(id, ctx, event)).collect()
    }

    /// Computes the RFC 6962 leaf hash over: tenant, id, timestamp (RFC 3339, milliseconds), actor type, actor id,
    /// action, resource type, resource id, commitment to the address, payload.
    pub fn leaf(&self) -> [u8; 32] {
        let ip = self.ip.map(|ip| ip.to_string());
        leaf([
            self.tenant.as_str().as_bytes(),
            self.id.as_str().as_bytes(),
            self.timestamp.to_string().as_bytes(),
            self.actor.kind.as_str().as_bytes(),
            self.actor.id.as_bytes(),
            self.event.code.as_bytes(),
            self.event.resource_type.as_bytes(),
            self.event.resource_id.as_bytes(),
            &commitment(&self.salt, ip.as_deref()),
            self.event.data.as_bytes(),
        ])
    }

    /// Returns the entry as stored, with its leaf hash and MAC. Fails if there is no key.
    pub fn stored(&self, keys: &EntryKeys) -> StoreResult<StoredEntry> {
        let leaf = self.leaf();
        let mac = keys.sign(self.tenant.as_str(), self.id.as_str(), &leaf);
        let mac = mac.ok_or(StoreError::Aborted("there is no master key for the MAC of the audit entry"))?;
        Ok(StoredEntry {
            id: self.id.to_string(),
            timestamp: self.timestamp,
            actor_type: self.actor.kind.as_str().to_owned(),
            actor_id: self.actor.id.clone(),
            action: self.event.code.to_owned(),
            resource_type: self.event.resource_type.to_owned(),
            resource_id: self.event.resource_id.clone(),
            ip: self.ip.map(|ip| ip.to_string()),
            metadata: self.event.data.clone(),
            leaf,
            salt: Some(self.salt.clone()),
            ip_commitment: None,
            mac: Some(mac),
        })
    }
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// `aud_…`
    pub id: String,
    /// When the event happened.
    pub timestamp: Timestamp,
    /// `USER`, `SCIM`, `SYSTEM` or `SAML`.
    pub actor_type: String,
    /// Id of the actor: a user, a token, or a part of the service.
    pub actor_id: String,
    /// The audit code.
    pub action: String,
    /// The type of the resource.
    pub resource_type: String,
    /// ID of the resource.
    pub resource_id: String,
    /// The client's address; `None` if unknown or erased.
    pub ip: Option<String>,
    /// The payload as JSON text.
    pub metadata: String,
    /// The leaf hash that was stored with the entry.
    pub leaf: [u8; 32],
    /// The key of the commitment to the address; `None` once the address is erased.
    pub salt: Option<Vec<u8>>,
    /// The commitment to an erased address.
    pub ip_commitment: Option<Vec<u8>>,
    /// The MAC over id and leaf hash; `None` in entries of a version without MACs.
    pub mac: Option<EntryMac>,
}

impl StoredEntry {
    /// Computes the leaf hash of the entry's current content in this tenant's audit log. `None` if the address cannot
    /// be verified.
    pub fn content_leaf(&self, tenant: &str) -> Option<[u8; 32]> {
        let commitment = self.commitment()?;
        Some(leaf([
            tenant.as_bytes(),
            self.id.as_bytes(),
            self.timestamp.to_string().as_bytes(),
            self.actor_type.as_bytes(),
            self.actor_id.as_bytes(),
            self.action.as_bytes(),
            self.resource_type.as_bytes(),
            self.resource_id.as_bytes(),
            &commitment,
            self.metadata.as_bytes(),
        ]))
    }

    /// Returns the commitment to the address, empty if there is none. `None` if it cannot be verified.
    pub fn commitment(&self) -> Option<Vec<u8>> {
        match (&self.ip, &self.ip_commitment) {
            (None, None) => Some(Vec::new()),
            (None, Some(commitment)) => Some(commitment.clone()),
            (Some(ip), None) => Some(commitment(self.salt.as_ref()?, Some(ip))),
            (Some(_), Some(_)) => None,
        }
    }

    /// Returns what a verifier needs to hash the entry again, in base64: the salt of the commitment to the address, or
    /// the commitment itself if the address was erased.
    pub(crate) fn shown_commitment(&self) -> (Option<String>, Option<String>) {
        let encode = |bytes: &Vec<u8>| BASE64.encode(bytes);
        let salt = self.salt.as_ref().filter(|_| self.ip.is_some());
        (salt.map(encode), self.ip_commitment.as_ref().map(encode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::users::UserDeactivated;
    use kernel::{Env, ManualEnv};
    use std::sync::Arc;

    fn keys() -> EntryKeys {
        EntryKeys::derive(
            &kernel::MasterKeys::new(vec![("a".to_owned(), kernel::Secret::new(vec![1; 32]))]).unwrap(),
        )
    }

    fn entry() -> Entry {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let mut ctx = Ctx::new(env as Arc<dyn Env>, tenant, Actor::scim("sct_1"));
        ctx.ip = Some("192.0.2.7".parse().unwrap());
        Entry::new(&ctx, Event::new("usr_1", &UserDeactivated {}))
    }

    #[test]
    fn leaf_matches_the_documented_hash() {
        // Computed again, field by field.
        let entry = entry();
        let mut bytes = vec![0_u8];
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &entry.salt);
        let ip = ring::hmac::sign(&key, b"192.0.2.7");
        let fields: [&[u8]; 10] = [
            entry.tenant.as_str().as_bytes(),
            entry.id.as_str().as_bytes(),
            b"2026-01-01T00:00:00.000Z",
            b"SCIM",
            b"sct_1",
            b"ACCOUNT_USER_DEACTIVATED",
            b"user",
            b"usr_1",
            ip.as_ref(),
            b"{}",
        ];
        for field in fields {
            bytes.extend((field.len() as u64).to_be_bytes());
            bytes.extend(field);
        }
        assert_eq!(entry.leaf().as_slice(), ring::digest::digest(&ring::digest::SHA256, &bytes).as_ref());
        assert_eq!(entry.stored(&keys()).unwrap().content_leaf(entry.tenant.as_str()), Some(entry.leaf()));
        assert!(entry.stored(&EntryKeys::none()).is_err());
    }

    #[test]
    fn every_field_affects_the_leaf() {
        let original = entry();
        let changes: [fn(&mut Entry); 6] = [
            |e| e.timestamp = Timestamp::from_unix_millis(0),
            |e| e.actor.id = "sct_2".into(),
            |e| e.ip = Some("192.0.2.8".parse().unwrap()),
            |e| e.ip = None,
            |e| e.event.resource_id = "usr_2".into(),
            |e| e.event.data = "{ }".into(),
        ];
        for change in changes {
            let mut changed = original.clone();
            change(&mut changed);
            assert_ne!(changed.leaf(), original.leaf());
        }
    }
}
