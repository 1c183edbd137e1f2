//! Builds audit events from changes in the areas.

use audit::{
    Event,
    events::{
        groups::{GroupCreated, GroupDeleted, GroupUpdated},
        users::{UserCreated, UserDeactivated, UserDeleted, UserReactivated, UserUpdated},
    },
};
use directory::Role;
use kernel::UserId;
use scim_core::{Group, User, groups, users};

/// Reports a user that was created by provisioning.
pub(crate) fn user_created(user: &User) -> Event {
    let data = UserCreated { active: user.active, role: Role::Member.as_str(), fields: user.fields() };
    Event::new(user.id.as_str(), &data)
}

/// Reports changes of a user: attributes, activation, both, or nothing.
pub(crate) fn user_changed(changed: &users::ChangedUser) -> Vec<Event> {
    let id = changed.user.id.as_str();
    let updated = (!changed.changed.is_empty())
        .then(|| Event::new(id, &UserUpdated { changed: changed.changed.clone() }));
    let activation = changed.activation.map(|active| {
        if active { Event::new(id, &UserReactivated {}) } else { Event::new(id, &UserDeactivated {}) }
    });
    updated.into_iter().chain(activation).collect()
}

/// Reports a deleted user.
pub(crate) fn user_deleted(user: &User) -> Event {
    Event::new(user.id.as_str(), &UserDeleted {})
}

/// Maximum members per entry; large changes are split into several entries.
const MEMBERS: usize = 500;

/// Reports a created group and its first members.
pub(crate) fn group_created(created: &groups::ChangedGroup) -> Vec<Event> {
    let members = created.members.joined.len();
    let event = Event::new(created.group.id.as_str(), &GroupCreated { members });
    [event].into_iter().chain(memberships(created)).collect()
}

/// Reports changes of a group: attributes, members, both, or nothing.
pub(crate) fn group_changed(changed: &groups::ChangedGroup) -> Vec<Event> {
    let data = GroupUpdated { changed: changed.changed.clone(), joined: Vec::new(), left: Vec::new() };
    let updated = (!changed.changed.is_empty()).then(|| Event::new(changed.group.id.as_str(), &data));
    updated.into_iter().chain(memberships(changed)).collect()
}

fn memberships(changed: &groups::ChangedGroup) -> Vec<Event> {
    let ids = |ids: &[UserId]| ids.iter().map(UserId::to_string).collect::<Vec<_>>();
    let joined = changed.members.joined.chunks(MEMBERS).map(|some| (ids(some), Vec::new()));
    let left = changed.members.left.chunks(MEMBERS).map(|some| (Vec::new(), ids(some)));
    let event = |(joined, left)| {
        let data = GroupUpdated { changed: vec!["members".into()], joined, left };
        Event::new(changed.group.id.as_str(), &data)
    };
    joined.chain(left).map(event).collect()
}

/// Reports a deleted group.
pub(crate) fn group_deleted(group: &Group) -> Event {
    Event::new(group.id.as_str(), &GroupDeleted {})
}
