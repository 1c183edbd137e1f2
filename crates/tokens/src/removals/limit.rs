//! The limit of a tenant.

/// How many users a SCIM token may deactivate or delete within an hour. Removals are paused only if both numbers are
/// exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovalLimit {
    /// Whether the limit applies.
    pub enabled: bool,
    /// The share of the tenant's active users, in percent: 1 to 100.
    pub percent: u32,
    /// The number of users: 1 to [`RemovalLimit::MAX_USERS`].
    pub users: u32,
}

impl Default for RemovalLimit {
    fn default() -> Self {
        Self { enabled: true, percent: 20, users: 10 }
    }
}

/// A number of a limit is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLimit {
    /// The share is not from 1 to 100.
    #[error("percent: write a number from 1 to 100")]
    Percent,
    /// The number of users is not from 1 to [`RemovalLimit::MAX_USERS`].
    #[error("users: write a number from 1 to {}", RemovalLimit::MAX_USERS)]
    Users,
}

impl RemovalLimit {
    /// The largest number of users.
    pub const MAX_USERS: u32 = 1_000_000;

    /// Checks the numbers.
    pub fn check(&self) -> Result<(), InvalidLimit> {
        if !(1..=100).contains(&self.percent) {
            return Err(InvalidLimit::Percent);
        }
        if !(1..=Self::MAX_USERS).contains(&self.users) {
            return Err(InvalidLimit::Users);
        }
        Ok(())
    }

    /// Returns whether `removed` of `users` are more than both numbers permit.
    pub fn is_exceeded(&self, removed: u64, users: u64) -> bool {
        removed > u64::from(self.users)
            && removed.saturating_mul(100) > users.saturating_mul(u64::from(self.percent))
    }
}
