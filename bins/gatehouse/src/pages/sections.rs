//! The sections of the settings in the sidebar, and who may open them.

use directory::{Permission as Right, Permissions};

/// A section in the sidebar.
pub(super) struct Section {
    pub(super) path: &'static str,
    pub(super) title: &'static str,
    /// The permissions that the section requires. Without any, every permission for the settings is enough.
    rights: &'static [Right],
}

impl Section {
    const fn new(path: &'static str, title: &'static str, rights: &'static [Right]) -> Self {
        Self { path, title, rights }
    }

    fn is_open_to(&self, permissions: Permissions) -> bool {
        self.rights.iter().all(|right| permissions.contains(*right))
    }
}

/// The sections in the sidebar.
static SECTIONS: [Section; 14] = [
    Section::new("/settings", "Overview", &[]),
    Section::new("/settings/people", "People", &[Right::ReadUsers]),
    Section::new("/settings/groups", "Groups", &[Right::ReadUsers]),
    Section::new("/settings/roles", "Roles", &[Right::ManageRoles]),
    Section::new("/settings/sign-in", "Sign-in", &[Right::ManagePolicies]),
    Section::new("/settings/sso", "Identity and SSO", &[Right::ManageConnections]),
    Section::new("/settings/webhooks", "Webhooks", &[Right::ManageWebhooks]),
    Section::new("/settings/signals", "Shared signals", &[Right::ManageWebhooks, Right::ReadUsers]),
    Section::new("/settings/transmitters", "Transmitters", &[Right::ManageConnections, Right::ManageUsers]),
    Section::new("/settings/network", "Network", &[Right::ManagePolicies]),
    Section::new("/settings/authenticators", "Authenticators", &[Right::ManagePolicies]),
    Section::new("/settings/audit-log", "Audit log", &[Right::ReadAudit]),
    Section::new("/settings/log-streams", "Log streams", &[Right::ManageWebhooks, Right::ReadAudit]),
    Section::new("/developers", "Developers", &[]),
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
