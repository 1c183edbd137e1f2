//! Rules that give roles to groups, and the groups that sign-ins name.

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::{
    Affected, LISTED, Role, RoleRule, RoleRuleId, RoleRuleStore, RuleChange, RuleEffect, RuleSource,
};
use kernel::{GroupId, StoreError, StoreResult, Timestamp, UserId};

use crate::{
    Tx,
    db::{change, lock, read},
    dialect::Dialect,
    directory::held_roles::{applying_rules, columns_of},
    error::corrupt,
    schema::{claimed_groups, group_members, groups, oidc_providers, role_rules, saml_providers, users},
    scim_core::filter::SqlCondition,
    stepup::revoke_step_ups,
    text_lists::json_list,
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = role_rules, treat_none_as_default_value = false)]
pub(crate) struct RuleRow {
    tenant_id: String,
    id: String,
    role: String,
    group_id: Option<String>,
    provider_id: Option<String>,
    value: Option<String>,
    created_at: NaiveDateTime,
}

impl TryFrom<RuleRow> for RoleRule {
    type Error = StoreError;

    fn try_from(row: RuleRow) -> StoreResult<Self> {
        let source = match (row.group_id, row.provider_id, row.value) {
            (Some(group), None, None) => {
                RuleSource::Group(group.parse().map_err(|error| corrupt("role_rules.group_id", error))?)
            }
            (None, Some(provider), Some(value)) => RuleSource::Claim { provider, value },
            _ => return Err(corrupt("role_rules", "neither a group nor a claim")),
        };
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("role_rules.id", error))?,
            source,
            role: row.role.parse().map_err(|error| corrupt("role_rules.role", error))?,
            created_at: Timestamp::from_naive(row.created_at),
        })
    }
}

/// Returns the condition that a column has one of the texts in this JSON array. Unlike `IN (…)`, the statement is the same
/// for any number of them.
fn one_of(dialect: Dialect, column: &str, texts: &str) -> SqlCondition {
    let mut out = SqlCondition::new();
    out.sql(column);
    match dialect {
        Dialect::Postgres => {
            out.sql(" IN (SELECT json_array_elements_text(");
            out.text(texts);
            out.sql("::json))");
        }
        Dialect::Sqlite => {
            out.sql(" IN (SELECT value FROM json_each(");
            out.text(texts);
            out.sql("))");
        }
    }
    out.finish()
}

/// Conditions on rows of `users`.
struct Condition(SqlCondition);

impl Condition {
    fn new() -> Self {
        Self(SqlCondition::new())
    }

    fn sql(mut self, text: &str) -> Self {
        self.0.sql(text);
        self
    }

    fn text(mut self, value: &str) -> Self {
        self.0.text(value);
        self
    }

    /// The users who get the role of a rule with this source.
    fn of_source(self, tenant: &str, source: &RuleSource) -> Self {
        match source {
            RuleSource::Group(group) => self
                .sql("users.id IN (SELECT mine.user_id FROM group_members AS mine WHERE mine.tenant_id = ")
                .text(tenant)
                .sql(" AND mine.group_id = ")
                .text(group.as_str())
                .sql(")"),
            RuleSource::Claim { provider, value } => self
                .sql("users.id IN (SELECT mine.user_id FROM claimed_groups AS mine WHERE mine.tenant_id = ")
                .text(tenant)
                .sql(" AND mine.provider_id = ")
                .text(provider)
                .sql(" AND mine.value = ")
                .text(value)
                .sql(")"),
        }
    }

    /// Appends SQL in which `{tenant}` stands for the tenant.
    fn within(self, tenant: &str, sql: &str) -> Self {
        let mut pieces = sql.split("{tenant}");
        let first = self.sql(pieces.next().unwrap_or_default());
        pieces.fold(first, |condition, piece| condition.text(tenant).sql(piece))
    }

    /// The users who have the role, not counting this rule.
    fn having(self, tenant: &str, role: &Role, except: Option<&RoleRuleId>) -> Self {
        let with = match columns_of(role) {
            (_, Some(other)) => self.sql("(COALESCE(users.other_role, '') = ").text(other),
            (role, None) => self.sql("(users.role = ").text(role),
        };
        with.within(tenant, concat!(" OR EXISTS (SELECT 1 FROM ", applying_rules!(), " AND rules.role = "))
            .text(role.as_str())
            .sql(" AND rules.id <> ")
            .text(except.map_or("", RoleRuleId::as_str))
            .sql("))")
    }
}

impl Tx {
    async fn affected(&mut self, condition: Condition) -> StoreResult<Affected> {
        let condition = condition.0.finish();
        let matching = users::table
            .filter(users::tenant_id.eq(self.tenant.as_str().to_owned()))
            .filter(users::deleted_at.is_null())
            .filter(condition);
        let listed = i64::try_from(LISTED).unwrap_or(i64::MAX);
        let first = matching.clone().select(users::id).limit(listed);
        let first: Vec<String> = read!(self, c => first.load(c).await)?;
        let count = if first.len() < LISTED {
            first.len() as u64
        } else {
            let count: i64 = read!(self, c => matching.count().get_result(c).await)?;
            count.unsigned_abs()
        };
        let parse = |id: String| id.parse().map_err(|error| corrupt("users.id", error));
        let mut first = first.into_iter().map(parse).collect::<StoreResult<Vec<UserId>>>()?;
        first.sort();
        Ok(Affected { count, first })
    }

    /// Returns the rules for a group.
    pub async fn role_rules_of_group(&mut self, group: &GroupId) -> StoreResult<Vec<RoleRule>> {
        let query = role_rules::table
            .filter(role_rules::tenant_id.eq(self.tenant.as_str()))
            .filter(role_rules::group_id.eq(group.as_str()));
        let rows: Vec<RuleRow> = read!(self, c => query.select(RuleRow::as_select()).load(c).await)?;
        rows.into_iter().map(RoleRule::try_from).collect()
    }

    /// Revokes the unused step-up tokens of all users who have a role.
    pub(crate) async fn revoke_grants_of_holders(&mut self, role: &Role, at: Timestamp) -> StoreResult<()> {
        let tenant = self.tenant.to_string();
        let of = |column: &str| {
            let holders = format!("{column} IN (SELECT users.id FROM users WHERE users.tenant_id = ");
            Condition::new()
                .sql(&holders)
                .text(&tenant)
                .sql(" AND ")
                .having(&tenant, role, None)
                .sql(")")
                .0
                .finish()
        };
        let of = (of("step_up_challenges.user_id"), of("step_up_tokens.user_id"));
        revoke_step_ups!(self, at, of)?;
        Ok(())
    }

    /// Revokes the unused step-up tokens of these users.
    pub async fn revoke_grants_of_users(&mut self, users: &[UserId], at: Timestamp) -> StoreResult<()> {
        if users.is_empty() {
            return Ok(());
        }
        let (dialect, ids) = (self.db.dialect(), json_list(users.iter().map(UserId::as_str)));
        let of = ["step_up_challenges.user_id", "step_up_tokens.user_id"]
            .map(|column| one_of(dialect, column, &ids));
        let [of_challenges, of_tokens] = of;
        revoke_step_ups!(self, at, (of_challenges, of_tokens))?;
        Ok(())
    }
}

#[async_trait]
impl RoleRuleStore for Tx {
    async fn role_rules(&mut self) -> StoreResult<Vec<RoleRule>> {
        let query =
            role_rules::table.filter(role_rules::tenant_id.eq(self.tenant.as_str())).order(role_rules::id);
        let rows: Vec<RuleRow> = read!(self, c => query.select(RuleRow::as_select()).load(c).await)?;
        rows.into_iter().map(RoleRule::try_from).collect()
    }

    async fn role_rule(&mut self, id: &RoleRuleId) -> StoreResult<Option<RoleRule>> {
        let query = role_rules::table.find((self.tenant.as_str(), id.as_str()));
        let row: Option<RuleRow> = lock!(self, for_update, first, query.select(RuleRow::as_select()))?;
        row.map(RoleRule::try_from).transpose()
    }

    async fn has_source(&mut self, source: &RuleSource) -> StoreResult<bool> {
        let tenant = self.tenant.as_str().to_owned();
        match source {
            RuleSource::Group(group) => {
                let query = groups::table.find((tenant, group.as_str())).select(groups::id);
                let found: Option<String> = read!(self, c => query.first(c).await.optional())?;
                Ok(found.is_some())
            }
            RuleSource::Claim { provider, .. } => {
                // Locked, so that a connection which is being removed gets no rule.
                let saml = saml_providers::table.find((tenant.clone(), provider.clone()));
                let saml: Option<String> = lock!(self, for_update, first, saml.select(saml_providers::id))?;
                let oidc = oidc_providers::table.find((tenant, provider.clone()));
                let oidc: Option<String> = lock!(self, for_update, first, oidc.select(oidc_providers::id))?;
                Ok(saml.or(oidc).is_some())
            }
        }
    }

    async fn insert_role_rule(&mut self, rule: &RoleRule) -> StoreResult<bool> {
        self.note_own_roles();
        let (group_id, provider_id, value) = match &rule.source {
            RuleSource::Group(group) => (Some(group.to_string()), None, None),
            RuleSource::Claim { provider, value } => (None, Some(provider.clone()), Some(value.clone())),
        };
        let row = RuleRow {
            tenant_id: self.tenant.to_string(),
            id: rule.id.to_string(),
            role: rule.role.to_string(),
            group_id,
            provider_id,
            value,
            created_at: rule.created_at.naive(),
        };
        let query = diesel::insert_into(role_rules::table).values(row).on_conflict_do_nothing();
        Ok(change!(self, c => query.execute(c).await)? == 1)
    }

    async fn delete_role_rule(&mut self, id: &RoleRuleId) -> StoreResult<()> {
        self.note_own_roles();
        let row = role_rules::table.find((self.tenant.as_str(), id.as_str()));
        change!(self, c => diesel::delete(row).execute(c).await)?;
        Ok(())
    }

    async fn effect_of(&mut self, change: &RuleChange) -> StoreResult<RuleEffect> {
        let tenant = self.tenant.to_string();
        let mut effect = RuleEffect::default();
        if let Some((source, role)) = &change.add {
            let gaining =
                Condition::new().of_source(&tenant, source).sql(" AND NOT ").having(&tenant, role, None);
            effect.gain = self.affected(gaining).await?;
        }
        if let Some(rule) = &change.remove {
            let mut losing = Condition::new().of_source(&tenant, &rule.source).sql(" AND NOT ").having(
                &tenant,
                &rule.role,
                Some(&rule.id),
            );
            if let Some((source, _)) = change.add.as_ref().filter(|(_, role)| *role == rule.role) {
                losing = losing.sql(" AND NOT ").of_source(&tenant, source);
            }
            effect.lose = self.affected(losing).await?;
        }
        Ok(effect)
    }

    async fn revoke_grants_of(&mut self, source: &RuleSource, at: Timestamp) -> StoreResult<()> {
        use crate::schema::{step_up_challenges as challenges, step_up_tokens as tokens};
        let tenant = self.tenant.to_string();
        match source {
            RuleSource::Group(group) => {
                let members = group_members::table
                    .filter(group_members::tenant_id.eq(tenant))
                    .filter(group_members::group_id.eq(group.to_string()))
                    .select(group_members::user_id);
                let of = (challenges::user_id.eq_any(members.clone()), tokens::user_id.eq_any(members));
                revoke_step_ups!(self, at, of)?;
            }
            RuleSource::Claim { provider, value } => {
                let claiming = claimed_groups::table
                    .filter(claimed_groups::tenant_id.eq(tenant))
                    .filter(claimed_groups::provider_id.eq(provider.clone()))
                    .filter(claimed_groups::value.eq(value.clone()))
                    .select(claimed_groups::user_id);
                let of = (challenges::user_id.eq_any(claiming.clone()), tokens::user_id.eq_any(claiming));
                revoke_step_ups!(self, at, of)?;
            }
        }
        Ok(())
    }
}
