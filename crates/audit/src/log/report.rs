//! The results of verifications, in words.

use super::{finding::Verified, offline::VerifiedExport, streamed::VerifiedStream};

/// Formats a number with its noun.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

fn conclusion(count: usize, intact: &str) -> String {
    match count {
        0 => intact.to_owned(),
        count => {
            let findings = counted(count as u64, "finding", "findings");
            format!("{findings}: the log was changed after it was sealed")
        }
    }
}

impl Verified {
    /// Says what was verified, for an operator who knows the tenant by `name`.
    pub fn summary(&self, name: &str) -> String {
        format!(
            "{} in the log of {name}, root {}\nRehashed {}, purged {}, unsealed {}; compared {}, verified {}",
            counted(self.size, "entry", "entries"),
            self.root,
            self.entries,
            self.dropped,
            self.waiting,
            counted(self.checkpoints, "checkpoint", "checkpoints"),
            counted(self.macs, "MAC", "MACs")
        )
    }

    /// Says what the findings mean.
    pub fn conclusion(&self) -> String {
        if self.lacks_only_keys() {
            return format!("The log is unchanged since it was sealed, but {}", self.explain_missing_keys());
        }
        conclusion(self.count, "The log is unchanged since it was sealed")
    }
}

impl VerifiedExport {
    /// Says what was verified.
    pub fn summary(&self) -> String {
        format!(
            "{} of the log of {} (size {}, root {}); {} left out between the first and the last",
            counted(self.entries, "entry", "entries"),
            self.tenant,
            self.size,
            self.root,
            self.left_out
        )
    }

    /// Says what the findings mean.
    pub fn conclusion(&self) -> String {
        conclusion(self.count, "The entries in this file are unchanged")
    }
}

impl VerifiedStream {
    /// Says what was verified.
    pub fn summary(&self) -> String {
        let (first, last) = self.sequences.unwrap_or_default();
        format!(
            "{} of the log of {}, positions {first} to {last}; {} received again, {} left out; the log had {} when the last \
             batch was sent",
            counted(self.entries, "entry", "entries"),
            self.tenant,
            self.duplicates,
            self.left_out,
            counted(self.size, "entry", "entries")
        )
    }

    /// Says what the findings mean.
    pub fn conclusion(&self) -> String {
        match self.count {
            0 if self.proved == self.entries => {
                "Nothing is missing from the first entry to the last, as a signed checkpoint proves"
                    .to_owned()
            }
            0 => format!(
                "Nothing is missing of the batches that the stream named; a signed checkpoint proves this of the first {}",
                counted(self.proved, "entry", "entries")
            ),
            count => {
                format!("{}: entries are missing or changed", counted(count as u64, "finding", "findings"))
            }
        }
    }
}
