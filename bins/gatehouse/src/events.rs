//! From what the areas did to what the ledger says.

use audit::{
    Event,
    events::users::{UserCreated, UserDeactivated, UserReactivated, UserUpdated},
};
use directory::Role;
use scim_core::{Replaced, User};

/// A user came by provisioning.
pub(crate) fn user_created(user: &User) -> Event {
    let data = UserCreated { active: user.active, role: Role::Member.as_str(), fields: user.fields() };
    Event::new(user.id.as_str(), &data)
}

/// What replacing a user changed: nothing, attributes, whether it is active, or both.
pub(crate) fn user_replaced(replaced: &Replaced) -> Vec<Event> {
    let id = replaced.user.id.as_str();
    let updated = (!replaced.changed.is_empty())
        .then(|| Event::new(id, &UserUpdated { changed: replaced.changed.clone() }));
    let activation = replaced.activation.map(|active| {
        if active { Event::new(id, &UserReactivated {}) } else { Event::new(id, &UserDeactivated {}) }
    });
    updated.into_iter().chain(activation).collect()
}
