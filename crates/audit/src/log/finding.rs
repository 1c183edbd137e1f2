//! What a verification finds.

use std::fmt;

use crate::MacProblem;

/// Findings that are told of at most; all are counted.
const MOST: usize = 1000;

/// Something that is not as it was sealed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "finding", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub enum Finding {
    /// The entry at this place says something else than it did.
    Changed {
        /// Position of the entry in the log.
        sequence: u64,
        /// Id of the entry.
        id: String,
    },
    /// The entry at this place is gone.
    Deleted {
        /// Position of the entry in the log.
        sequence: u64,
        /// Id of the entry.
        id: String,
    },
    /// Nothing is left of these places of the log.
    Missing {
        /// Position of the first missing entry.
        from: u64,
        /// The one after the last.
        to: u64,
    },
    /// An entry that was never sealed, nor waits to be.
    Inserted {
        /// Id of the entry.
        id: String,
    },
    /// The entry at this place was sealed at another one.
    Moved {
        /// The place where it stands.
        sequence: u64,
        /// Id of the entry.
        id: String,
        /// The place where it was sealed.
        sealed_at: u64,
    },
    /// What the log says of these places is not what was sealed.
    Altered {
        /// Position of the first entry.
        from: u64,
        /// The one after the last.
        to: u64,
    },
    /// The checkpoint of this size is not signed by a key that is known.
    Unsigned {
        /// Size of the log in the checkpoint.
        size: u64,
    },
    /// The log ends before a checkpoint that is known from elsewhere, or before the size it says it has.
    RolledBack {
        /// The size it had.
        size: u64,
    },
    /// A checkpoint that is known from elsewhere could not be compared, as entries before it were dropped or are missing.
    NotCompared {
        /// Size of the log in the checkpoint.
        size: u64,
    },
    /// The log is not the one of a checkpoint that is known from elsewhere.
    Forked {
        /// Size of the log in the checkpoint.
        size: u64,
    },
    /// The MAC of an entry does not prove that it was written with the key.
    Unauthenticated {
        /// The place; `null` while it waits to be sealed.
        sequence: Option<u64>,
        /// Id of the entry.
        id: String,
        /// Why the MAC was rejected.
        problem: MacProblem,
    },
    /// The entry is gone, and was never sealed.
    DeletedUnsealed {
        /// Id of the entry.
        id: String,
    },
    /// A statement about the log is not signed by a key that is known.
    NotSigned {
        /// Text of the statement.
        statement: String,
    },
    /// A signed statement was not made after all those with lower numbers: somebody brought an old one back.
    OutOfOrder {
        /// Text of the statement.
        statement: String,
    },
    /// More addresses are erased than the log declares.
    ErasedUndeclared {
        /// Who acted from them.
        actor: String,
        /// How many are erased.
        erased: u64,
        /// How many were declared.
        declared: u64,
    },
    /// The removal of these places was declared when their retention was not over.
    RemovedEarly {
        /// Position of the first entry.
        from: u64,
        /// The one after the last.
        to: u64,
    },
    /// What is stored there cannot be read.
    Unreadable {
        /// Name of the database table.
        table: &'static str,
        /// Where in it.
        at: String,
    },
    /// This line of an export is no entry with a proof.
    UnreadableLine {
        /// Its number, from 1.
        line: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { sequence, id } => write!(f, "{sequence}: {id} was changed"),
            Self::Deleted { sequence, id } => write!(f, "{sequence}: {id} was deleted"),
            Self::Missing { from, to } => write!(f, "{from} to {}: nothing is left of them", to - 1),
            Self::Inserted { id } => write!(f, "{id} was inserted"),
            Self::Moved { sequence, id, sealed_at } => {
                write!(f, "{sequence}: {id} was moved here from {sealed_at}")
            }
            Self::Altered { from, to } => {
                write!(f, "{from} to {}: the log does not say what was sealed", to - 1)
            }
            Self::Unsigned { size } => write!(f, "the checkpoint of {size} entries is not signed"),
            Self::RolledBack { size } => write!(f, "the log had {size} entries once, and has fewer"),
            Self::NotCompared { size } => {
                write!(f, "the checkpoint of {size} entries cannot be compared: too little is kept of them")
            }
            Self::Forked { size } => write!(f, "the first {size} entries are not those of the checkpoint"),
            Self::Unauthenticated { sequence: Some(sequence), id, problem } => {
                write!(f, "{sequence}: {id} is not authentic: {problem}")
            }
            Self::Unauthenticated { sequence: None, id, problem } => {
                write!(f, "waiting: {id} is not authentic: {problem}")
            }
            Self::DeletedUnsealed { id } => write!(f, "waiting: {id} was deleted before it was sealed"),
            Self::NotSigned { statement } => write!(f, "{statement} is not signed with a known key"),
            Self::OutOfOrder { statement } => {
                write!(f, "{statement} is older than one before it: somebody brought it back")
            }
            Self::ErasedUndeclared { actor, erased, declared } => {
                write!(f, "{actor}: {erased} addresses are erased, and the log declares {declared}")
            }
            Self::RemovedEarly { from, to } => {
                write!(f, "{from} to {}: removed before their retention was over", to.saturating_sub(1))
            }
            Self::Unreadable { table, at } => write!(f, "{table} {at}: cannot be read"),
            Self::UnreadableLine { line } => write!(f, "line {line} is not an entry with a proof"),
        }
    }
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Places of the log.
    pub size: u64,
    /// The root over them, in hex.
    pub root: String,
    /// Entries that were hashed again.
    pub entries: u64,
    /// Places whose entries were dropped, as their time to be kept was over; their hashes stand.
    pub dropped: u64,
    /// Entries whose MAC was verified; all others were sealed by a version that made none, or name a retired key.
    pub macs: u64,
    /// Entries whose address was erased; their other members are verified.
    pub erased: u64,
    /// Entries that wait for their place.
    pub waiting: u64,
    /// Checkpoints the log was compared with.
    pub checkpoints: u64,
    /// How much is not as it was sealed.
    pub count: usize,
    /// The first thousand of it.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Adds a finding that several checks can make.
    pub(super) fn found_once(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.found(finding);
        }
    }

    pub(super) fn found(&mut self, finding: Finding) {
        self.count += 1;
        if self.findings.len() < MOST {
            self.findings.push(finding);
        }
    }
}
