//! Times and addresses as people read them before a script makes them local.

use kernel::Timestamp;

/// A point in time: for programs, and to read.
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
