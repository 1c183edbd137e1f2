//! Limits of concurrent work.

pub(crate) mod large_changes;
pub(crate) mod pool_metrics;
pub(crate) mod queue_status;
pub(crate) mod scans;
pub(crate) mod tenant_limits;
