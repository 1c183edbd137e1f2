//! Users.

use super::define::{BY_ANOTHER_USER, USER, events};
use crate::Event;

events! {
    /// A user was created.
    UserCreated = "ACCOUNT_USER_CREATED" (USER) {
        /// Whether the user may sign in.
        active: bool = true,
        /// The assigned role: the name of a built-in one, or `role_…`.
        role: String = "MEMBER".into(),
        /// Names of the attributes that were set.
        fields: Vec<String> = vec!["userName".into(), "name".into(), "emails".into()],
    }
    /// Attributes of a user changed.
    UserUpdated = "ACCOUNT_USER_UPDATED" (USER) {
        /// Names of the attributes that changed.
        changed: Vec<String> = vec!["title".into(), "emails".into()],
    }
    /// A user was deactivated and can no longer sign in.
    UserDeactivated = "ACCOUNT_USER_DEACTIVATED" (USER) {}
    /// A user was reactivated and can sign in again.
    UserReactivated = "ACCOUNT_USER_REACTIVATED" (USER) {}
    /// A user was deleted and can no longer sign in.
    UserDeleted = "ACCOUNT_USER_DELETED" (USER) {}
    /// A user was invited.
    UserInvited = "ACCOUNT_USER_INVITED" (USER, BY_ANOTHER_USER) {
        /// The assigned role: the name of a built-in one, or `role_…`.
        role: String = "MEMBER".into(),
        /// Whether the link was sent by mail. Otherwise the caller received it.
        sent: bool = true,
    }
    /// A user's role changed.
    UserRoleChanged = "ACCOUNT_USER_ROLE_CHANGED" (USER, BY_ANOTHER_USER) {
        /// The assigned role before: the name of a built-in one, or `role_…`.
        from: String = "MEMBER".into(),
        /// The assigned role now.
        to: String = "ADMIN".into(),
    }
}

/// Returns the events of a changed user: of the attributes, and of the activation if it changed.
pub fn changes(id: &str, changed: &[String], activation: Option<bool>) -> Vec<Event> {
    let updated = (!changed.is_empty()).then(|| Event::new(id, &UserUpdated { changed: changed.to_vec() }));
    let activation = activation.map(|active| {
        if active { Event::new(id, &UserReactivated {}) } else { Event::new(id, &UserDeactivated {}) }
    });
    updated.into_iter().chain(activation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_of_a_user_has_an_event_per_kind() {
        let title = ["title".to_owned()];
        let updated = || Event::new("usr_1", &UserUpdated { changed: title.to_vec() });
        assert_eq!(changes("usr_1", &[], None), []);
        assert_eq!(changes("usr_1", &title, None), [updated()]);
        let expected = [updated(), Event::new("usr_1", &UserReactivated {})];
        assert_eq!(changes("usr_1", &title, Some(true)), expected);
        assert_eq!(changes("usr_1", &[], Some(false)), [Event::new("usr_1", &UserDeactivated {})]);
    }
}
