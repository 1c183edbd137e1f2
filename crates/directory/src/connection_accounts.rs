//! What sign-ins through an SSO connection do with accounts: groups that give roles, and new users.

use async_trait::async_trait;
use kernel::{Email, StoreResult, Timestamp, UserId};

use crate::{
    error::Error,
    own_role::{RoleStore, require_assignable},
    role::{HeldRoles, Role},
    role_rule::{CLAIMED_GROUP_MAX, RoleRule},
};

/// Maximum number of characters of a claim's name.
const CLAIM_MAX: usize = 256;
/// Maximum number of domains.
const DOMAINS_MAX: usize = 100;
/// Maximum number of groups of a user that are kept.
pub const CLAIMED_GROUPS_MAX: usize = 1000;

/// The settings of an SSO connection for accounts. By default, sign-ins neither name groups nor create users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionAccounts {
    /// The claim or attribute with the groups of a user.
    pub groups_claim: Option<String>,
    /// What the first sign-in of an unknown user creates; `None` refuses it.
    pub creation: Option<UserCreation>,
}

/// The user that a first sign-in creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCreation {
    /// The assigned role.
    pub role: Role,
    /// The domains whose users are created, in lower case; empty for all domains of the connection.
    pub email_domains: Vec<String>,
}

impl UserCreation {
    /// Returns whether users with this address are created.
    pub fn covers(&self, email: &Email) -> bool {
        let domain = email.as_str().rsplit_once('@').map_or("", |(_, domain)| domain).to_lowercase();
        self.email_domains.is_empty() || self.email_domains.contains(&domain)
    }
}

/// Stores the settings of SSO connections for accounts, and the groups that sign-ins named.
#[async_trait]
pub trait ConnectionAccountStore: Send {
    /// Returns the settings of a connection.
    async fn connection_accounts(&mut self, provider: &str) -> StoreResult<ConnectionAccounts>;
    /// Sets the settings of a connection.
    async fn set_connection_accounts(
        &mut self,
        provider: &str,
        accounts: &ConnectionAccounts,
    ) -> StoreResult<()>;
    /// Returns the rules for groups that sign-ins through a connection name.
    async fn rules_of_connection(&mut self, provider: &str) -> StoreResult<Vec<RoleRule>>;
    /// Revokes the unused step-up tokens of a user, which were issued for the previous roles.
    async fn revoke_step_ups(&mut self, user: &UserId, at: Timestamp) -> StoreResult<()>;
    /// Deletes the groups that sign-ins through a connection named, and revokes the unused step-up tokens of users who lose a
    /// role by that. Returns the rules, each with the number of users who lose its role.
    async fn drop_claimed_groups(
        &mut self,
        provider: &str,
        at: Timestamp,
    ) -> StoreResult<Vec<(RoleRule, u64)>>;
    /// Replaces the groups that the user's last sign-in through a connection named.
    async fn replace_claimed_groups(
        &mut self,
        user: &UserId,
        provider: &str,
        groups: &[String],
    ) -> StoreResult<GroupsChanged>;
}

/// How the groups that a sign-in named differ from those of the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupsChanged {
    /// Groups that are new.
    pub joined: Vec<String>,
    /// Groups that are no longer named.
    pub left: Vec<String>,
}

impl ConnectionAccounts {
    /// Validates the settings. `domains` are those of the connection.
    pub async fn check<S: RoleStore>(
        &self,
        store: &mut S,
        by: &HeldRoles,
        domains: &[String],
    ) -> Result<(), Error> {
        if let Some(claim) = &self.groups_claim {
            let fits = (1..=CLAIM_MAX).contains(&claim.chars().count());
            if !fits || claim.trim() != claim || claim.chars().any(char::is_control) {
                return Err(Error::GroupsClaim);
            }
        }
        let Some(creation) = &self.creation else { return Ok(()) };
        if creation.email_domains.len() > DOMAINS_MAX {
            return Err(Error::CreationDomain(String::new()));
        }
        if let Some(other) = creation.email_domains.iter().find(|domain| !domains.contains(domain)) {
            return Err(Error::CreationDomain(other.clone()));
        }
        require_assignable(store, by, &creation.role).await
    }
}

/// Returns the groups to keep of those that a sign-in named: each once, none that no rule can name, and at most
/// [`CLAIMED_GROUPS_MAX`], those first for which there are rules.
pub fn kept_groups<'g>(named: impl IntoIterator<Item = &'g str>, ruled: &[&str]) -> Vec<String> {
    let fits = |group: &&str| {
        let is_short = group.chars().count() <= CLAIMED_GROUP_MAX;
        is_short && !group.trim().is_empty() && !group.chars().any(char::is_control)
    };
    let mut groups: Vec<&str> = named.into_iter().filter(fits).collect();
    groups.sort_unstable();
    groups.dedup();
    groups.sort_by_key(|group| !ruled.contains(group));
    groups.truncate(CLAIMED_GROUPS_MAX);
    groups.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_with_rules_are_kept_first() {
        let many: Vec<String> = (0..2000).map(|number| format!("g{number:04}")).collect();
        let named = many.iter().map(String::as_str).chain(["", " ", "g0001", "a\0b", "zz"]);
        let kept = kept_groups(named, &["zz", "g1999"]);
        assert_eq!(kept.len(), CLAIMED_GROUPS_MAX);
        assert_eq!(kept[..3], ["g1999", "zz", "g0000"]);
        assert_eq!(kept.iter().filter(|group| *group == "g0001").count(), 1);
        let long = "x".repeat(257);
        assert!(kept_groups([long.as_str()], &[]).is_empty());
    }

    #[test]
    fn users_of_chosen_domains_are_created() {
        let creation = |domains: &[&str]| UserCreation {
            role: Role::Member,
            email_domains: domains.iter().map(ToString::to_string).collect(),
        };
        let email: Email = "Ada@Corp.example".parse().unwrap();
        assert!(creation(&[]).covers(&email) && creation(&["corp.example"]).covers(&email));
        assert!(!creation(&["other.example"]).covers(&email));
    }
}
