//! `gatehouse completions` and `gatehouse man`.

use std::path::Path;

use serde_json::json;

use super::report::{Report, Result};

pub(super) fn completions(mut command: clap::Command, shell: clap_complete::Shell) -> Report {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "gatehouse", &mut script);
    let script = String::from_utf8_lossy(&script).trim_end().to_owned();
    Report::new(json!({ "script": script }), script)
}

pub(super) fn write(command: clap::Command, directory: &Path) -> Result<Report> {
    let shown = directory.display();
    std::fs::create_dir_all(directory).map_err(|error| format!("{shown}: {error}"))?;
    clap_mangen::generate_to(command, directory).map_err(|error| format!("{shown}: {error}"))?;
    Ok(Report::new(json!({ "directory": directory }), format!("Wrote the manual pages to {shown}")))
}
