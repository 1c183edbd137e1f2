//! What a command answers.

use serde_json::Value;

/// What a command answers: an object for `--json`, and lines for people.
pub(super) struct Report {
    pub(super) json: Value,
    pub(super) lines: String,
    /// Whether what it says is that something is wrong.
    pub(super) failed: bool,
}

impl Report {
    pub(super) fn new(json: Value, lines: impl Into<String>) -> Self {
        Self { json, lines: lines.into(), failed: false }
    }
}

pub(super) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
