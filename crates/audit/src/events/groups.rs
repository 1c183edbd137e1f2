//! Events of groups.

use kernel::UserId;

use super::define::{Resource, events};
use crate::Event;

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

/// Maximum members per event. Larger changes are split into several events.
const MEMBERS: usize = 500;

/// Returns the events of added and removed members.
pub fn membership_changes(id: &str, joined: &[UserId], left: &[UserId]) -> Vec<Event> {
    let ids = |some: &[UserId]| some.iter().map(ToString::to_string).collect::<Vec<_>>();
    let joined = joined.chunks(MEMBERS).map(|some| (ids(some), Vec::new()));
    let left = left.chunks(MEMBERS).map(|some| (Vec::new(), ids(some)));
    let event =
        |(joined, left)| Event::new(id, &GroupUpdated { changed: vec!["members".into()], joined, left });
    joined.chain(left).map(event).collect()
}

/// Returns the events of a changed group: of the attributes, and of the members.
pub fn changes(id: &str, changed: &[String], joined: &[UserId], left: &[UserId]) -> Vec<Event> {
    let data = GroupUpdated { changed: changed.to_vec(), joined: Vec::new(), left: Vec::new() };
    let updated = (!changed.is_empty()).then(|| Event::new(id, &data));
    updated.into_iter().chain(membership_changes(id, joined, left)).collect()
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    #[test]
    fn large_changes_of_members_are_split() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let members: Vec<_> = (0..501).map(|_| UserId::new(&env)).collect();
        let events = changes("grp_1", &["displayName".into()], &members, &members[..1]);
        let lengths = |event: &Event| {
            let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
            ["joined", "left"].map(|name| data[name].as_array().unwrap().len())
        };
        assert_eq!(events.iter().map(lengths).collect::<Vec<_>>(), [[0, 0], [500, 0], [1, 0], [0, 1]]);
        assert!(changes("grp_1", &[], &[], &[]).is_empty());
    }
}
