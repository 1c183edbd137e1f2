//! Rules for statements on a distributed database, checked by their text.
//!
//! All rows of a tenant are on one node. A statement runs there as a whole if every part of it that reads or changes
//! such rows compares the tenant with a parameter, directly or through a join.

use std::{collections::BTreeSet, ops::ControlFlow};

use sqlparser::{
    ast::{
        AssignmentTarget, BinaryOperator, ConflictTarget, Expr, FromTable, Insert, JoinConstraint,
        JoinOperator, OnConflictAction, OnInsert, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
        TableObject, TableWithJoins, Value, Visit, Visitor,
    },
    dialect::PostgreSqlDialect,
    parser::Parser,
};
use store::testing::ON_COORDINATOR;

/// Returns why a statement may ask more than one node, or commit in two phases.
pub(crate) fn problem(statement: &str) -> Option<String> {
    // The parser does not know this lock, which changes nothing here.
    let statement = statement.replace(" FOR KEY SHARE", " FOR SHARE");
    let parsed = Parser::parse_sql(&PostgreSqlDialect {}, &statement);
    let parsed = parsed.unwrap_or_else(|error| panic!("{statement}: {error}"));
    match parsed.visit(&mut Rules) {
        ControlFlow::Continue(()) => None,
        ControlFlow::Break(problem) => Some(problem),
    }
}

struct Rules;

type Found = ControlFlow<String>;

fn refuse(problem: impl Into<String>) -> Found {
    ControlFlow::Break(problem.into())
}

impl Visitor for Rules {
    type Break = String;

    fn pre_visit_query(&mut self, query: &Query) -> Found {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            if matches!(*cte.query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_)) {
                return refuse("a CTE changes rows");
            }
        }
        match &*query.body {
            SetExpr::Select(select) => of_select(select),
            SetExpr::SetOperation { .. } => refuse("UNION is not examined"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> Found {
        match statement {
            Statement::Insert(insert) => of_insert(insert),
            Statement::Update(update) => {
                for assignment in &update.assignments {
                    if sets_tenant(&assignment.target) {
                        return refuse("it sets the tenant");
                    }
                }
                let mut scope = Scope::default();
                scope.tables(&update.table);
                if let Some(from) = &update.from {
                    let (sqlparser::ast::UpdateTableFromKind::AfterSet(from)
                    | sqlparser::ast::UpdateTableFromKind::BeforeSet(from)) = from;
                    for table in from {
                        scope.tables(table);
                    }
                }
                scope.conditions(update.selection.as_ref());
                scope.check()
            }
            Statement::Delete(delete) => {
                let mut scope = Scope::default();
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                from.iter().chain(delete.using.iter().flatten()).for_each(|table| scope.tables(table));
                scope.conditions(delete.selection.as_ref());
                scope.check()
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn of_select(select: &Select) -> Found {
    let mut scope = Scope::default();
    select.from.iter().for_each(|table| scope.tables(table));
    scope.conditions(select.selection.as_ref());
    scope.check()
}

fn of_insert(insert: &Insert) -> Found {
    let TableObject::TableName(name) = &insert.table else { return refuse("it inserts into no table") };
    let table = plain(&name.to_string());
    if ON_COORDINATOR.contains(&table.as_str()) {
        return ControlFlow::Continue(());
    }
    let columns: Vec<_> = insert.columns.iter().map(|column| plain(&column.to_string())).collect();
    let Some(at) = columns.iter().position(|column| column == tenant_column(&table)) else {
        return refuse(format!("it inserts into {table} without a tenant"));
    };
    if let Some(OnInsert::OnConflict(conflict)) = &insert.on {
        if let OnConflictAction::DoUpdate(update) = &conflict.action
            && update.assignments.iter().any(|assignment| sets_tenant(&assignment.target))
        {
            return refuse("it sets the tenant");
        }
        if let Some(ConflictTarget::Columns { columns: of, .. }) = &conflict.conflict_target
            && !of.iter().any(|column| plain(&column.to_string()) == tenant_column(&table))
        {
            return refuse("the tenant is not part of what conflicts");
        }
    }
    let Some(SetExpr::Select(select)) = insert.source.as_ref().map(|source| &*source.body) else {
        return ControlFlow::Continue(());
    };
    // The planner does not follow a parameter into the selected tenant.
    match select.projection.get(at) {
        Some(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(_) | Expr::Identifier(_))) => {
            ControlFlow::Continue(())
        }
        _ => refuse("the inserted tenant is not a column of the selected rows"),
    }
}

fn sets_tenant(target: &AssignmentTarget) -> bool {
    matches!(target, AssignmentTarget::ColumnName(name) if plain(&name.to_string()) == "tenant_id")
}

fn plain(name: &str) -> String {
    name.replace('"', "")
}

fn tenant_column(table: &str) -> &'static str {
    if table == "tenants" { "id" } else { "tenant_id" }
}

/// One FROM with its conditions.
#[derive(Default)]
struct Scope {
    /// The tenant columns of distributed tables, as `name.column`.
    tenants: Vec<String>,
    has_local: bool,
    equal: Vec<(String, String)>,
}

impl Scope {
    fn tables(&mut self, of: &TableWithJoins) {
        self.table(&of.relation);
        for join in &of.joins {
            self.table(&join.relation);
            let (JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)) = &join.join_operator
            else {
                continue;
            };
            if let JoinConstraint::On(condition) = on {
                self.conditions(Some(condition));
            }
        }
    }

    fn table(&mut self, factor: &TableFactor) {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            self.tables(table_with_joins);
        }
        let TableFactor::Table { name, alias, args: None, .. } = factor else { return };
        let table = plain(&name.to_string());
        // Each node has the system catalogs.
        if table.starts_with("pg_") {
            return;
        }
        if ON_COORDINATOR.contains(&table.as_str()) {
            self.has_local = true;
            return;
        }
        let alias = alias.as_ref().map_or(table.clone(), |alias| plain(&alias.name.to_string()));
        self.tenants.push(format!("{alias}.{}", tenant_column(&table)));
    }

    /// Collects the equations that must all hold.
    fn conditions(&mut self, condition: Option<&Expr>) {
        match condition {
            Some(Expr::Nested(inner)) => self.conditions(Some(inner)),
            Some(Expr::BinaryOp { left, op: BinaryOperator::And, right }) => {
                self.conditions(Some(left));
                self.conditions(Some(right));
            }
            Some(Expr::BinaryOp { left, op: BinaryOperator::Eq, right }) => {
                if let (Some(left), Some(right)) = (self.term(left), self.term(right)) {
                    self.equal.push((left, right));
                }
            }
            _ => {}
        }
    }

    /// Returns a column as `name.column`, or a parameter as it is.
    fn term(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Nested(inner) => self.term(inner),
            Expr::CompoundIdentifier(_) => Some(plain(&expr.to_string())),
            Expr::Identifier(name) => {
                let suffix = format!(".{}", name.value);
                self.tenants.iter().find(|tenant| tenant.ends_with(&suffix)).cloned()
            }
            Expr::Value(value) => match &value.value {
                Value::Placeholder(text) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    fn check(self) -> Found {
        if self.has_local && !self.tenants.is_empty() {
            return refuse("it joins a table of the coordinator with a distributed one");
        }
        let mut known: BTreeSet<&str> = BTreeSet::new();
        let is_known = |known: &BTreeSet<&str>, term: &str| term.starts_with('$') || known.contains(term);
        for _ in 0..=self.equal.len() {
            for (left, right) in &self.equal {
                for (one, other) in [(left, right), (right, left)] {
                    if is_known(&known, one) {
                        known.insert(other);
                    }
                }
            }
        }
        match self.tenants.iter().find(|tenant| !known.contains(tenant.as_str())) {
            Some(tenant) => refuse(format!("{tenant} is not compared with a parameter")),
            None => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn rules_find_statements_for_several_nodes() {
    let alike =
        "SELECT 1 FROM users JOIN sessions AS s ON s.tenant_id = users.tenant_id WHERE users.tenant_id = $1";
    assert_eq!(problem(alike), None);
    assert_eq!(problem("UPDATE users SET role = $1 WHERE tenant_id = $2"), None);
    for wrong in [
        "SELECT 1 FROM users WHERE id = $1",
        "SELECT 1 FROM users WHERE tenant_id >= $1 AND tenant_id <= $2",
        "SELECT 1 FROM users WHERE tenant_id = $1 OR id = $2",
        "SELECT 1 FROM users JOIN sessions AS s ON s.user_id = users.id WHERE users.tenant_id = $1",
        "SELECT (SELECT g.id FROM groups AS g WHERE g.tenant_id = users.tenant_id) FROM users WHERE tenant_id = $1",
        "SELECT 1 FROM users JOIN sign_in_names AS s ON s.user_id = users.id WHERE users.tenant_id = $1",
        "SELECT 1 FROM (users JOIN sessions AS s ON s.user_id = users.id) WHERE users.tenant_id = $1",
        "UPDATE users SET tenant_id = $1 WHERE tenant_id = $1",
        "DELETE FROM users WHERE id = $1",
        "INSERT INTO notices (tenant_id, user_id, notice) SELECT $1, users.id, $2 FROM users WHERE tenant_id = $1",
        "INSERT INTO notices (user_id, notice) VALUES ($1, $2)",
        "WITH a AS (INSERT INTO notices (tenant_id) VALUES ($1)) SELECT 1 FROM users WHERE tenant_id = $1",
    ] {
        assert!(problem(wrong).is_some(), "{wrong}");
    }
}
