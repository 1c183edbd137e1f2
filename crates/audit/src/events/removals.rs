//! Removals of users by SCIM tokens.

use super::define::{BY_USER, SCIM_TOKEN, TENANT, events};

events! {
    /// A SCIM token exceeded the limit of removals. Its requests to deactivate or delete users are held until an administrator decides.
    RemovalsPaused = "ACCOUNT_REMOVALS_PAUSED" (SCIM_TOKEN) {
        /// The user whose removal was held first.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// Number of users that the token deactivated or deleted within the last hour.
        removed: u64 = 200,
        /// The limit: share of the active users in percent.
        percent: u32 = 20,
        /// The limit: number of users.
        users: u32 = 10,
    }
    /// An administrator decided to remove the users whose removals by a SCIM token were held. Each removal has its own entry.
    RemovalsApplied = "ACCOUNT_REMOVALS_APPLIED" (SCIM_TOKEN, BY_USER) {
        /// Number of held removals.
        held: u64 = 118,
        /// Removals that were requested later stay held.
        until: String = "2026-01-02T03:04:05.678Z".into(),
    }
    /// An administrator discarded the held removals of a SCIM token. The users stay.
    RemovalsDiscarded = "ACCOUNT_REMOVALS_DISCARDED" (SCIM_TOKEN, BY_USER) {
        /// Number of held removals.
        held: u64 = 118,
        /// At most 200 of the users.
        users: Vec<String> = vec!["usr_01jz2222222222222222222222".into()],
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
