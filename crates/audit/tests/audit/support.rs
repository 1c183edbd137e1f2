//! A log in memory, with its keys and its clock.

use std::sync::Arc;

use audit::{
    AuditStore, Entry, EntryKeys, Event, MemoryAuditLog,
    events::users::UserDeactivated,
    log::{CheckpointKey, CheckpointKeys, Lease, SealPolicy, SealProgress, seal},
};
use kernel::{Actor, Ctx, Env, ManualEnv, MasterKeys, Secret, TenantId};

pub(crate) struct World {
    pub(crate) env: Arc<ManualEnv>,
    pub(crate) ctx: Ctx,
    pub(crate) keys: CheckpointKeys,
    pub(crate) entries: EntryKeys,
    pub(crate) audit_log: MemoryAuditLog,
}

/// Returns a master key per byte: 32 times that byte.
pub(crate) fn masters(bytes: &[u8]) -> MasterKeys {
    let key = |byte: &u8| (format!("k{byte}"), Secret::new(vec![*byte; 32]));
    MasterKeys::new(bytes.iter().map(key).collect()).unwrap()
}

impl World {
    pub(crate) fn new() -> Self {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let tenant = TenantId::new(&*env);
        let mut ctx = Ctx::new(Arc::clone(&env) as Arc<dyn Env>, tenant, Actor::scim("sct_1"));
        ctx.ip = Some("192.0.2.7".parse().unwrap());
        let entries = EntryKeys::derive(&masters(&[7]));
        let audit_log = MemoryAuditLog::new(entries.clone());
        Self { env, ctx, keys: CheckpointKeys::derive(&masters(&[7])), entries, audit_log }
    }

    /// Returns the public keys of the log.
    pub(crate) fn checkpoint_keys(&self) -> Vec<CheckpointKey> {
        self.keys.of(self.ctx.tenant.as_str())
    }

    pub(crate) fn advance(&mut self, millis: i64) {
        self.env.advance_millis(millis);
        self.ctx.now = self.env.now();
    }

    /// Appends entries, a millisecond apart.
    pub(crate) async fn append(&mut self, count: usize) {
        for _ in 0..count {
            self.advance(1);
            let entry = Entry::new(&self.ctx, Event::new("usr_1", &UserDeactivated {}));
            self.audit_log.append(&[entry]).await.unwrap();
        }
    }

    /// Returns a lease that ends at once.
    pub(crate) fn lease(&self) -> Lease {
        Lease { owner: "test".into(), now: self.ctx.now, until: self.ctx.now }
    }

    /// Seals a batch. Entries without MACs are included only if `accepts_missing_macs` is set.
    pub(crate) async fn seal_with(&mut self, accepts_missing_macs: bool) -> SealProgress {
        let lease = self.lease();
        let policy = SealPolicy { checkpoints: &self.keys, entries: &self.entries, accepts_missing_macs };
        seal(&mut self.audit_log, policy, &self.ctx.tenant, &lease, None).await.unwrap()
    }

    /// Seals a batch and returns the number of its entries.
    pub(crate) async fn seal(&mut self) -> usize {
        self.seal_with(false).await.count
    }
}
