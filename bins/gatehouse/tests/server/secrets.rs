//! Sends recognizable secrets through everything and then searches for them: in the log at its most verbose level, in
//! every response, and in the database.

use std::process::Command;

use serde_json::json;
use store::testing::{Kind, TestDatabase};

use crate::support::{Caller, Process};

const PASSWORD: &str = "MARKEDpasswordMARKED";
const AUTH_SECRET: &str = "MARKED0authsecretMARKED0q3LZ8Fj0yD1uWm7x";
const MASTER_KEY: &str = "TUFSS0VEbWFzdGVya2V5TUFSS0VEMDEyMzQ1Njc4OTA=";
const DATABASE_PASSWORD: &str = "MARKEDdatabaseMARKED";

fn run_and_search(process: &Process, database: impl Fn() -> Vec<u8>) {
    process.json(&["migrate"]);
    process.json(&["tenant", "create", "--slug", "acme", "--name", "Acme"]);
    let minted = process.json(&["token", "scim", "--tenant", "acme", "--name", "Okta"]);
    let token = minted["token"].as_str().unwrap().to_owned();
    let unknown = {
        let tenant = tokens::RawToken::parse(&token).unwrap().tenant().clone();
        tokens::RawToken::mint(&kernel::SystemEnv::default(), tokens::TokenKind::Scim, &tenant)
            .expose()
            .to_owned()
    };
    let mut server = process.serve();
    let anybody = Caller::anonymous(server.address);
    let scim = anybody.bearer(&token);
    let users = "/api/scim/v2/Users";
    let body = json!({ "userName": "ada", "password": PASSWORD, "PASSWORD": null });
    let made = scim.post(users, &json!({ "userName": "ada", "password": PASSWORD }));
    let path = format!("{users}/{}", made.json()["id"].as_str().unwrap());
    let answers = [
        scim.get(&path),
        scim.put(&path, &json!({ "userName": "ada", "title": "x", "password": PASSWORD })),
        scim.put(&path, &body),
        scim.put(&path, &json!({ "userName": 7, "password": PASSWORD })),
        scim.send(
            "POST",
            users,
            Some("application/json"),
            &format!("{{\"userName\":\"x\",\"password\":\"{PASSWORD}\""),
        ),
        scim.send("POST", users, Some("text/plain"), PASSWORD),
        scim.get(users),
        anybody.bearer(&unknown).get(users),
        anybody.bearer(&format!("{token}x")).get(users),
        anybody.with("Authorization", &format!("Basic {token}")).get(users),
        anybody.with("Cookie", &format!("authjs.session-token={token}")).get(users),
        anybody.bearer(&token).get("/api/scim/v2/nothing"),
        anybody.get("/developers"),
        made,
    ];
    assert_eq!(server.terminate().0, Some(0));

    let secrets = [token.as_str(), &unknown, PASSWORD, AUTH_SECRET, MASTER_KEY, DATABASE_PASSWORD];
    let bytes =
        |secret: &str, text: &[u8]| text.windows(secret.len()).any(|window| window == secret.as_bytes());
    let (log, database) = (server.log(), database());
    assert!(
        log.contains("\"status\":401") && log.contains("\"level\":\"DEBUG\""),
        "the log contains debug lines: {log}"
    );
    assert!(bytes("ACCOUNT_USER_CREATED", &database), "the database contains the entry");
    for secret in secrets {
        assert!(!log.contains(secret), "in the log: {secret}");
        assert!(!bytes(secret, &database), "in the database: {secret}");
        for answer in &answers {
            let whole = format!("{:?}{}", answer.headers, answer.text);
            assert!(!whole.contains(secret), "in an answer: {secret}: {whole}");
        }
    }
    // The lookup key of a token differs from the token. Other known text is found, so the search works.
    assert!(bytes("ada", &database));
}

fn settings(database: &str) -> [(&str, &str); 6] {
    [
        ("GATEHOUSE_BIND", "127.0.0.1:0"),
        ("GATEHOUSE_LOG_LEVEL", "trace"),
        ("GATEHOUSE_AUTH_SECRET", AUTH_SECRET),
        ("GATEHOUSE_MASTER_KEY", MASTER_KEY),
        ("GATEHOUSE_DATA_DIR", "data"),
        ("GATEHOUSE_DATABASE_URL", database),
    ]
}

#[test]
fn no_secret_leaks_with_sqlite() {
    let process = Process::new(&settings("sqlite:data/gatehouse.db"));
    let folder = process.path().join("data");
    run_and_search(&process, || {
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.to_string_lossy().contains("gatehouse.db"))
            .flat_map(|path| std::fs::read(path).unwrap())
            .collect()
    });
}

#[test]
fn no_secret_leaks_with_postgresql() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let database = runtime.block_on(TestDatabase::new(Kind::Postgres));
    let store::DatabaseUrl::Postgres(url) = &database.url else { unreachable!() };
    // The cluster accepts any password, so this one is only there to be found.
    let url = url.replace("gatehouse@", &format!("gatehouse:{DATABASE_PASSWORD}@"));
    let process = Process::new(&settings(&url));
    run_and_search(&process, || {
        let dump = Command::new("pg_dump").arg("--inserts").arg(&url).output().unwrap();
        assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
        dump.stdout
    });
}
