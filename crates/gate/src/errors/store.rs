//! Errors of storage.

use kernel::StoreError;

use super::problem::Problem;

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let problem = match error {
            StoreError::Unavailable(_) => Self::unavailable(),
            StoreError::TenantBusy(work) => {
                Self::busy(&format!("Too many {work} of this tenant are in progress"), 1)
            }
            StoreError::ScanTooLong(limit) => Self::search_too_long(limit),
            _ => Self::internal(),
        };
        problem.because(&error)
    }
}
