//! Findings of a verification.

use std::fmt;

use crate::MacProblem;

/// Maximum number of findings in a result. All are counted.
const MOST: usize = 1000;
/// Unknown keys that a verification lists.
const MOST_KEYS: usize = 16;

/// A discrepancy in the audit log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "finding", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub enum Finding {
    /// The content of an entry was changed.
    Changed {
        /// Position of the entry in the log.
        sequence: u64,
        /// Id of the entry.
        id: String,
    },
    /// An entry was deleted.
    Deleted {
        /// Position of the entry in the log.
        sequence: u64,
        /// Id of the entry.
        id: String,
    },
    /// Nothing is left of a range of positions.
    Missing {
        /// Position of the first missing entry.
        from: u64,
        /// Position after the last missing entry.
        to: u64,
    },
    /// An entry exists that was neither sealed nor queued for sealing.
    Inserted {
        /// Id of the entry.
        id: String,
    },
    /// An entry was sealed at a different position.
    Moved {
        /// Its current position.
        sequence: u64,
        /// Id of the entry.
        id: String,
        /// Its position when it was sealed.
        sealed_at: u64,
    },
    /// The log's hashes of a range differ from the sealed ones.
    Altered {
        /// Position of the first entry.
        from: u64,
        /// Position after the last entry.
        to: u64,
    },
    /// A checkpoint is not signed by a known key.
    Unsigned {
        /// Size of the log in the checkpoint.
        size: u64,
    },
    /// The log is shorter than an externally kept checkpoint, or than the size it claims.
    RolledBack {
        /// Its earlier or claimed size.
        size: u64,
    },
    /// An externally kept checkpoint cannot be compared, because entries before it were removed or are missing.
    NotCompared {
        /// Size of the log in the checkpoint.
        size: u64,
    },
    /// The log differs from an externally kept checkpoint.
    Forked {
        /// Size of the log in the checkpoint.
        size: u64,
    },
    /// Too few witnesses have cosigned an externally kept checkpoint.
    NotWitnessed {
        /// Size of the log in the checkpoint.
        size: u64,
        /// What is missing.
        problem: String,
    },
    /// An entry's MAC is not valid.
    Unauthenticated {
        /// Position of the entry; `null` while it is unsealed.
        sequence: Option<u64>,
        /// Id of the entry.
        id: String,
        /// Why the MAC was rejected.
        problem: MacProblem,
    },
    /// An unsealed entry was deleted.
    DeletedUnsealed {
        /// Id of the entry.
        id: String,
    },
    /// A statement about the log is not signed by a known key.
    NotSigned {
        /// Text of the statement.
        statement: String,
    },
    /// A signed statement is not newer than those with lower numbers, so an old one was replayed.
    OutOfOrder {
        /// Text of the statement.
        statement: String,
    },
    /// More addresses are erased than the log declares.
    ErasedUndeclared {
        /// Id of the actor.
        actor: String,
        /// Number of erased addresses.
        erased: u64,
        /// Number of declared erasures.
        declared: u64,
    },
    /// A range was declared removed before its retention ended.
    RemovedEarly {
        /// Position of the first entry.
        from: u64,
        /// Position after the last entry.
        to: u64,
    },
    /// A stored value cannot be read.
    Unreadable {
        /// Name of the database table.
        table: &'static str,
        /// Location in the table; empty for all of it.
        at: String,
    },
    /// A line of an export is not an entry with a proof.
    UnreadableLine {
        /// Line number, from 1.
        line: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { sequence, id } => write!(f, "{sequence}: {id} was changed"),
            Self::Deleted { sequence, id } => write!(f, "{sequence}: {id} was deleted"),
            Self::Missing { from, to } => write!(f, "{from} to {}: deleted, including their hashes", to - 1),
            Self::Inserted { id } => write!(f, "{id} was inserted"),
            Self::Moved { sequence, id, sealed_at } => {
                write!(f, "{sequence}: {id} was moved here from {sealed_at}")
            }
            Self::Altered { from, to } => {
                write!(f, "{from} to {}: the hashes in the log do not match the signed ones", to - 1)
            }
            Self::Unsigned { size } => write!(f, "the checkpoint of {size} entries is not signed"),
            Self::RolledBack { size } => write!(f, "the log had {size} entries and now has fewer"),
            Self::NotCompared { size } => {
                write!(f, "the checkpoint of {size} entries cannot be compared, because hashes are missing")
            }
            Self::Forked { size } => {
                write!(f, "the first {size} entries differ from those of the checkpoint")
            }
            Self::NotWitnessed { size, problem } => write!(f, "the checkpoint of {size} entries: {problem}"),
            Self::Unauthenticated { sequence: Some(sequence), id, problem } => {
                write!(f, "{sequence}: {id} is not authentic: {problem}")
            }
            Self::Unauthenticated { sequence: None, id, problem } => {
                write!(f, "not sealed: {id} is not authentic: {problem}")
            }
            Self::DeletedUnsealed { id } => write!(f, "not sealed: {id} was deleted before it was sealed"),
            Self::NotSigned { statement } => write!(f, "{statement} is not signed with a known key"),
            Self::OutOfOrder { statement } => {
                write!(f, "{statement} is older than its predecessor: it was replayed")
            }
            Self::ErasedUndeclared { actor, erased, declared } => {
                write!(f, "{actor}: {erased} addresses are erased, but the log declares {declared}")
            }
            Self::RemovedEarly { from, to } => {
                write!(f, "{from} to {}: removed before their retention ended", to.saturating_sub(1))
            }
            Self::Unreadable { table, at } if at.is_empty() => write!(f, "{table}: cannot be read"),
            Self::Unreadable { table, at } => write!(f, "{table} {at}: cannot be read"),
            Self::UnreadableLine { line } => write!(f, "line {line} is not an entry with a proof"),
        }
    }
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Number of positions in the log.
    pub size: u64,
    /// The root hash in hex.
    pub root: String,
    /// Entries whose hash was verified.
    pub entries: u64,
    /// Positions whose entries were removed after their retention. Their hashes remain.
    pub dropped: u64,
    /// Entries whose MAC was verified. The others were sealed by a version without MACs, or name a retired key.
    pub macs: u64,
    /// IDs of master keys that MACs of sealed entries name and that are not known, in the order of the log.
    pub unknown_keys: Vec<String>,
    /// Number of findings about these keys.
    #[serde(skip)]
    pub(super) unknown_macs: usize,
    /// Entries whose address was erased. Their other members were verified.
    pub erased: u64,
    /// Unsealed entries.
    pub waiting: u64,
    /// Checkpoints that the log was compared with.
    pub checkpoints: u64,
    /// Number of findings.
    pub count: usize,
    /// The first 1,000 findings.
    pub findings: Vec<Finding>,
}

impl Verified {
    /// Returns true if all findings are MACs of sealed entries with an unknown key. The log is unchanged since it was
    /// sealed; the key was retired, or somebody exchanged the MACs before.
    pub fn lacks_only_keys(&self) -> bool {
        self.count > 0 && self.count == self.unknown_macs
    }

    /// Says which keys are missing, and what to do.
    pub fn explain_missing_keys(&self) -> String {
        format!(
            "MACs name a master key that this installation does not have. If you retired it, repeat the command with \
             --retired-key {}",
            self.unknown_keys.join(" --retired-key ")
        )
    }

    pub(super) fn found_unknown_key(&mut self, sequence: u64, id: String, key: &str) {
        self.unknown_macs += 1;
        if self.unknown_keys.len() < MOST_KEYS && !self.unknown_keys.iter().any(|known| known == key) {
            self.unknown_keys.push(key.to_owned());
        }
        let problem = MacProblem::UnknownKey;
        self.found(Finding::Unauthenticated { sequence: Some(sequence), id, problem });
    }

    /// Adds a finding unless it is already listed, because several checks can report it.
    pub(super) fn found_once(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.found(finding);
        }
    }

    /// Adds a finding.
    pub fn found(&mut self, finding: Finding) {
        self.count += 1;
        if self.findings.len() < MOST {
            self.findings.push(finding);
        }
    }
}
