//! How much of one kind of work runs at the same time.

pub(crate) mod figures;
pub(crate) mod large_changes;
pub(crate) mod scans;
pub(crate) mod turns;
pub(crate) mod waiting_line;
