//! Roles of a tenant's own, and the rules that give roles to groups.

use super::define::{BY_USER, Resource, events};

const ROLE: Resource = ("role", "role_01jz3333333333333333333333");
const ROLE_RULE: Resource = ("role_rule", "rrl_01jz3333333333333333333333");
const CONNECTION: Resource = ("sso_connection", "oidc_01jz000000000000000000000001jz4444444444444444444444");

events! {
    /// A role was created.
    RoleCreated = "ACCOUNT_ROLE_CREATED" (ROLE, BY_USER) {
        /// Name of the role.
        name: String = "Help desk".into(),
        /// Permissions of the role, with those that they include.
        permissions: Vec<String> = vec!["support:users".into(), "read:users".into()],
    }
    /// A role was changed. Users with the role have the new permissions at once.
    RoleUpdated = "ACCOUNT_ROLE_UPDATED" (ROLE, BY_USER) {
        /// Name of the role after the change.
        name: String = "Help desk".into(),
        /// Permissions that the role got.
        added: Vec<String> = vec!["read:audit".into()],
        /// Permissions that the role lost.
        removed: Vec<String> = vec![],
    }
    /// A role was deleted. No user and no rule had it.
    RoleDeleted = "ACCOUNT_ROLE_DELETED" (ROLE, BY_USER) {
        /// Name of the role.
        name: String = "Help desk".into(),
    }
    /// A rule that gives a role was created. It is in force at once.
    RoleRuleCreated = "ACCOUNT_ROLE_RULE_CREATED" (ROLE_RULE, BY_USER) {
        /// The role that the rule gives.
        role: String = "SUPPORT".into(),
        /// ID of the SCIM group, or ID of the SSO connection and name of the group there.
        source: String = "grp_01jz5555555555555555555555".into(),
        /// Number of users who got the role.
        gained: u64 = 12,
        /// At most 200 of them.
        users: Vec<String> = vec!["usr_01jz2222222222222222222222".into()],
    }
    /// A rule that gives a role was replaced. The new one is in force at once.
    RoleRuleReplaced = "ACCOUNT_ROLE_RULE_REPLACED" (ROLE_RULE, BY_USER) {
        /// The role that the rule gave.
        old_role: String = "SUPPORT".into(),
        /// The group that the rule was for.
        old_source: String = "grp_01jz5555555555555555555555".into(),
        /// The role that the rule gives.
        role: String = "AUDITOR".into(),
        /// ID of the SCIM group, or ID of the SSO connection and name of the group there.
        source: String = "grp_01jz5555555555555555555555".into(),
        /// Number of users who got the new role.
        gained: u64 = 12,
        /// Number of users who lost the previous role.
        lost: u64 = 12,
        /// At most 200 of those who got a role, and at most 200 of those who lost one.
        users: Vec<String> = vec!["usr_01jz2222222222222222222222".into()],
    }
    /// A rule that gave a role was deleted.
    RoleRuleDeleted = "ACCOUNT_ROLE_RULE_DELETED" (ROLE_RULE, BY_USER) {
        /// The role that the rule gave.
        role: String = "SUPPORT".into(),
        /// ID of the SCIM group, or ID of the SSO connection and name of the group there.
        source: String = "grp_01jz5555555555555555555555".into(),
        /// Number of users who lost the role.
        lost: u64 = 12,
        /// At most 200 of them.
        users: Vec<String> = vec!["usr_01jz2222222222222222222222".into()],
    }
    /// An SSO connection treats accounts differently from now on.
    ConnectionAccountsChanged = "ACCOUNT_SSO_ACCOUNTS_CHANGED" (CONNECTION, BY_USER) {
        /// The claim or attribute with the groups of a user.
        groups_claim: Option<String> = Some("groups".into()),
        /// The role of users whom a first sign-in creates. Without one, no users are created.
        new_user_role: Option<String> = Some("MEMBER".into()),
        /// Email domains whose users are created; empty for all domains of the connection.
        new_user_domains: Option<Vec<String>> = Some(vec!["example.com".into()]),
    }
    /// Users got or lost the role of a rule, because the members of its group changed, or a sign-in named other groups.
    RoleGiven = "ACCOUNT_ROLE_GIVEN" (ROLE_RULE) {
        /// The role that the rule gives.
        role: String = "SUPPORT".into(),
        /// Number of users who now have it from the rule.
        gained: u64 = 1,
        /// Number of users who no longer have it from the rule.
        lost: u64 = 0,
        /// At most 200 of them.
        users: Vec<String> = vec!["usr_01jz2222222222222222222222".into()],
    }
}
