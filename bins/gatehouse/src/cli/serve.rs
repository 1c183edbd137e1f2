//! `gatehouse serve`

use std::{io::Write, path::Path, sync::Arc};

use kernel::Env;
use store::{DatabaseUrl, Store};

use super::{operator::make_data_dir, report::Result, setup};
use crate::{config::Raw, key_files, secrets, server};
use gate::logs;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Role of this instance: `api`, `worker` or `all`
    #[arg(long)]
    role: Option<String>,
}

pub(crate) async fn run(
    mut raw: Raw,
    arguments: &Arguments,
    config: Option<&Path>,
    env: Arc<dyn Env>,
) -> Result<()> {
    if let Some(role) = &arguments.role {
        raw.set("role", role.clone())?;
    }
    let settings = raw.settings()?;
    logs::serve(settings.log_format, settings.log_level);
    if let DatabaseUrl::Sqlite(_) = &settings.database_url {
        if secrets::are_lost(&settings, &raw).await? {
            return Err(secrets::LOST.into());
        }
        // With SQLite there is one machine, which may generate its secrets. Several machines must share them.
        secrets::keep(&mut raw, &*env)?;
    }
    let settings = raw.settings()?;
    for (name, missing) in
        [("AUTH_SECRET", settings.auth_secret.is_none()), ("MASTER_KEY", settings.master_key.is_none())]
    {
        if missing {
            return Err(format!(
                "GATEHOUSE_{name} is not set. On PostgreSQL all instances need the same value; generate one with: openssl rand -base64 {}",
                if name == "MASTER_KEY" { 32 } else { 48 }
            )
            .into());
        }
    }
    make_data_dir(&settings)?;
    let keys = key_files::follow(&raw, &settings, config);
    let store = Store::open(&settings.database_url, settings.database_pool, keys.entry_keys())?;
    if store.is_behind().await? {
        return Err("The database schema is older than this program. Run: gatehouse migrate".into());
    }
    let parts = server::ServerParts { keys, store, env };
    let bound = server::bind(&settings, parts).map_err(|error| format!("bind {}: {error}", settings.bind))?;
    println!("listening on {}://{}", bound.scheme, bound.address);
    std::io::stdout().flush()?;
    match bound.setup_link().await {
        Ok(Some(link)) => {
            // A program that waited for the address may have closed its end.
            let _closed = writeln!(std::io::stdout(), "{}", setup::lines(&link));
        }
        Ok(None) => {}
        // A node of a distributed database does not answer. The tenants of the others are served.
        Err(error) => tracing::warn!(%error, "cannot tell whether an administrator exists"),
    }
    bound.serve().await?;
    tracing::info!("stopped");
    Ok(())
}
