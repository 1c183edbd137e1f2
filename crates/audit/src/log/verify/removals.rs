//! What was removed: only what a signed declaration covers, and only when its retention was over.

use kernel::StoreResult;

use super::Verifier;
use crate::log::{
    finding::Finding,
    retention::RetentionSettings,
    statement::{Removal, Retention, Statement},
};
use crate::store::VerifyStore;

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

impl<S: VerifyStore + ?Sized> Verifier<'_, S> {
    /// Reads what was removed, and answers before which place a version removed entries that signed no removals. That is
    /// believed only if a sealed entry of that version says so, or if a later signed removal begins there.
    pub(super) async fn read_removals(&mut self) -> StoreResult<u64> {
        self.read_retention().await?;
        let removals = self.store.removals().await;
        let removals = self.readable(removals, "audit_drops", "")?.unwrap_or_default();
        let mut signed = Vec::new();
        for (before, removal) in self.read_statements::<Removal>("the removal before").await? {
            if removal.before == before {
                signed.push(removal);
            } else {
                self.result.found(Finding::NotSigned { statement: format!("the removal before {before}") });
            }
        }
        let first = signed.first().map_or(u64::MAX, |removal| removal.from);
        let mut unsigned = 0;
        for before in removals {
            if signed.iter().any(|removal| removal.before == before) {
                continue;
            }
            if before <= first && self.mac_start > 0 {
                unsigned = before;
            } else {
                self.result.found(Finding::NotSigned { statement: format!("the removal before {before}") });
            }
        }
        let mut covered = unsigned;
        for removal in signed {
            if removal.from != covered {
                self.result.found(Finding::Missing {
                    from: covered.min(removal.from),
                    to: covered.max(removal.from),
                });
            }
            if !was_due(&removal, &self.retention) {
                self.result.found(Finding::RemovedEarly { from: removal.from, to: removal.before });
            }
            covered = covered.max(removal.before);
            self.declared.push((removal.before, removal.root));
        }
        self.result.dropped = covered;
        // A signed removal that begins there vouches for it.
        Ok(if unsigned == first { 0 } else { unsigned })
    }

    /// How long entries were kept, and from when on. A statement that is out of order was brought back by somebody.
    async fn read_retention(&mut self) -> StoreResult<()> {
        let notes = self.store.statements(Retention::KIND).await;
        let notes = self.readable(notes, "audit_statements", Retention::KIND)?.unwrap_or_default();
        self.retention = RetentionSettings::read(notes, self.tenant, self.keys.checkpoints);
        let name = |number: &u64| format!("retention setting {number}");
        for number in self.retention.unsigned().to_vec() {
            self.result.found(Finding::NotSigned { statement: name(&number) });
        }
        for number in self.retention.misplaced() {
            self.result.found(Finding::OutOfOrder { statement: name(&number) });
        }
        Ok(())
    }

    /// Whether each change of the retention that the log tells of has its signed statement: somebody who takes away the newest
    /// brings back an older setting.
    pub(super) fn retention_is_stated(&mut self) {
        for at in std::mem::take(&mut self.retention_entries) {
            if !self.retention.was_set_at(at) {
                self.result.found(Finding::NotSigned { statement: format!("the retention set at {at}") });
            }
        }
    }

    async fn read_statements<T: Statement>(&mut self, name: &str) -> StoreResult<Vec<(u64, T)>> {
        let notes = self.store.statements(T::KIND).await;
        let notes = self.readable(notes, "audit_statements", T::KIND)?.unwrap_or_default();
        let mut statements = Vec::new();
        for (number, note) in notes {
            match T::verified(&note, self.tenant, self.keys.checkpoints) {
                Ok(statement) => statements.push((number, statement)),
                Err(_) => self.result.found(Finding::NotSigned { statement: format!("{name} {number}") }),
            }
        }
        Ok(statements)
    }
}

/// Whether all that was removed was older than the retention that was configured then.
fn was_due(removal: &Removal, retention: &RetentionSettings) -> bool {
    let then = retention.at(removal.at);
    then.is_some_and(|setting| setting.days == Some(removal.days))
        && removal.newest < removal.at.plus_millis(-i64::from(removal.days) * DAY)
}
