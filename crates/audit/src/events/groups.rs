//! Events of groups.

use super::define::{Resource, events};

const GROUP: Resource = ("group", "grp_01jz2222222222222222222222");
const MEMBER: &str = "usr_01jz2222222222222222222222";

events! {
    /// A group was created.
    GroupCreated = "ACCOUNT_GROUP_CREATED" (GROUP) {
        /// Number of initial members. Further events list them.
        members: usize = 0,
    }
    /// Attributes or members of a group changed.
    GroupUpdated = "ACCOUNT_GROUP_UPDATED" (GROUP) {
        /// Names of the attributes that changed.
        changed: Vec<String> = vec!["members".into()],
        /// IDs of added members: at most 500 per event.
        joined: Vec<String> = vec![MEMBER.into()],
        /// IDs of removed members: at most 500 per event.
        left: Vec<String> = Vec::new(),
    }
    /// A group was deleted. Its members remain users of the tenant.
    GroupDeleted = "ACCOUNT_GROUP_DELETED" (GROUP) {}
}
