//! Reads the database with its own client program, independently of our code.

use std::{collections::HashSet, path::PathBuf, process::Command};

use xtask::{
    cluster::psql,
    sh::{self, Result},
};

/// The database to check.
pub(crate) enum DatabaseRecords {
    Postgres(String),
    Sqlite(PathBuf),
}

/// Users without exactly one audit entry of their creation, and audit entries of a creation without the user.
const UNPAIRED: &str = "SELECT 'user without audit entry: ' || u.id FROM users u WHERE (SELECT count(*) FROM audit_entries a \
       WHERE a.tenant_id = u.tenant_id AND a.resource_id = u.id AND a.action = 'ACCOUNT_USER_CREATED') <> 1 \
     UNION ALL SELECT 'audit entry without user: ' || a.resource_id FROM audit_entries a \
       WHERE a.action = 'ACCOUNT_USER_CREATED' AND NOT EXISTS (SELECT 1 FROM users u \
         WHERE u.tenant_id = a.tenant_id AND u.id = a.resource_id)";

/// Users without both of their addresses.
const WITHOUT_ADDRESSES: &str = "SELECT 'user without addresses: ' || u.id FROM users u \
     WHERE (SELECT count(*) FROM user_emails e WHERE e.tenant_id = u.tenant_id AND e.user_id = u.id) <> 2";

impl DatabaseRecords {
    /// Checks that every ID exists and that nothing is half-written.
    pub(crate) fn check(&self, ids: &[String]) -> Result<()> {
        self.check_pairs()?;
        refuse(&self.ask(WITHOUT_ADDRESSES)?)?;
        let known = self.ask("SELECT id FROM users")?;
        let known: HashSet<&str> = known.lines().collect();
        let lost: Vec<_> = ids.iter().filter(|id| !known.contains(id.as_str())).collect();
        if let Some(first) = lost.first() {
            return Err(format!(
                "{} of {} users answered with 201 are missing, the first {first}",
                lost.len(),
                ids.len()
            ));
        }
        if let Self::Sqlite(_) = self {
            let damage = self.ask("PRAGMA integrity_check")?;
            if damage != "ok" {
                return Err(format!("the database is damaged: {damage}"));
            }
        }
        Ok(())
    }

    /// Checks that each user has one audit entry of its creation, and each such entry its user.
    pub(crate) fn check_pairs(&self) -> Result<()> {
        // Without an index on resource IDs, the check would take minutes.
        self.ask("CREATE INDEX IF NOT EXISTS chaos ON audit_entries (tenant_id, resource_id)")?;
        refuse(&self.ask(UNPAIRED)?)
    }

    /// Runs a query with the database's own client program.
    pub(crate) fn ask(&self, query: &str) -> Result<String> {
        match self {
            Self::Postgres(url) => psql(url, &[query]),
            Self::Sqlite(path) => {
                let mut sqlite = Command::new("sqlite3");
                sh::output(sqlite.args(["-cmd", ".timeout 10000"]).arg(path).arg(query))
            }
        }
    }
}

/// Fails if a query found something.
fn refuse(found: &str) -> Result<()> {
    let error =
        |first| format!("{} incomplete users or audit entries, the first {first}", found.lines().count());
    found.lines().next().map_or(Ok(()), |first| Err(error(first)))
}
