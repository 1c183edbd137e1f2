//! `gatehouse tenant export` and `gatehouse tenant import`

use std::{
    fs::{self, File, OpenOptions},
    io::BufWriter,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use clap::Args;
use directory::Tenant;
use serde_json::{Value, json};
use store::{Exported, TransferredTable};

use super::{
    audit::verify::{VerifyOptions, verify_database},
    copy::hold,
    operator::Operator,
    report::{Report, Result},
};
use crate::config::Settings;

#[derive(Args)]
pub(crate) struct Export {
    /// Slug of the tenant
    #[arg(long)]
    slug: String,
    /// File to write. Must not exist. It contains personal data and password hashes
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// After the export, keep refusing changes of all tenants until Ctrl-C or SIGTERM
    #[arg(long)]
    hold: bool,
}

#[derive(Args)]
pub(crate) struct Import {
    /// File that `tenant export` wrote
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
}

pub(super) async fn export(command: &Export, office: &Operator, settings: &Settings) -> Result<Report> {
    let tenant = office.tenant(&command.slug).await?;
    let path = command.to.as_path();
    let shown = path.display();
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = made.map_err(|error| format!("{shown}: {error}"))?;
    let mut exported = match write(command, &tenant, &file, office, settings).await {
        Ok(exported) => exported,
        Err(problem) => {
            let _already_gone = fs::remove_file(path);
            return Err(problem);
        }
    };
    if command.hold {
        let held = hold("The export is complete.", async || {
            let held = exported.still_holds().await;
            Ok(held.map_err(|error| {
                format!(
                    "the source may have accepted changes since the export: do not use the file ({error})"
                )
            })?)
        });
        if let Err(problem) = held.await {
            let _already_gone = fs::remove_file(path);
            return Err(problem);
        }
    }
    let rows = rows(&exported.tables);
    let bytes = file.metadata()?.len();
    let json = json!({ "tenantId": tenant.id, "slug": tenant.slug, "file": path, "bytes": bytes, "rows": rows, "tables": tables(&exported.tables) });
    let lines = format!(
        "Exported {rows} rows of {} to {shown} ({bytes} bytes). Keep the file secret: it contains personal data and \
         password hashes.",
        tenant.slug
    );
    Ok(Report::new(json, lines))
}

async fn write(
    command: &Export,
    tenant: &Tenant,
    file: &File,
    office: &Operator,
    settings: &Settings,
) -> Result<Exported> {
    let (of, masters) = ((&tenant.id, tenant.slug.as_str()), settings.master_keys());
    let (now, to) = (office.env.now(), BufWriter::new(file));
    let exported = store::export_tenant(&settings.database_url, of, &masters, now, command.hold, to).await?;
    file.sync_all()?;
    Ok(exported)
}

pub(super) async fn import(command: &Import, office: &Operator, settings: &Settings) -> Result<Report> {
    let file = open(&command.from)?;
    let imported = store::import_tenant(&settings.database_url, &settings.master_keys(), file).await?;
    let retired = imported.retired_keys.values().cloned().collect();
    let options = VerifyOptions { known: Vec::new(), policy: None, keys: Vec::new(), retired };
    let verified = verify_database(&imported.slug, &options, settings, office).await;
    let log = verified.map_err(|error| {
        format!("{} was imported, but its audit log could not be verified: {error}", imported.slug)
    })?;
    let rows = rows(&imported.tables);
    let json = json!({
        "tenantId": imported.tenant,
        "slug": imported.slug,
        "exportedAt": imported.exported_at,
        "rows": rows,
        "tables": tables(&imported.tables),
        "retiredKeys": imported.retired_keys,
        "auditLog": log.json,
    });
    let retired = imported.retired_keys.iter().map(|(there, here)| {
        format!("The retired key {there} of the source is here: audit verify --retired-key {here}\n")
    });
    let lines = format!(
        "Imported {rows} rows of {}, exported at {}.\n{}{}",
        imported.slug,
        imported.exported_at,
        retired.collect::<String>(),
        log.lines
    );
    Ok(Report { json, lines, failed: log.failed })
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn rows(tables: &[TransferredTable]) -> u64 {
    tables.iter().map(|table| table.rows).sum()
}

fn tables(tables: &[TransferredTable]) -> Vec<Value> {
    tables.iter().map(|table| json!({ "table": table.name, "rows": table.rows })).collect()
}
