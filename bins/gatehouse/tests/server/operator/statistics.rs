//! Statistics of a young PostgreSQL database.

use std::{process::Command, time::Duration};

use serde_json::json;
use store::testing::{Kind, TestDatabase};

use super::until;
use crate::support::{Caller, Process};

#[test]
fn worker_analyzes_tables_that_have_grown() {
    if TestDatabase::is_distributed() {
        // The rows are on other nodes, whose autovacuum analyzes them.
        return;
    }
    let process = Process::on(Kind::Postgres, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    for number in 0..60 {
        assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": format!("u{number}") })).status, 201);
    }
    let query =
        "SELECT count(last_analyze) FROM pg_stat_user_tables WHERE relname IN ('users', 'audit_entries')";
    let analyzed = || {
        let output =
            Command::new("psql").args(["-qAt", "-c", query, &process.database_url()]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim() == "2"
    };
    until("tables are analyzed", Duration::from_mins(1), analyzed);
    until("it is logged", Duration::from_secs(5), || {
        server
            .log()
            .lines()
            .any(|line| line.contains("analyzed tables that have grown") && line.contains("users"))
    });
}
