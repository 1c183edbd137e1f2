//! Times and addresses in readable form, until a script converts them to local ones.

use kernel::Timestamp;

/// A point in time, machine-readable and human-readable.
pub(crate) struct PageTime {
    pub(crate) iso: String,
    pub(crate) text: String,
}

impl From<Timestamp> for PageTime {
    fn from(time: Timestamp) -> Self {
        let text = time.naive().format("%-d %b %Y, %H:%M UTC").to_string();
        Self { iso: time.to_string(), text }
    }
}
