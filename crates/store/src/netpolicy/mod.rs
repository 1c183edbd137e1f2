//! Network policies of tenants.

pub(crate) mod mark;

use async_trait::async_trait;
use chrono::NaiveDateTime;
use diesel::{dsl, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};
use netpolicy::{NetworkPolicyStore, Rule, RuleId, Settings};

use self::mark::NetworkMark;
use crate::{
    Tx,
    db::{change, lock, read},
    error::corrupt,
    json::{JsonText, json_text},
    prepared::Prepared,
    schema::{network_rules as rows, tenants},
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = rows, treat_none_as_default_value = false)]
struct RuleRow {
    tenant_id: String,
    id: String,
    cidr: String,
    label: String,
    created_at: NaiveDateTime,
}

impl TryFrom<RuleRow> for Rule {
    type Error = StoreError;

    fn try_from(row: RuleRow) -> StoreResult<Self> {
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("network_rules.id", error))?,
            cidr: row.cidr.parse().map_err(|error| corrupt("network_rules.cidr", error))?,
            label: row.label,
            created_at: Timestamp::from_naive(row.created_at),
        })
    }
}

impl Tx {
    /// Reads the settings and locks them until the end of the unit of work.
    async fn network_mark_to_change(&mut self) -> StoreResult<NetworkMark> {
        let query = tenants::table.find(self.tenant.as_str()).select(tenants::network_policy);
        let stored: Option<Option<JsonText>> = lock!(self, for_update, first, query)?;
        NetworkMark::of(stored.flatten())
    }

    /// Stores new settings, if any, and increments the version.
    async fn set_network_mark(&mut self, settings: Option<Settings>) -> StoreResult<()> {
        let before = self.network_mark_to_change().await?;
        let mark = NetworkMark { settings: settings.unwrap_or(before.settings), version: before.version + 1 };
        let text = json_text("tenants.network_policy", &mark)?;
        let row = tenants::table.find(self.tenant.as_str());
        let query = Prepared(diesel::update(row).set(tenants::network_policy.eq(text)));
        if change!(self, c => query.execute(c).await)? != 1 {
            return Err(StoreError::Aborted("the tenant of the policy does not exist"));
        }
        Ok(())
    }
}

#[async_trait]
impl NetworkPolicyStore for Tx {
    async fn network_settings(&mut self) -> StoreResult<Settings> {
        let query = tenants::table.find(self.tenant.as_str()).select(tenants::network_policy);
        let stored: Option<Option<JsonText>> = read!(self, c => query.first(c).await.optional())?;
        NetworkMark::of(stored.flatten()).map(|mark| mark.settings)
    }

    async fn network_settings_to_change(&mut self) -> StoreResult<Settings> {
        self.network_mark_to_change().await.map(|mark| mark.settings)
    }

    async fn set_network_settings(&mut self, settings: &Settings) -> StoreResult<()> {
        self.set_network_mark(Some(*settings)).await
    }

    async fn network_policy(&mut self) -> StoreResult<(Settings, Vec<Rule>)> {
        let query = tenants::table
            .left_join(rows::table.on(rows::tenant_id.eq(tenants::id)))
            .filter(tenants::id.eq(self.tenant.as_str()))
            .order(rows::id);
        let found: Vec<(Option<JsonText>, Option<RuleRow>)> = read!(self, c => query
            .select((tenants::network_policy, Option::<RuleRow>::as_select()))
            .load(c).await)?;
        let (mut stored, mut rules) = (None, Vec::new());
        for (policy, rule) in found {
            stored = policy;
            rules.extend(rule.map(Rule::try_from).transpose()?);
        }
        Ok((NetworkMark::of(stored)?.settings, rules))
    }

    async fn network_rules(&mut self) -> StoreResult<Vec<Rule>> {
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).order(rows::id);
        let found: Vec<RuleRow> = read!(self, c => query.select(RuleRow::as_select()).load(c).await)?;
        found.into_iter().map(Rule::try_from).collect()
    }

    async fn network_rule(&mut self, id: &RuleId) -> StoreResult<Option<Rule>> {
        let row = rows::table.find((self.tenant.as_str(), id.as_str()));
        let found: Option<RuleRow> =
            read!(self, c => row.select(RuleRow::as_select()).first(c).await.optional())?;
        found.map(Rule::try_from).transpose()
    }

    async fn count_network_rules(&mut self) -> StoreResult<usize> {
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    async fn insert_network_rule(&mut self, rule: &Rule) -> StoreResult<bool> {
        let row = RuleRow {
            tenant_id: self.tenant.to_string(),
            id: rule.id.to_string(),
            cidr: rule.cidr.to_string(),
            label: rule.label.clone(),
            created_at: rule.created_at.naive(),
        };
        let query = diesel::insert_into(rows::table).values(&row).on_conflict_do_nothing();
        let inserted = change!(self, c => query.execute(c).await)? == 1;
        if inserted {
            self.set_network_mark(None).await?;
        }
        Ok(inserted)
    }

    async fn rename_network_rule(&mut self, rule: &Rule) -> StoreResult<()> {
        let row = rows::table.find((self.tenant.as_str(), rule.id.as_str()));
        let query = Prepared(diesel::update(row).set(rows::label.eq(rule.label.as_str())));
        change!(self, c => query.execute(c).await)?;
        Ok(())
    }

    async fn delete_network_rule(&mut self, id: &RuleId) -> StoreResult<()> {
        let row = rows::table.find((self.tenant.as_str(), id.as_str()));
        if change!(self, c => dsl::delete(row).execute(c).await)? == 1 {
            self.set_network_mark(None).await?;
        }
        Ok(())
    }
}
