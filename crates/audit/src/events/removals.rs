//! Removals of users by SCIM tokens.

use super::define::{BY_USER, SCIM_TOKEN, TENANT, events};

events! {
    /// A SCIM token exceeded the limit of removals. Its requests to deactivate or delete users are held until an administrator decides.
    RemovalsPaused = "ACCOUNT_REMOVALS_PAUSED" (SCIM_TOKEN) {
        /// Number of users whom the token deactivated or deleted within the last hour.
        removed: u64 = 200,
        /// The limit: share of the active users in percent.
        percent: u32 = 20,
        /// The limit: number of users.
        users: u32 = 10,
    }
    /// An administrator let a SCIM token remove the users whose removals were held. Each removal has its own entry.
    RemovalsApplied = "ACCOUNT_REMOVALS_APPLIED" (SCIM_TOKEN, BY_USER) {
        /// Number of held removals.
        held: u64 = 118,
    }
    /// An administrator discarded the held removals of a SCIM token. The users stay.
    RemovalsDiscarded = "ACCOUNT_REMOVALS_DISCARDED" (SCIM_TOKEN, BY_USER) {
        /// Number of held removals.
        held: u64 = 118,
    }
    /// The limit of removals by SCIM tokens was changed.
    RemovalLimitChanged = "ACCOUNT_REMOVAL_LIMIT_CHANGED" (TENANT, BY_USER) {
        /// Whether the limit applies.
        enabled: bool = true,
        /// Share of the active users in percent.
        percent: u32 = 20,
        /// Number of users.
        users: u32 = 10,
    }
}
