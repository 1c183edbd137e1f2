//! Requests for a cosignature: `add-checkpoint` of C2SP tlog-witness.

use std::fmt;

use data_encoding::BASE64;

use crate::log::{Hash, note::decode};

/// Maximum number of hashes of a consistency proof.
const MAX_PROOF: usize = 63;

/// A checkpoint with the proof that it extends an earlier one. `Display` writes the body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// Size of the log that the witness cosigned last; 0 if none.
    pub old_size: u64,
    /// Consistency proof from that size (RFC 6962, section 2.1.2).
    pub proof: Vec<Hash>,
    /// The checkpoint as a signed note.
    pub note: String,
}

/// The body is not a request for a cosignature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `old <size>`, up to 63 hashes in base64, an empty line and a checkpoint")]
pub struct RequestError;

impl AddCheckpoint {
    /// Parses the body of a request.
    pub fn parse(body: &str) -> Result<Self, RequestError> {
        let (head, note) = body.split_once("\n\n").ok_or(RequestError)?;
        let mut lines = head.split('\n');
        let size = lines.next().and_then(|line| line.strip_prefix("old ")).ok_or(RequestError)?;
        let old_size: u64 = size.parse().map_err(|_| RequestError)?;
        let hash = |line: &str| decode(line)?.try_into().ok();
        let proof: Option<Vec<Hash>> = lines.map(hash).collect();
        let proof = proof.filter(|proof| proof.len() <= MAX_PROOF).ok_or(RequestError)?;
        if old_size.to_string() == size {
            Ok(Self { old_size, proof, note: note.to_owned() })
        } else {
            Err(RequestError)
        }
    }
}

impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old_size)?;
        for hash in &self.proof {
            writeln!(f, "{}", BASE64.encode(hash))?;
        }
        write!(f, "\n{}", self.note)
    }
}
