//! An auditor who exports the audit log with proofs.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use xtask::sh::Result;

use super::{Actor, client::Caller};

/// Somebody with `admin:tenant` who keeps exports.
pub(super) struct Exporter {
    program: PathBuf,
    file: PathBuf,
    pat: String,
    key: String,
    /// Whether the file is a complete export.
    is_complete: bool,
}

impl Exporter {
    /// `keys` is what `gatehouse audit key --json` prints.
    pub(super) fn new(program: &Path, folder: &Path, pat: &str, keys: &str) -> Result<Self> {
        let key = keys.split_once("[\"").and_then(|(_, rest)| rest.split('"').next());
        Ok(Self {
            program: program.to_owned(),
            file: folder.join("export.ndjson"),
            pat: pat.to_owned(),
            key: key.ok_or_else(|| format!("no key in {keys}"))?.to_owned(),
            is_complete: false,
        })
    }
}

impl Actor for Exporter {
    fn act(&mut self, caller: &mut Caller) -> Result<()> {
        let url =
            format!("http://{}/api/settings/audit-log/export?format=ndjson&proofs=true", caller.address());
        let new = self.file.with_extension("new");
        let mut curl = Command::new("curl");
        curl.args(["-s", "--fail", "--noproxy", "*", "--max-time", "60", "-H"]);
        curl.arg(format!("Authorization: Bearer {}", self.pat)).arg("-o").arg(&new).arg(url);
        // curl fails if the connection ends before the export does.
        if curl.status().map_err(|error| error.to_string())?.success() {
            std::fs::rename(&new, &self.file).map_err(|error| error.to_string())?;
            self.is_complete = true;
        }
        Ok(())
    }

    /// The last complete export verifies without the server.
    fn check(&mut self, _: &mut Caller) -> Result<()> {
        if !self.is_complete {
            return Ok(());
        }
        let mut verify = Command::new(&self.program);
        verify.args(["audit", "verify", "--key", &self.key, "--file"]).arg(&self.file);
        let verified = verify.output().map_err(|error| error.to_string())?;
        if verified.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&verified.stdout).into_owned();
        Err(format!(
            "{} does not verify: {text} {}",
            self.file.display(),
            String::from_utf8_lossy(&verified.stderr)
        ))
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(500)
    }
}
