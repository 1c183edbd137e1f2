//! The settings of SSO connections for accounts, and the groups that sign-ins named.

use async_trait::async_trait;
use audit::Unaudited;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::{
    ConnectionAccountStore, ConnectionAccounts, GroupsChanged, RoleRule, RoleRuleStore, RuleChange,
    UserCreation,
};
use kernel::{StoreResult, Timestamp, UserId};
use stepup::StepUpStore;

use crate::{
    Tx,
    db::{change, change_unaudited, read, unaudited},
    directory::role_rules::RuleRow,
    error::corrupt,
    schema::{claimed_groups, connection_accounts as accounts, role_rules},
    text_lists::{elements, json_list, load_texts},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = accounts, treat_none_as_default_value = false)]
struct AccountsRow {
    tenant_id: String,
    provider_id: String,
    groups_claim: Option<String>,
    new_user_role: Option<String>,
    new_user_domains: Option<String>,
}

impl AccountsRow {
    fn read(self) -> StoreResult<ConnectionAccounts> {
        let corrupt = |error| corrupt("connection_accounts.new_user_role", error);
        let role = self.new_user_role.map(|role| role.parse().map_err(corrupt)).transpose()?;
        let domains = self.new_user_domains.unwrap_or_default();
        let email_domains =
            domains.split(' ').filter(|domain| !domain.is_empty()).map(str::to_owned).collect();
        let creation = role.map(|role| UserCreation { role, email_domains });
        Ok(ConnectionAccounts { groups_claim: self.groups_claim, creation })
    }
}

impl Tx {
    /// Deletes the settings of a connection for accounts, its rules, and the groups that its sign-ins named.
    pub(crate) async fn drop_connection_accounts(&mut self, provider: &str) -> StoreResult<()> {
        self.note_own_roles();
        let (tenant, provider) = (self.tenant.as_str().to_owned(), provider.to_owned());
        let claimed = claimed_groups::table
            .filter(claimed_groups::tenant_id.eq(&tenant))
            .filter(claimed_groups::provider_id.eq(&provider));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(claimed).execute(c).await)?;
        let rules = role_rules::table
            .filter(role_rules::tenant_id.eq(&tenant))
            .filter(role_rules::provider_id.eq(&provider));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(rules).execute(c).await)?;
        let row = accounts::table.find((&tenant, &provider));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(row).execute(c).await)?;
        Ok(())
    }

    /// Deletes the groups that a user's sign-ins named.
    pub(crate) async fn forget_claimed_groups(&mut self, user: &UserId) -> StoreResult<()> {
        let rows = claimed_groups::table
            .filter(claimed_groups::tenant_id.eq(self.tenant.as_str()))
            .filter(claimed_groups::user_id.eq(user.as_str()));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(rows).execute(c).await)?;
        Ok(())
    }
}

#[async_trait]
impl ConnectionAccountStore for Tx {
    async fn connection_accounts(&mut self, provider: &str) -> StoreResult<ConnectionAccounts> {
        let row: Option<AccountsRow> = read!(self, c => accounts::table
            .find((self.tenant.as_str(), provider))
            .select(AccountsRow::as_select())
            .first(c).await.optional())?;
        row.map_or_else(|| Ok(ConnectionAccounts::default()), AccountsRow::read)
    }

    async fn set_connection_accounts(
        &mut self,
        provider: &str,
        settings: &ConnectionAccounts,
    ) -> StoreResult<()> {
        let row = accounts::table.find((self.tenant.as_str().to_owned(), provider.to_owned()));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(row).execute(c).await)?;
        let creation = settings.creation.as_ref();
        let row = AccountsRow {
            tenant_id: self.tenant.to_string(),
            provider_id: provider.to_owned(),
            groups_claim: settings.groups_claim.clone(),
            new_user_role: creation.map(|creation| creation.role.to_string()),
            new_user_domains: creation.map(|creation| creation.email_domains.join(" ")),
        };
        let query = diesel::insert_into(accounts::table).values(row);
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn rules_of_connection(&mut self, provider: &str) -> StoreResult<Vec<RoleRule>> {
        let query = role_rules::table
            .filter(role_rules::tenant_id.eq(self.tenant.as_str()))
            .filter(role_rules::provider_id.eq(provider));
        let rows: Vec<RuleRow> = read!(self, c => query.select(RuleRow::as_select()).load(c).await)?;
        rows.into_iter().map(RoleRule::try_from).collect()
    }

    async fn revoke_step_ups(&mut self, user: &UserId, at: Timestamp) -> StoreResult<()> {
        self.revoke_grants(user, at).await.map(drop)
    }

    async fn drop_claimed_groups(
        &mut self,
        provider: &str,
        at: Timestamp,
    ) -> StoreResult<Vec<(RoleRule, u64)>> {
        self.note_own_roles();
        let mut lost = Vec::new();
        for rule in self.rules_of_connection(provider).await? {
            let effect = self.effect_of(&RuleChange { add: None, remove: Some(rule.clone()) }).await?;
            self.revoke_grants_of(&rule.source, at).await?;
            lost.push((rule, effect.lose.count));
        }
        let rows = claimed_groups::table
            .filter(claimed_groups::tenant_id.eq(self.tenant.as_str().to_owned()))
            .filter(claimed_groups::provider_id.eq(provider.to_owned()));
        change_unaudited!(self, Unaudited::PartOfChange, c => diesel::delete(rows).execute(c).await)?;
        Ok(lost)
    }

    async fn replace_claimed_groups(
        &mut self,
        user: &UserId,
        provider: &str,
        groups: &[String],
    ) -> StoreResult<GroupsChanged> {
        let (tenant, dialect) = (self.tenant.clone(), self.db.dialect());
        let (named, each) = (json_list(groups.iter()), elements(dialect, "$4"));
        let parameters = [tenant.as_str(), user.as_str(), provider, &named];
        let delete = format!(
            "DELETE FROM claimed_groups WHERE tenant_id = $1 AND user_id = $2 AND provider_id = $3 \
             AND value NOT IN (SELECT each.value FROM {each}) RETURNING value AS text"
        );
        // Selects the user so that the statement names a tenant, which a distributed database requires.
        let insert = format!(
            "INSERT INTO claimed_groups (tenant_id, user_id, provider_id, value) \
             SELECT users.tenant_id, users.id, $3, each.value FROM users, {each} \
             WHERE users.tenant_id = $1 AND users.id = $2 ON CONFLICT DO NOTHING RETURNING value AS text"
        );
        unaudited(Unaudited::StepTaken);
        let mut left = load_texts(self.db.changing().await?, &delete, &parameters).await?;
        let mut joined = load_texts(self.db.changing().await?, &insert, &parameters).await?;
        left.sort_unstable();
        joined.sort_unstable();
        Ok(GroupsChanged { joined, left })
    }
}
