//! The server of the browser tests that need HTTPS: bound sessions and passkeys at related origins.

use std::path::Path;

use xtask::{
    server::{CHEAP, MASTER_KEY, Server, gatehouse, person, serve},
    sh::Result,
};

use crate::oidc;

/// Hosts of the server, of an application that may use its passkeys, and of one that may not.
const HOSTS: [&str; 3] = ["gate.test", "app.test", "other.test"];

/// Starts the server. Returns it with the facts that the test needs, as JSON. Names lead to it only in the browser of the test.
pub(crate) fn start(program: &Path, folder: &Path, password: &str) -> Result<(Server, String)> {
    let folder = folder.join("secure");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    oidc::certificate(&folder, &HOSTS)?;
    let database = format!("sqlite:{}", folder.join("gatehouse.db").display());
    let run = |words: &[&str]| gatehouse(program, &database, words);
    run(&["migrate"])?;
    run(&["tenant", "create", "--slug", "acme", "--name", "Acme"])?;
    person(program, &database, CHEAP, "acme", "ada@example.com", password)?;
    run(&["user", "role", "--tenant", "acme", "--email", "ada@example.com", "--role", "ADMIN"])?;
    run(&["user", "create", "--tenant", "acme", "--email", "kim@corp.example"])?;
    run(&["domain", "verify", "--tenant", "acme", "--domain", "corp.example"])?;
    let [host, application, _] = HOSTS.map(|host| format!("https://{host}"));
    let mut command = serve(program, &database, &folder);
    command
        .env("GATEHOUSE_BASE_URL", host)
        .env("GATEHOUSE_TLS_CERT", folder.join("server.pem"))
        .env("GATEHOUSE_TLS_KEY", folder.join("server.key"))
        .env("GATEHOUSE_DEVICE_BOUND_SESSIONS", "true")
        .env("GATEHOUSE_WEBAUTHN_RELATED_ORIGINS", application)
        .env("GATEHOUSE_PASSWORD_COST", CHEAP);
    let server = Server::start(&mut command)?;
    let path = |path: &Path| path.display().to_string();
    let json = format!(
        r#"{{"port":{},"folder":{:?},"program":{:?},"environment":{{"GATEHOUSE_DATABASE_URL":{database:?},
            "GATEHOUSE_DATA_DIR":{:?},"GATEHOUSE_BASE_URL":"https://{}","GATEHOUSE_MASTER_KEY":{MASTER_KEY:?}}}}}"#,
        server.address.port(),
        path(&folder),
        path(program),
        path(&folder),
        HOSTS[0],
    );
    Ok((server, json))
}
