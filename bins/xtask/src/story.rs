//! The server of the browser test that starts with an empty database: it sets the server up, with mail, a directory and an
//! identity provider.

use std::path::Path;

use xtask::{
    python,
    server::{CHEAP, MASTER_KEY, Server, free_address, gatehouse, serve},
    sh::{self, Result},
};

use crate::{browser::LOCAL_WEBHOOKS, node};

/// Starts the server. Returns it with the facts that the test needs, as JSON.
pub(crate) fn start(program: &Path, folder: &Path, walk: &Path) -> Result<(Server, String)> {
    let folder = folder.join("story");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let database = format!("sqlite:{}", folder.join("gatehouse.db").display());
    gatehouse(program, &database, &["migrate"])?;
    let (address, mail) = (free_address()?, free_address()?);
    let base = format!("http://localhost:{}", address.port());
    let mut command = serve(program, &database, &folder);
    command.env("GATEHOUSE_BIND", address.to_string()).env("GATEHOUSE_BASE_URL", &base);
    command.env("GATEHOUSE_SMTP_URL", format!("smtp://{mail}")).env("GATEHOUSE_PASSWORD_COST", CHEAP);
    let server = Server::start(command.envs(LOCAL_WEBHOOKS))?;
    let saml = node::environment(&sh::peers().join("saml"))?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let python = root.join(python::environment("scim2-tester")?);
    let path = |path: &Path| path.display().to_string();
    let json = format!(
        r#"{{"base":{base:?},"mailPort":{},"program":{:?},"folder":{:?},"walk":{:?},"saml":{:?},"python":{:?},
            "environment":{{"GATEHOUSE_DATABASE_URL":{database:?},"GATEHOUSE_DATA_DIR":{:?},
            "GATEHOUSE_BASE_URL":{base:?},"GATEHOUSE_MASTER_KEY":{MASTER_KEY:?}}}}}"#,
        mail.port(),
        path(program),
        path(&folder),
        path(walk),
        path(&root.join(saml)),
        path(&python),
        path(&folder),
    );
    Ok((server, json))
}
