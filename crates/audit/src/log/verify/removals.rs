//! Verifies removals: a signed statement must cover them, and their retention must have ended.

use kernel::StoreResult;

use super::Verifier;
use crate::log::{
    finding::Finding,
    retention::RetentionSettings,
    statement::{Removal, Retention, Statement},
};
use crate::store::VerifyStore;

/// Milliseconds per day.
const DAY: i64 = 24 * 60 * 60 * 1000;

impl<S: VerifyStore + ?Sized> Verifier<'_, S> {
    /// Reads the removals. Returns the position before which a version without signed removals removed entries. This
    /// must be confirmed by a sealed entry of that version, or by a later signed removal that begins there.
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
        // Confirmed by a signed removal that begins there.
        Ok(if unsigned == first { 0 } else { unsigned })
    }

    /// Reads the retention settings. A statement that is out of order was replayed.
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

    /// Checks that each retention change in the log has its signed statement. Deleting the newest one would bring an
    /// older setting back into force.
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

/// Returns whether everything removed was older than the retention in force at that time.
fn was_due(removal: &Removal, retention: &RetentionSettings) -> bool {
    let then = retention.at(removal.at);
    then.is_some_and(|setting| setting.days == Some(removal.days))
        && removal.newest < removal.at.plus_millis(-i64::from(removal.days) * DAY)
}
