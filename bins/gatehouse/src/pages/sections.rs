//! The sections of the settings in the sidebar, and who may open them.

use directory::{Permission as Right, Permissions};

/// A section in the sidebar.
pub(super) struct Section {
    pub(super) path: &'static str,
    pub(super) title: &'static str,
    /// The permission that the section requires; `None` if any permission for the settings is enough.
    right: Option<Right>,
}

impl Section {
    const fn new(path: &'static str, title: &'static str, right: Option<Right>) -> Self {
        Self { path, title, right }
    }

    fn is_open_to(&self, permissions: Permissions) -> bool {
        self.right.is_none_or(|right| permissions.contains(right))
    }
}

/// The sections in the sidebar.
static SECTIONS: [Section; 11] = [
    Section::new("/settings", "Overview", None),
    Section::new("/settings/people", "People", Some(Right::ReadUsers)),
    Section::new("/settings/groups", "Groups", Some(Right::ReadUsers)),
    Section::new("/settings/roles", "Roles", Some(Right::ManageRoles)),
    Section::new("/settings/sign-in", "Sign-in", Some(Right::ManagePolicies)),
    Section::new("/settings/sso", "Identity and SSO", Some(Right::ManageConnections)),
    Section::new("/settings/webhooks", "Webhooks", Some(Right::ManageWebhooks)),
    Section::new("/settings/network", "Network", Some(Right::ManagePolicies)),
    Section::new("/settings/authenticators", "Authenticators", Some(Right::ManagePolicies)),
    Section::new("/settings/audit-log", "Audit log", Some(Right::ReadAudit)),
    Section::new("/developers", "Developers", None),
];

/// Returns the sections that somebody with these permissions may open.
pub(super) fn open_to(permissions: Permissions) -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().filter(move |section| section.is_open_to(permissions))
}

/// Returns whether somebody with these permissions may open the page at this path, with or without a query.
pub(super) fn may_open(permissions: Permissions, path: &str) -> bool {
    let page = path.split('?').next().unwrap_or_default();
    SECTIONS.iter().find(|section| section.path == page).is_none_or(|section| section.is_open_to(permissions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::SIGNED_IN;

    #[test]
    fn sections_are_pages() {
        let known = |section: &&Section| section.path == "/developers" || SIGNED_IN.contains(&section.path);
        let unknown: Vec<_> =
            SECTIONS.iter().filter(|section| !known(section)).map(|section| section.path).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn sections_follow_permissions() {
        let titles = |permissions| open_to(permissions).map(|section| section.title).collect::<Vec<_>>();
        assert_eq!(titles(Permissions::ALL).len(), SECTIONS.len());
        assert_eq!(titles(Permissions::of(&[Right::ReadAudit])), ["Overview", "Audit log", "Developers"]);
        let managing = Permissions::of(&[Right::ManageUsers]);
        assert!(may_open(managing, "/settings/people?id=usr_1") && !may_open(managing, "/settings/sso?new"));
        assert!(may_open(Permissions::NONE, "/account/security"));
    }
}
