//! Old and new instances run at the same time during an upgrade, so a migration must not take away what the old ones
//! need. See `docs/design/migrations.md`.

use std::{fs, path::Path};

use sqlparser::{
    ast::{
        AlterColumnOperation, AlterTableOperation, ColumnOption, ColumnOptionDef, CreateTable, ObjectType,
        Statement, TableConstraint,
    },
    dialect::{Dialect, PostgreSqlDialect, SQLiteDialect},
    parser::Parser,
};
use store::testing::ON_COORDINATOR;

/// Migrations before the first one that old instances can live with.
const EARLIER: &str = "00016";

/// Statements that break a rule and are harmless, each with its reason.
const HARMLESS: [(&str, &str); 2] = [
    ("ALTER TABLE wrong_codes ALTER COLUMN tenant_id TYPE TEXT", "only the collation changes"),
    (
        "ALTER TABLE audit_entries DROP CONSTRAINT audit_entries_actor_type_check",
        "old instances write only what it allowed",
    ),
];

/// Returns why an old instance, or a distributed database, cannot live with a statement.
fn problem(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Drop { object_type: ObjectType::Index, .. } => None,
        Statement::Drop { .. } => Some("it drops something that old instances may use".into()),
        Statement::AlterTable(alter) => alter.operations.iter().find_map(of_alteration),
        Statement::CreateTable(table) => of_table(table),
        Statement::CreateIndex(index) if index.unique => {
            let has_tenant = index.columns.iter().any(|column| column.to_string() == "tenant_id");
            let is_local = ON_COORDINATOR.contains(&index.table_name.to_string().as_str());
            (!has_tenant && !is_local).then(|| "a unique index needs the tenant".into())
        }
        _ => None,
    }
}

fn of_alteration(operation: &AlterTableOperation) -> Option<String> {
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => {
            let has = |wanted: fn(&ColumnOption) -> bool| {
                column_def.options.iter().any(|ColumnOptionDef { option, .. }| wanted(option))
            };
            if has(|option| matches!(option, ColumnOption::NotNull))
                && !has(|option| matches!(option, ColumnOption::Default(_)))
            {
                return Some("old instances insert rows without the new column: give it a default".into());
            }
            let is_constraint = |option: &ColumnOption| {
                matches!(
                    option,
                    ColumnOption::Check(_)
                        | ColumnOption::Unique(_)
                        | ColumnOption::PrimaryKey(_)
                        | ColumnOption::ForeignKey(_)
                )
            };
            has(is_constraint).then(|| "a distributed database refuses it: add the constraint by name".into())
        }
        AlterTableOperation::AddConstraint { constraint, .. } => {
            let name = match constraint {
                TableConstraint::Check(check) => check.name.as_ref(),
                TableConstraint::Unique(unique) => unique.name.as_ref(),
                TableConstraint::ForeignKey(key) => key.name.as_ref(),
                _ => return Some("this kind of constraint is not examined".into()),
            };
            name.is_none().then(|| "a constraint needs a name".into())
        }
        AlterTableOperation::AlterColumn { op: AlterColumnOperation::DropNotNull, .. }
        | AlterTableOperation::AlterColumn { op: AlterColumnOperation::SetDefault { .. }, .. } => None,
        other => Some(format!("old instances may not expect it: {other}")),
    }
}

fn of_table(table: &CreateTable) -> Option<String> {
    let name = table.name.to_string();
    if ON_COORDINATOR.contains(&name.as_str()) {
        return None;
    }
    let has_tenant = |columns: &[String]| columns.iter().any(|column| column == "tenant_id");
    let keys: Vec<Vec<String>> = table
        .constraints
        .iter()
        .filter_map(|constraint| match constraint {
            TableConstraint::PrimaryKey(key) => Some(&key.columns),
            TableConstraint::Unique(key) => Some(&key.columns),
            _ => None,
        })
        .map(|columns| columns.iter().map(ToString::to_string).collect())
        .collect();
    if keys.is_empty() || !keys.iter().all(|columns| has_tenant(columns)) {
        return Some(format!("the keys of {name} need the tenant, or the table stays on the coordinator"));
    }
    None
}

fn problems(dialect: &dyn Dialect, script: &str) -> Vec<String> {
    let parsed = Parser::parse_sql(dialect, script).unwrap_or_else(|error| panic!("{script}: {error}"));
    let found = parsed.iter().filter_map(|statement| Some((statement.to_string(), problem(statement)?)));
    found
        .filter(|(statement, _)| !HARMLESS.iter().any(|(harmless, _)| statement == harmless))
        .map(|(statement, problem)| format!("{statement}\n  {problem}"))
        .collect()
}

#[test]
fn old_instances_and_distributed_databases_can_live_with_each_migration() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let dialects: [(&str, &dyn Dialect); 2] =
        [("postgres", &PostgreSqlDialect {}), ("sqlite", &SQLiteDialect {})];
    for (kind, dialect) in dialects {
        let mut names: Vec<_> = fs::read_dir(root.join(kind))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.as_str() >= EARLIER)
            .collect();
        names.sort();
        assert!(!names.is_empty());
        for name in names {
            let script = fs::read_to_string(root.join(kind).join(&name).join("up.sql")).unwrap();
            let found = problems(dialect, &script);
            assert!(found.is_empty(), "{kind}/{name}:\n{}", found.join("\n"));
        }
    }
}

#[test]
fn harmful_migrations_are_found() {
    let postgres = PostgreSqlDialect {};
    for harmless in [
        "ALTER TABLE users ADD COLUMN a TEXT",
        "ALTER TABLE users ADD COLUMN a BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE users ADD CONSTRAINT users_a CHECK (a >= 0)",
        "CREATE TABLE a (tenant_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant_id, id))",
        "CREATE UNIQUE INDEX a ON users (tenant_id, a)",
        "DROP INDEX a",
    ] {
        assert_eq!(problems(&postgres, harmless), Vec::<String>::new());
    }
    for harmful in [
        "ALTER TABLE users ADD COLUMN a TEXT NOT NULL",
        "ALTER TABLE users ADD COLUMN a BIGINT CHECK (a >= 0)",
        "ALTER TABLE users ADD CHECK (a >= 0)",
        "ALTER TABLE users DROP COLUMN a",
        "ALTER TABLE users RENAME COLUMN a TO b",
        "ALTER TABLE users RENAME TO people",
        "ALTER TABLE users ALTER COLUMN a SET NOT NULL",
        "ALTER TABLE users ALTER COLUMN a TYPE BIGINT",
        "DROP TABLE users",
        "CREATE TABLE a (id TEXT PRIMARY KEY)",
        "CREATE TABLE a (tenant_id TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (id))",
        "CREATE UNIQUE INDEX a ON users (a)",
    ] {
        assert_eq!(problems(&postgres, harmful).len(), 1, "{harmful}");
    }
}
