//! `docs/guides/migrate-to-postgresql.md`: its script copies everything.

use std::process::Command;

use serde_json::json;
use store::testing::Kind;

use super::{blocks, root};
use crate::support::{Caller, Process};

#[test]
fn the_copied_database_works_and_verifies() {
    let sqlite = Process::on(Kind::Sqlite, &[]);
    let token = sqlite.tenant("acme");
    let mut server = sqlite.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    // Texts that a careless copy would damage.
    let name = "a \"quoted\" name, with a comma,\n a line break and \\N";
    let user = json!({ "userName": "ada@example.com", "displayName": name });
    let created = scim.post("/api/scim/v2/Users", &user);
    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!(server.terminate().0, Some(0), "the server seals pending entries at shutdown");

    let mut postgres = Process::on(Kind::Postgres, &[]);
    let secrets = std::fs::read_to_string(sqlite.path().join("data/secrets.toml")).unwrap();
    for (name, variable) in [("auth_secret", "GATEHOUSE_AUTH_SECRET"), ("master_key", "GATEHOUSE_MASTER_KEY")]
    {
        let line = secrets.lines().find(|line| line.starts_with(name)).unwrap();
        postgres.set(variable, line.split('"').nth(1).unwrap());
    }
    postgres.json(&["migrate"]);
    let page = std::fs::read_to_string(root().join("docs/guides/migrate-to-postgresql.md")).unwrap();
    let is_copy = |block: &&super::Block| {
        block.mark.as_deref() == Some("not run: tests/server/docs/migration.rs runs it")
    };
    let blocks = blocks(&page);
    let script = &blocks.iter().find(is_copy).unwrap().text;
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(postgres.path())
        .env("PG", postgres.database_url())
        .env("SQLITE", sqlite.path().join("data/gatehouse.db"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let verified = postgres.json(&["audit", "verify", "--tenant", "acme"]);
    assert!(verified["count"] == 0 && verified["entries"].as_u64().unwrap() >= 3, "{verified}");
    let server = postgres.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    let found = scim.get("/api/scim/v2/Users?filter=userName%20eq%20%22ada@example.com%22").json();
    assert_eq!(found["Resources"][0]["displayName"], name);
    assert_eq!(found["Resources"][0]["meta"]["created"], created.json()["meta"]["created"]);
}
