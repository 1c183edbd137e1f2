//! Runs pgbench, PostgreSQL's load generator, and measures the disk.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use xtask::sh::{self, Result};

use crate::{
    cpu, load,
    path::TIME,
    table::{Table, wanted},
};

/// PostgreSQL's load generator.
pub(crate) struct Pgbench {
    pub(crate) program: std::path::PathBuf,
    pub(crate) url: String,
    pub(crate) folder: std::path::PathBuf,
}

impl Pgbench {
    pub(crate) fn prepare(&self) -> Result<()> {
        sh::run(
            Command::new(&self.program).args(["-i", "-q", "-s", "10"]).arg(&self.url).stderr(Stdio::null()),
        )?;
        let scripts = [
            (
                "insert.sql",
                "\\set n random(1, 9000000000000000000)\nINSERT INTO floor (id, body) VALUES ('p' || :n, 'a row of a floor');\n",
            ),
            ("create.sql", CREATE),
        ];
        for (name, text) in scripts {
            std::fs::write(self.folder.join(name), text).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    pub(crate) fn run(
        &self,
        rows: &[&str],
        name: &'static str,
        table: &mut Table,
        database: u32,
        script: Option<&str>,
    ) -> Result<()> {
        if !wanted(rows, name) {
            return Ok(());
        }
        let mut command = Command::new(&self.program);
        command.args(["-n", "-M", "prepared", "-c", "16", "-j", "2", "-T", &TIME.as_secs().to_string()]);
        match script {
            Some(script) => command.arg("-f").arg(self.folder.join(script)),
            None => command.arg("-S"),
        };
        // Log the latency of one in four transactions: enough for percentiles at little cost.
        let log = self.folder.join("pgbench");
        command.args(["--log", "--sampling-rate=0.25"]).arg(format!("--log-prefix={}", log.display()));
        let before = cpu::seconds(database);
        let output = sh::output(command.arg(&self.url))?;
        let after = cpu::seconds(database);
        let tps = output.lines().find_map(|line| line.strip_prefix("tps = "));
        let rate =
            tps.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse::<f64>().ok());
        let rate = rate.ok_or_else(|| format!("pgbench printed no rate: {output}"))?;
        let row = table.entry(name.to_owned()).or_default();
        row.rates.push(rate);
        row.server_micros.push(0.0);
        row.database_micros.push((after - before) * 1e6 / (rate * TIME.as_secs_f64()));
        row.latencies(&load::Run::of_latencies(self.logged()?));
        Ok(())
    }

    /// Reads the latencies in pgbench's logs, in seconds, and deletes the logs.
    fn logged(&self) -> Result<Vec<f32>> {
        let mut latencies = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(|error| error.to_string())?.flatten() {
            if !entry.file_name().to_string_lossy().starts_with("pgbench.") {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).map_err(|error| error.to_string())?;
            let micros = text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<f32>().ok());
            latencies.extend(micros.map(|micros| micros / 1e6));
            std::fs::remove_file(entry.path()).map_err(|error| error.to_string())?;
        }
        Ok(latencies)
    }
}

/// Statements of an audited create, with values of the same sizes.
const CREATE: &str = r#"\set n random(1, 9000000000000000000)
BEGIN;
INSERT INTO users (tenant_id, id, role, created_at, user_name, user_name_key, external_id, active, sign_in_email_key, attributes, folded, updated_at) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'usr_0000000' || :n, 'MEMBER', '20260101T000000.123', 'u' || :n || '@example.com', 'u' || :n || '@example.com', 'u' || :n, true, 'u' || :n || '@example.com', '{"name":{"familyName":"Lovelace","givenName":"Ada"},"emails":[{"value":"bench-12345-123456@example.com","type":"work","primary": true},{"value":"bench-12345-123456@home.example","type":"home"}]}', '{"name":{"familyName":"lovelace","givenName":"ada"},"emails":[{"value":"bench-12345-123456@example.com","type":"work","primary": true},{"value":"bench-12345-123456@home.example","type":"home"}]}', '20260101T000000.123') ON CONFLICT DO NOTHING;
INSERT INTO user_emails (tenant_id, user_id, position, value_key) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'usr_0000000' || :n, 0, 'u' || :n || '@example.com');
INSERT INTO user_emails (tenant_id, user_id, position, value_key) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'usr_0000000' || :n, 1, 'u' || :n || '@home.example');
INSERT INTO sign_in_names (email_key, tenant_id, user_id) VALUES ('u' || :n || '@example.com', 'ten_06gzkadrwwt5d9z93ens6801xc', 'usr_0000000' || :n);
INSERT INTO audit_entries (tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, ip, metadata, salt, leaf) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'aud_0000000' || :n, '20260101T000000.123', 'SCIM', 'sct_06gzkadrxpvjjn28ctswmdg190', 'ACCOUNT_USER_CREATED', 'user', 'usr_0000000' || :n, '127.0.0.1', '{"active": true,"role":"MEMBER","fields":["userName","externalId","name","emails"]}', '\x000102030405060708090a0b0c0d0e0f', '\x000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f');
INSERT INTO audit_unsealed (tenant_id, entry_id) VALUES ('ten_06gzkadrwwt5d9z93ens6801xc', 'aud_0000000' || :n);
COMMIT;
"#;

/// Measures how many small sequential writes the disk syncs per second.
pub(crate) fn fsyncs(folder: &Path) -> Result<f64> {
    let failed = |error: std::io::Error| error.to_string();
    let mut file = std::fs::File::create(folder.join("fsync")).map_err(failed)?;
    let start = Instant::now();
    let mut count = 0.0;
    while start.elapsed() < Duration::from_secs(2) {
        file.write_all(&[0; 4096]).and_then(|()| file.sync_data()).map_err(failed)?;
        count += 1.0;
    }
    Ok(count / start.elapsed().as_secs_f64())
}
