//! Compiles a filter to an SQL condition.

use kernel::TenantId;
use scim_core::{
    Filter,
    filter::{Operand, Operator, TextOperand},
    schema::AttrPath,
};

use super::{
    SqlCondition,
    places::{Row, Scope, ValueLocation, folded_json, json_path},
};
use crate::dialect::Dialect;
use crate::scim_core::list::Slice;

/// The table that is filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Users,
    Groups,
}

/// The resources to filter: table, tenant and dialect.
pub(crate) struct FilterScope<'a> {
    pub(crate) kind: Kind,
    pub(crate) dialect: Dialect,
    pub(crate) tenant: &'a TenantId,
}

impl FilterScope<'_> {
    /// Builds the condition for a filter.
    pub(crate) fn matching(&self, filter: Option<&Filter>) -> SqlCondition {
        let mut out = SqlCondition::new();
        self.live(&mut out, self.table());
        self.filtered(out, filter)
    }

    /// Builds the condition for a page. The caller applies [`Slice::offset`].
    pub(crate) fn page(&self, filter: Option<&Filter>, slice: &Slice) -> SqlCondition {
        let mut out = SqlCondition::new();
        let table = self.table();
        if let Some(skip) = slice.skip {
            out.sql(&format!("({table}.tenant_id = "));
            out.text(self.tenant.as_str());
            out.sql(&format!(" AND {table}.id IN (SELECT near.id FROM {table} AS near WHERE "));
            self.live(&mut out, "near");
            out.sql(" ORDER BY near.id LIMIT ");
            out.number(slice.limit);
            out.sql(" OFFSET ");
            out.number(skip);
            out.sql("))");
            return out.finish();
        }
        self.live(&mut out, table);
        if let Some(after) = slice.after() {
            out.sql(&format!(" AND {table}.id > "));
            out.text(after);
        }
        self.filtered(out, filter)
    }

    fn table(&self) -> &'static str {
        match self.kind {
            Kind::Users => "users",
            Kind::Groups => "groups",
        }
    }

    /// Restricts to the tenant's resources that are not deleted.
    fn live(&self, out: &mut SqlCondition, name: &str) {
        if self.kind == Kind::Users {
            out.sql(&format!("{name}.deleted_at IS NULL AND "));
        }
        out.sql(&format!("{name}.tenant_id = "));
        out.text(self.tenant.as_str());
    }

    fn filtered(&self, out: SqlCondition, filter: Option<&Filter>) -> SqlCondition {
        let Some(filter) = filter else { return out.finish() };
        let mut compiler = Compiler { dialect: self.dialect, tenant: self.tenant, out };
        compiler.out.sql(" AND ");
        let scope = match self.kind {
            Kind::Users => Scope::Users,
            Kind::Groups => Scope::Groups,
        };
        compiler.write(scope, filter, false);
        compiler.out.finish()
    }
}

struct Compiler<'a> {
    dialect: Dialect,
    tenant: &'a TenantId,
    out: SqlCondition,
}

impl Compiler<'_> {
    /// Writes the filter or its negation. NULL counts as false, so NOT is never written around a comparison, where
    /// NULL would stay NULL.
    fn write(&mut self, scope: Scope, filter: &Filter, negated: bool) {
        match filter {
            Filter::And(all) => self.list(scope, all, negated, true),
            Filter::Or(all) => self.list(scope, all, negated, false),
            Filter::Not(filter) => self.write(scope, filter, !negated),
            Filter::Present(path) => self.present(scope, *path, negated),
            Filter::Compare { path, operator: Operator::Ne, operand } => {
                self.compare(scope, *path, Operator::Eq, operand, !negated);
            }
            Filter::Compare { path, operator, operand } => {
                self.compare(scope, *path, *operator, operand, negated);
            }
            Filter::Any { path, filter } => self.any(scope, *path, filter, negated),
        }
    }

    fn list(&mut self, scope: Scope, all: &[Filter], negated: bool, and: bool) {
        if all.is_empty() {
            self.constant(scope, and != negated);
            return;
        }
        let between = if and == negated { " OR " } else { " AND " };
        self.out.sql("(");
        for (number, filter) in all.iter().enumerate() {
            if number > 0 {
                self.out.sql(between);
            }
            self.write(scope, filter, negated);
        }
        self.out.sql(")");
    }

    fn constant(&mut self, scope: Scope, holds: bool) {
        self.out.sql(match scope {
            _ if holds => "(1 = 1)",
            // A distributed database cannot plan a subquery whose condition is known to be false.
            Scope::GroupOfUser | Scope::MemberOfGroup => "(m.user_id < '')",
            _ => "(1 = 0)",
        });
    }

    fn present(&mut self, scope: Scope, path: AttrPath, negated: bool) {
        match self.dialect.place(scope, path) {
            ValueLocation::Always | ValueLocation::Value { nullable: false, .. } => {
                self.constant(scope, !negated);
            }
            ValueLocation::Value { sql, .. } => {
                self.out.sql(&format!("({sql} IS {}NULL)", if negated { "" } else { "NOT " }));
            }
            ValueLocation::Elements(AttrPath { sub: None, .. }) => {
                let sql = self.dialect.folded(path);
                self.out.sql(&format!("({sql} IS {}NULL)", if negated { "" } else { "NOT " }));
            }
            ValueLocation::Elements(_) | ValueLocation::Groups | ValueLocation::Members => {
                let whole = path.whole();
                let inner =
                    path.sub.map_or(Filter::And(Vec::new()), |sub| Filter::Present(AttrPath::part(sub)));
                self.any(scope, whole, &inner, negated);
            }
        }
    }

    fn compare(
        &mut self,
        scope: Scope,
        path: AttrPath,
        operator: Operator,
        operand: &Operand,
        negated: bool,
    ) {
        match self.dialect.place(scope, path) {
            ValueLocation::Value { sql, nullable } => self.scalar(&sql, nullable, operator, operand, negated),
            ValueLocation::Elements(_) | ValueLocation::Groups | ValueLocation::Members => {
                // The comparison holds if it holds for any of the values.
                let part = AttrPath::part(path.leaf());
                let inner = Filter::Compare { path: part, operator, operand: operand.clone() };
                self.any(scope, path.whole(), &inner, negated);
            }
            ValueLocation::Always => self.constant(scope, negated),
        }
    }

    fn scalar(&mut self, sql: &str, nullable: bool, operator: Operator, operand: &Operand, negated: bool) {
        match operand {
            // Matches the partial index for inactive users.
            Operand::Bool(value) if !nullable => {
                let wanted = *value != negated;
                self.out.sql(&format!("({sql} = {})", if wanted { "TRUE" } else { "FALSE" }));
                return;
            }
            _ => {}
        }
        match (negated, nullable) {
            (true, true) => self.out.sql(&format!("({sql} IS NULL OR NOT (")),
            (true, false) => self.out.sql("(NOT ("),
            (false, _) => self.out.sql("(("),
        }
        match operand {
            Operand::Text(text) => self.text(sql, operator, text),
            Operand::Bool(value) => {
                let value = match (self.dialect, value) {
                    (Dialect::Postgres, true) => "'true'",
                    (Dialect::Postgres, false) => "'false'",
                    (Dialect::Sqlite, true) => "1",
                    (Dialect::Sqlite, false) => "0",
                };
                self.out.sql(&format!("{sql} = {value}"));
            }
            Operand::Time(time) => {
                self.out.sql(&format!("{sql} {} ", symbol(operator)));
                self.out.time(time.naive());
            }
        }
        self.out.sql("))");
    }

    fn text(&mut self, sql: &str, operator: Operator, operand: &TextOperand) {
        let key = &operand.key;
        let length = key.chars().count();
        match (operator, self.dialect) {
            (Operator::Co | Operator::Sw | Operator::Ew, _) if key.is_empty() => {
                self.out.sql(&format!("{sql} IS NOT NULL"));
            }
            (Operator::Co, dialect) => {
                let function = if dialect == Dialect::Postgres { "strpos" } else { "instr" };
                self.out.sql(&format!("{function}({sql}, "));
                self.out.text(key);
                self.out.sql(") > 0");
            }
            (Operator::Ew, dialect) => {
                let (function, sign) =
                    if dialect == Dialect::Postgres { ("right", "") } else { ("substr", "-") };
                self.out.sql(&format!("{function}({sql}, {sign}{length}) = "));
                self.out.text(key);
            }
            (Operator::Sw, _) => self.range(sql, key),
            _ => {
                self.out.sql(&format!("{sql} {} ", symbol(operator)));
                self.out.text(key);
            }
        }
    }

    /// Writes a prefix match as a range, which can use an index.
    fn range(&mut self, sql: &str, start: &str) {
        self.out.sql(&format!("{sql} >= "));
        self.out.text(start);
        if let Some(end) = after_all_with(start) {
            self.out.sql(&format!(" AND {sql} < "));
            self.out.text(&end);
        }
    }

    fn any(&mut self, scope: Scope, path: AttrPath, filter: &Filter, negated: bool) {
        let row = match scope {
            Scope::Users => Row::Users,
            Scope::Groups => Row::Groups,
            // Sub-attributes have no sub-attributes.
            _ => return self.constant(scope, negated),
        };
        match self.dialect.place(scope, path) {
            ValueLocation::Elements(_) => self.any_element(path, filter, negated),
            ValueLocation::Groups => self.any_group(filter, negated),
            ValueLocation::Members => self.any_member(filter, negated),
            ValueLocation::Always | ValueLocation::Value { .. } => {
                // A complex attribute with one value, stored in the row: it must be present and match the filter.
                self.out.sql("(");
                self.present(scope, path, negated);
                self.out.sql(if negated { " OR " } else { " AND " });
                self.write(Scope::Parts(row, path), filter, negated);
                self.out.sql(")");
            }
        }
    }

    fn any_element(&mut self, path: AttrPath, filter: &Filter, negated: bool) {
        let indexed = if path.attribute.name == "emails" && !negated { value_of_all(filter) } else { None };
        if let Some((operator, text)) = indexed {
            self.out.sql(
                "(users.id IN (SELECT user_emails.user_id FROM user_emails WHERE user_emails.tenant_id = ",
            );
            self.out.text(self.tenant.as_str());
            self.out.sql(" AND ");
            if operator == Operator::Sw {
                self.range("user_emails.value_key", &text.key);
            } else {
                self.out.sql("user_emails.value_key = ");
                self.out.text(&text.key);
            }
            self.out.sql(")");
            if matches!(filter, Filter::Compare { .. }) {
                self.out.sql(")");
                return;
            }
            self.out.sql(" AND ");
        }
        let array = match self.dialect {
            Dialect::Postgres => format!("json_array_elements({})", folded_json(path)),
            Dialect::Sqlite => format!("json_each(users.folded, {})", json_path(path)),
        };
        let not = if negated { "NOT " } else { "" };
        self.out.sql(&format!("{not}EXISTS (SELECT 1 FROM {array} AS e WHERE "));
        self.write(Scope::Element, filter, false);
        self.out.sql(if indexed.is_some() { "))" } else { ")" });
    }

    fn any_group(&mut self, filter: &Filter, negated: bool) {
        if let (Some((Operator::Eq, text)), false) = (value_of_all(filter), negated) {
            self.out.sql("users.id IN (SELECT group_members.user_id FROM group_members WHERE group_members.tenant_id = ");
            self.out.text(self.tenant.as_str());
            self.out.sql(" AND group_members.group_id = ");
            self.out.text(&text.written);
            self.out.sql(") AND ");
        }
        let not = if negated { "NOT " } else { "" };
        self.out.sql(&format!(
            "{not}EXISTS (SELECT 1 FROM group_members AS m JOIN groups AS g ON g.tenant_id = m.tenant_id AND g.id = m.group_id \
             WHERE m.tenant_id = "
        ));
        self.out.text(self.tenant.as_str());
        self.out.sql(" AND m.user_id = users.id AND ");
        self.write(Scope::GroupOfUser, filter, false);
        self.out.sql(")");
    }

    fn any_member(&mut self, filter: &Filter, negated: bool) {
        if let (Some((Operator::Eq, text)), false) = (value_of_all(filter), negated) {
            self.out.sql("groups.id IN (SELECT group_members.group_id FROM group_members WHERE group_members.tenant_id = ");
            self.out.text(self.tenant.as_str());
            self.out.sql(" AND group_members.user_id = ");
            self.out.text(&text.written);
            self.out.sql(") AND ");
        }
        let not = if negated { "NOT " } else { "" };
        self.out.sql(&format!("{not}EXISTS (SELECT 1 FROM group_members AS m WHERE m.tenant_id = "));
        self.out.text(self.tenant.as_str());
        self.out.sql(" AND m.group_id = groups.id AND ");
        self.write(Scope::MemberOfGroup, filter, false);
        self.out.sql(")");
    }
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Gt => ">",
        Operator::Ge => ">=",
        Operator::Lt => "<",
        Operator::Le => "<=",
        _ => "=",
    }
}

/// Returns the value, or the prefix, that `value` must have wherever the filter holds.
fn value_of_all(filter: &Filter) -> Option<(Operator, &TextOperand)> {
    match filter {
        Filter::And(all) => all.iter().find_map(value_of_all),
        Filter::Compare {
            path,
            operator: operator @ (Operator::Eq | Operator::Sw),
            operand: Operand::Text(text),
        } if path.attribute.name == "value" && !text.written.is_empty() => Some((*operator, text)),
        _ => None,
    }
}

/// Returns the least text greater than all texts with this prefix, or `None` if there is none.
fn after_all_with(start: &str) -> Option<String> {
    let mut end = start.to_owned();
    while let Some(last) = end.pop() {
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            _ => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::after_all_with;

    #[test]
    fn upper_bound_of_a_prefix() {
        assert_eq!(after_all_with("ab").as_deref(), Some("ac"));
        assert_eq!(after_all_with("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(after_all_with("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(after_all_with("\u{10ffff}"), None);
    }
}
