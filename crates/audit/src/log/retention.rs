//! The history of retention settings, from signed statements. They are ordered by their signed times, because their
//! numbers in the database are not signed.

use kernel::Timestamp;

use super::{
    checkpoint::CheckpointKey,
    statement::{Retention, Statement},
};

/// The retention settings of a tenant's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Settings signed with a known key, with their numbers, ordered by number.
    signed: Vec<(u64, Retention)>,
    /// Numbers of the other statements.
    unsigned: Vec<u64>,
}

impl RetentionSettings {
    /// Reads the notes of a tenant's log, ordered by number.
    pub fn read(notes: Vec<(u64, String)>, tenant: &str, keys: &[CheckpointKey]) -> Self {
        let mut settings = Self::default();
        for (number, note) in notes {
            match Retention::verified(&note, tenant, keys) {
                Ok(retention) => settings.signed.push((number, retention)),
                Err(_) => settings.unsigned.push(number),
            }
        }
        settings
    }

    /// Returns the numbers of statements that no known key has signed.
    pub fn unsigned(&self) -> &[u64] {
        &self.unsigned
    }

    /// Returns the numbers of statements that are not newer than all those with lower numbers: copies and replayed
    /// statements.
    pub fn misplaced(&self) -> Vec<u64> {
        let (mut latest, mut misplaced) = (None, Vec::new());
        for (number, retention) in &self.signed {
            if latest.is_some_and(|latest| retention.at <= latest) {
                misplaced.push(*number);
            }
            latest = latest.max(Some(retention.at));
        }
        misplaced
    }

    /// Returns the newest setting.
    pub fn newest(&self) -> Option<&Retention> {
        self.signed.iter().map(|(_, retention)| retention).max_by_key(|retention| retention.at)
    }

    /// Returns the setting in force at a time.
    pub fn at(&self, time: Timestamp) -> Option<&Retention> {
        let until_then = self.signed.iter().map(|(_, retention)| retention).filter(|set| set.at <= time);
        until_then.max_by_key(|retention| retention.at)
    }

    /// Returns whether a setting was made at exactly this time.
    pub fn was_set_at(&self, time: Timestamp) -> bool {
        self.signed.iter().any(|(_, retention)| retention.at == time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(millis)
    }

    fn settings(times: &[(u64, i64)]) -> RetentionSettings {
        let signed =
            times.iter().map(|(number, millis)| (*number, Retention { days: None, at: at(*millis) }));
        RetentionSettings { signed: signed.collect(), unsigned: Vec::new() }
    }

    #[test]
    fn replayed_statement_does_not_take_effect() {
        let good = settings(&[(0, 10), (1, 20)]);
        assert_eq!(good.misplaced(), [0_u64; 0]);
        assert_eq!(good.at(at(19)).unwrap().at, at(10));
        assert_eq!(good.at(at(9)), None);
        let copied = settings(&[(0, 10), (1, 20), (99, 10)]);
        assert_eq!((copied.misplaced(), copied.newest().unwrap().at), (vec![99], at(20)));
        assert_eq!(copied.at(at(30)).unwrap().at, at(20));
        assert_eq!(
            settings(&[(0, 10), (1, 20), (2, 20)]).misplaced(),
            [2],
            "a copied statement is misplaced"
        );
    }
}
