//! How long entries are kept, as signed statements say: in the order of the times that are signed, not of their numbers in the
//! database, which nothing signs.

use kernel::Timestamp;

use super::{
    checkpoint::CheckpointKey,
    statement::{Retention, Statement},
};

/// The settings of one tenant's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Those that are signed with a known key, with their numbers, in the order of these.
    signed: Vec<(u64, Retention)>,
    /// Numbers of the others.
    unsigned: Vec<u64>,
}

impl RetentionSettings {
    /// Reads the notes of a tenant's log, in the order of their numbers.
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

    /// Numbers of statements that no known key has signed.
    pub fn unsigned(&self) -> &[u64] {
        &self.unsigned
    }

    /// Numbers of statements that were not made after all those with lower numbers: copies, and old ones under a new number.
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

    /// The one that was set last.
    pub fn newest(&self) -> Option<&Retention> {
        self.signed.iter().map(|(_, retention)| retention).max_by_key(|retention| retention.at)
    }

    /// The one that was in force at a time.
    pub fn at(&self, time: Timestamp) -> Option<&Retention> {
        let until_then = self.signed.iter().map(|(_, retention)| retention).filter(|set| set.at <= time);
        until_then.max_by_key(|retention| retention.at)
    }

    /// Whether one was set at exactly this time.
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
    fn an_old_statement_under_a_new_number_does_not_come_into_force() {
        let good = settings(&[(0, 10), (1, 20)]);
        assert_eq!(good.misplaced(), [0_u64; 0]);
        assert_eq!(good.at(at(19)).unwrap().at, at(10));
        assert_eq!(good.at(at(9)), None);
        let copied = settings(&[(0, 10), (1, 20), (99, 10)]);
        assert_eq!((copied.misplaced(), copied.newest().unwrap().at), (vec![99], at(20)));
        assert_eq!(copied.at(at(30)).unwrap().at, at(20));
        assert_eq!(settings(&[(0, 10), (1, 20), (2, 20)]).misplaced(), [2], "the same one twice");
    }
}
