//! Searches of the audit log.

use std::time::Instant;

use async_trait::async_trait;
use audit::{AuditQueryStore, Filter, ListedEntry, Position, Span, StoredEntry};
use chrono::NaiveDateTime;
use diesel::{
    dsl::sql,
    prelude::*,
    sql_query,
    sql_types::{self, BigInt, Nullable, Text},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};

use super::{
    entry_row::EntryRow,
    log::{number, read_position},
};
use crate::{
    Tx,
    conn::on_each,
    db::read,
    dialect::Dialect,
    prepared::Prepared,
    schema::{audit_entries as rows, audit_logs, audit_sealed},
    scim_core::filter::SqlCondition,
};

/// The name of the actor: a user who is not deleted, a SCIM token, or an SSO connection. Each subquery names the
/// tenant, because a distributed database would otherwise run it on every node.
macro_rules! actor_name {
    ($tenant:expr) => {
        sql::<Nullable<Text>>("COALESCE((SELECT users.user_name FROM users WHERE users.tenant_id = ")
            .bind::<Text, _>($tenant)
            .sql(
                " AND users.id = audit_entries.actor_id AND users.deleted_at IS NULL), \
                 (SELECT scim_tokens.name FROM scim_tokens WHERE scim_tokens.tenant_id = ",
            )
            .bind::<Text, _>($tenant)
            .sql(
                " AND scim_tokens.id = audit_entries.actor_id), \
                 (SELECT saml_providers.document ->> 'name' FROM saml_providers \
                 WHERE saml_providers.tenant_id = ",
            )
            .bind::<Text, _>($tenant)
            .sql(
                " AND saml_providers.id = audit_entries.actor_id), \
                 (SELECT oidc_providers.document ->> 'name' FROM oidc_providers \
                 WHERE oidc_providers.tenant_id = ",
            )
            .bind::<Text, _>($tenant)
            .sql(" AND oidc_providers.id = audit_entries.actor_id))")
    };
}

/// Loads matching entries, newest first, with the names of their actors.
macro_rules! with_names {
    ($tx:expr, $matching:expr) => {{
        let tenant = $tx.tenant.as_str().to_owned();
        let query = $matching.filter(rows::tenant_id.eq(&tenant));
        let query = query.order((rows::created_at.desc(), rows::id.desc()));
        read!($tx, c => query.select((EntryRow::as_select(), actor_name!(&tenant))).load(c).await)
    }};
}

/// Counts entries in a time range, up to a limit. Answered by an index alone.
const COUNT: &str = "SELECT count(*) AS count FROM (SELECT 1 FROM audit_entries \
    WHERE tenant_id = $1 AND created_at >= $2 AND created_at < $3 LIMIT $4) AS few";

/// The same for one action.
const COUNT_ACTION: &str = "SELECT count(*) AS count FROM (SELECT 1 FROM audit_entries \
    WHERE tenant_id = $1 AND created_at >= $2 AND created_at < $3 AND action = $5 LIMIT $4) AS few";

#[derive(QueryableByName)]
struct EntryCount {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// The index that a search uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntrySelection<'f> {
    /// The filter's own columns, and this action code.
    Own(Option<&'f str>),
    /// Another order: each entry is compared with the filter.
    Nothing,
}

/// Builds the condition for a filter between two positions, restricted to the code in `by`, if any.
///
/// One column selects the index, in this order of preference: resource, actor, single code, time. The other
/// conditions are checked on each entry found.
fn condition(
    dialect: Dialect,
    filter: &Filter,
    by: EntrySelection<'_>,
    Span { after, until }: Span<'_>,
) -> SqlCondition {
    let mut condition = SqlCondition::new();
    condition.sql("1 = 1");
    let action = if let EntrySelection::Own(action) = by { action } else { None };
    let single = [
        ("resource_id", filter.resource_id.as_deref()),
        ("actor_id", filter.actor.as_deref()),
        ("action", action),
    ];
    let mut found = by == EntrySelection::Nothing;
    for (column, value) in single {
        let Some(value) = value else { continue };
        push_column(&mut condition, dialect, column, found);
        condition.sql(" = ");
        condition.text(value);
        found = true;
    }
    if let Some(kind) = &filter.resource_type {
        push_column(&mut condition, dialect, "resource_type", true);
        condition.sql(" = ");
        condition.text(kind);
    }
    if let (Some(actions), None) = (&filter.actions, action) {
        push_column(&mut condition, dialect, "action", true);
        condition.sql(" IN (");
        for (index, action) in actions.iter().enumerate() {
            condition.sql(if index == 0 { "" } else { ", " });
            condition.text(action);
        }
        condition.sql(")");
    }
    // A position is stricter than the filter's time.
    for (operator, time, position) in [(">=", filter.from, until), ("<", filter.to, after)] {
        if let Some(time) = time.filter(|_| position.is_none()) {
            push_column(&mut condition, dialect, "created_at", by == EntrySelection::Nothing);
            condition.sql(&format!(" {operator} "));
            condition.time(time.naive());
        }
    }
    for (operator, position) in [("<", after), (">=", until)] {
        if let Some(Position { timestamp, id }) = position {
            condition.sql(&format!(" AND (audit_entries.created_at, audit_entries.id) {operator} ("));
            condition.time(timestamp.naive());
            condition.sql(", ");
            condition.text(id);
            condition.sql(")");
        }
    }
    if let Some(text) = &filter.text {
        let collation = if dialect == Dialect::Postgres { " COLLATE \"C\"" } else { "" };
        condition.sql(&format!(
            " AND lower((audit_entries.action || ' ' || audit_entries.resource_type || ' ' || \
             audit_entries.resource_id || ' ' || CAST(audit_entries.metadata AS TEXT)){collation}) LIKE "
        ));
        condition.text(&format!("%{}%", escaped(text)));
        condition.sql(" ESCAPE '!'");
    }
    condition.finish()
}

/// Writes the name of a column. With `beside`, a `+` keeps SQLite from using that column's index.
fn push_column(condition: &mut SqlCondition, dialect: Dialect, column: &str, beside: bool) {
    let beside = if beside && dialect == Dialect::Sqlite { "+" } else { "" };
    condition.sql(&format!(" AND {beside}audit_entries.{column}"));
}

/// Returns the filter's code if it has exactly one.
fn only(filter: &Filter) -> Option<&str> {
    match filter.actions.as_deref() {
        Some([action]) => Some(action),
        _ => None,
    }
}

/// Escapes a text for a LIKE pattern.
fn escaped(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}

impl Tx {
    /// Returns matching entries, newest first, without the names of their actors.
    pub(crate) async fn in_order(
        &mut self,
        filter: &Filter,
        span: Span<'_>,
        limit: usize,
    ) -> StoreResult<Vec<ListedEntry>> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(condition(self.db.dialect(), filter, EntrySelection::Own(only(filter)), span))
            .order((rows::created_at.desc(), rows::id.desc()))
            .limit(i64::try_from(limit).unwrap_or(i64::MAX));
        let found: Vec<EntryRow> = read!(self, c => query.select(EntryRow::as_select()).load(c).await)?;
        Ok(found.into_iter().map(|row| listed((row, None))).collect())
    }

    /// Returns the IDs of the newest entries with a few codes. Each code is read by its own index, pipelined where the
    /// database supports it, and the newest are merged: one statement for all codes would sort all their rows.
    async fn newest_of_codes(
        &mut self,
        filter: &Filter,
        span: Span<'_>,
        limit: usize,
    ) -> StoreResult<Vec<String>> {
        let (tenant, dialect) = (self.tenant.as_str().to_owned(), self.db.dialect());
        let queries = filter.actions.iter().flatten().map(|action| {
            rows::table
                .filter(rows::tenant_id.eq(&tenant))
                .filter(condition(dialect, filter, EntrySelection::Own(Some(action.as_str())), span))
                .order((rows::created_at.desc(), rows::id.desc()))
                .limit(i64::try_from(limit).unwrap_or(i64::MAX))
                .select((rows::created_at, rows::id))
        });
        let queries: Vec<_> = queries.collect();
        let found: Vec<Vec<(NaiveDateTime, String)>> =
            on_each!(self.db.reading().await?, queries, query, c => query.load(c).await)?;
        let mut newest = found.concat();
        newest.sort_unstable_by(|one, other| other.cmp(one));
        newest.truncate(limit);
        Ok(newest.into_iter().map(|(_, id)| id).collect())
    }

    /// Counts matching entries between two positions.
    pub(crate) async fn count_of(&mut self, filter: &Filter, span: Span<'_>) -> StoreResult<usize> {
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(condition(self.db.dialect(), filter, EntrySelection::Own(only(filter)), span))
            .count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(usize::try_from(count).unwrap_or_default())
    }
}

fn listed((row, actor_name): (EntryRow, Option<String>)) -> ListedEntry {
    ListedEntry { entry: StoredEntry::from(row), actor_name }
}

#[async_trait]
impl AuditQueryStore for Tx {
    async fn entries(
        &mut self,
        filter: &Filter,
        span: Span<'_>,
        limit: usize,
    ) -> StoreResult<Vec<ListedEntry>> {
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let found: Vec<(EntryRow, Option<String>)> = if filter.is_of_few_codes() && only(filter).is_none() {
            let ids = self.newest_of_codes(filter, span, limit).await?;
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            with_names!(self, rows::table.filter(rows::id.eq_any(ids)))?
        } else {
            let matching = condition(self.db.dialect(), filter, EntrySelection::Own(only(filter)), span);
            with_names!(self, rows::table.filter(matching).limit(most))?
        };
        Ok(found.into_iter().map(listed).collect())
    }

    async fn further(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        count: usize,
    ) -> StoreResult<Option<Position>> {
        let Some(before) = count.checked_sub(1).and_then(|before| i64::try_from(before).ok()) else {
            return Ok(None);
        };
        let query = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(condition(
                self.db.dialect(),
                filter,
                EntrySelection::Own(only(filter)),
                Span { after, until: None },
            ))
            .order((rows::created_at.desc(), rows::id.desc()))
            .select((rows::created_at, rows::id))
            .offset(before);
        let found: Option<(NaiveDateTime, String)> = read!(self, c => query.first(c).await.optional())?;
        Ok(found.map(|(time, id)| Position { timestamp: Timestamp::from_naive(time), id }))
    }

    async fn count(
        &mut self,
        action: Option<&str>,
        from: Timestamp,
        to: Timestamp,
        most: usize,
    ) -> StoreResult<usize> {
        let text = if action.is_some() { COUNT_ACTION } else { COUNT };
        let text = match self.db.dialect() {
            Dialect::Postgres => text.to_owned(),
            Dialect::Sqlite => text.replace(['$'], "?"),
        };
        let query = sql_query(text)
            .bind::<Text, _>(self.tenant.as_str())
            .bind::<sql_types::Timestamp, _>(from.naive())
            .bind::<sql_types::Timestamp, _>(to.naive())
            .bind::<BigInt, _>(i64::try_from(most).unwrap_or(i64::MAX));
        let counted: EntryCount = if let Some(action) = action {
            let query = Prepared(query.bind::<Text, _>(action));
            read!(self, c => query.get_result(c).await)?
        } else {
            let query = Prepared(query);
            read!(self, c => query.get_result(c).await)?
        };
        Ok(usize::try_from(counted.count).unwrap_or_default())
    }

    fn has_time(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    async fn sealed_size(&mut self) -> StoreResult<u64> {
        let query = audit_logs::table.find(self.tenant.as_str()).select(audit_logs::size);
        let size: Option<i64> = read!(self, c => query.first(c).await.optional())?;
        read_position("audit_logs.size", size.unwrap_or_default())
    }

    async fn sealed_entries(
        &mut self,
        filter: &Filter,
        from: u64,
        to: u64,
        limit: usize,
    ) -> StoreResult<Vec<(u64, ListedEntry)>> {
        let tenant = self.tenant.as_str().to_owned();
        let query = audit_sealed::table
            .inner_join(
                rows::table
                    .on(rows::tenant_id.eq(audit_sealed::tenant_id).and(rows::id.eq(audit_sealed::entry_id))),
            )
            .filter(audit_sealed::tenant_id.eq(&tenant))
            .filter(audit_sealed::sequence.ge(number(from)))
            .filter(audit_sealed::sequence.lt(number(to)))
            .filter(condition(self.db.dialect(), filter, EntrySelection::Nothing, Span::default()))
            .order(audit_sealed::sequence)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX));
        let found: Vec<(i64, EntryRow, Option<String>)> = read!(self, c => query
            .select((audit_sealed::sequence, EntryRow::as_select(), actor_name!(&tenant)))
            .load(c).await)?;
        let one = |(sequence, row, name)| {
            Ok((read_position("audit_sealed.sequence", sequence)?, listed((row, name))))
        };
        found.into_iter().map(one).collect()
    }
}
