//! `gatehouse audit witness`: cosigns the checkpoints of a server elsewhere. Needs neither database nor settings.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use ::webhooks::client::{AddressGuard, Client, ClientSettings};
use audit::log::{
    Checkpoint, CheckpointKey, ConsistencyProof, Hash,
    witness::{AddCheckpoint, Cosigner, WitnessError, WitnessedLog},
};
use clap::Subcommand;
use data_encoding::{BASE64, HEXLOWER};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, AUTHORIZATION, USER_AGENT},
};
use kernel::{Env, Secret};
use ring::digest::{SHA256, digest};
use serde_json::json;

use crate::cli::report::{Report, Result};

/// Maximum size of a checkpoint or proof, in bytes.
const MAX_ANSWER: usize = 64 * 1024;
/// File name of the newest cosigned checkpoint, as C2SP tlog-witness has it.
const CHECKPOINT: &str = "checkpoint";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Generate the key of a witness, and print its public key
    #[command(
        after_help = "Example:\n  gatehouse audit witness key --name witness.example/acme --out witness.key"
    )]
    Key {
        /// Name of the witness, such as a domain and a path
        #[arg(long)]
        name: String,
        /// File of the private key; must not exist
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Verify that a tenant's audit log only grew since the last run, and cosign its checkpoint. Exits with 1 if the log was changed
    #[command(
        after_help = "Example:\n  gatehouse audit witness cosign --url https://gatehouse.example.com --token-file token --log-key \"$(cat key.txt)\" --key witness.key --dir witnessed"
    )]
    Cosign {
        /// URL of the server
        #[arg(long)]
        url: String,
        /// File with a personal access token of a user who may read the audit log
        #[arg(long, value_name = "FILE")]
        token_file: PathBuf,
        /// Public key of the log, from `audit key`. Repeatable
        #[arg(long, value_name = "KEY", required = true)]
        log_key: Vec<String>,
        /// File of the witness's private key, from `audit witness key`
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Directory of cosigned checkpoints
        #[arg(long, value_name = "DIR")]
        dir: PathBuf,
    },
}

pub(crate) async fn run(command: Command, env: &dyn Env) -> Result<Report> {
    match command {
        Command::Key { name, out } => generate(&name, &out, env),
        Command::Cosign { url, token_file, log_key, key, dir } => {
            let keys = log_key.iter().flat_map(|text| text.split_whitespace());
            let keys = keys.map(|text| {
                CheckpointKey::parse(text)
                    .ok_or_else(|| format!("--log-key: not a public key of a log: {text}"))
            });
            let keys = keys.collect::<std::result::Result<Vec<_>, _>>()?;
            let cosigner = Secret::new(read(&key)?);
            let cosigner = Cosigner::parse(cosigner.expose())
                .ok_or_else(|| format!("{}: not the private key of a witness", key.display()))?;
            let log = RemoteLog::new(&url, Secret::new(read(&token_file)?.trim().to_owned()))?;
            cosign(&log, keys, &cosigner, &dir, env).await
        }
    }
}

fn read(path: &Path) -> Result<String> {
    Ok(fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?)
}

fn generate(name: &str, out: &Path, env: &dyn Env) -> Result<Report> {
    let made = Cosigner::generate(env, name);
    let (cosigner, text) =
        made.ok_or("--name: write a name without spaces and +, such as witness.example/acme")?;
    let problem = |error: std::io::Error| format!("--out: {}: {error}", out.display());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(out).map_err(problem)?;
    writeln!(file, "{}", text.expose()).and_then(|()| file.sync_all()).map_err(problem)?;
    let key = cosigner.key().to_string();
    Ok(Report::new(json!({ "name": name, "key": key }), key))
}

/// The audit log of a server elsewhere.
struct RemoteLog {
    client: Client,
    url: String,
    token: Secret<String>,
}

impl RemoteLog {
    fn new(url: &str, token: Secret<String>) -> Result<Self> {
        let url = url.trim_end_matches('/').to_owned();
        let is_local =
            ["http://localhost", "http://127.", "http://[::1]"].iter().any(|start| url.starts_with(start));
        if !url.starts_with("https://") && !is_local {
            return Err("--url: use https; over http, anybody on the way could read the token".into());
        }
        // Whoever runs the command may connect anywhere.
        let guard = AddressGuard::new(vec!["0.0.0.0/0".parse()?, "::/0".parse()?], true);
        let client = Client::new(guard, ClientSettings::default())?;
        Ok(Self { client, url, token })
    }

    /// Returns the response to a request of the API of audit logs.
    async fn get(&self, path: &str, accept: &'static str) -> Result<String> {
        let url = format!("{}/api/settings/audit-log/{path}", self.url);
        let target = self.client.guard().target(&url).map_err(|error| format!("--url: {error}"))?;
        let bearer = Secret::new(format!("Bearer {}", self.token.expose()));
        let mut bearer = HeaderValue::from_str(bearer.expose()).map_err(|_| "--token-file: not a token")?;
        bearer.set_sensitive(true);
        let agent = HeaderValue::from_static(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")));
        let headers: HeaderMap =
            [(AUTHORIZATION, bearer), (ACCEPT, HeaderValue::from_static(accept)), (USER_AGENT, agent)]
                .into_iter()
                .collect();
        let answer = self.client.get(&target, headers, MAX_ANSWER).await;
        let answer = answer.map_err(|failure| format!("{url}: {failure:?}"))?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if answer.status == 200 { Ok(text) } else { Err(format!("{url}: {}: {text}", answer.status).into()) }
    }

    /// Returns the newest checkpoint.
    async fn checkpoint(&self) -> Result<String> {
        self.get("checkpoint", "text/plain").await
    }

    /// Returns the proof that the log of size `from` is the start of the log of size `to`.
    async fn proof(&self, from: u64, to: u64) -> Result<Vec<Hash>> {
        if from == 0 || from >= to {
            return Ok(Vec::new());
        }
        let text = self.get(&format!("consistency?from={from}&to={to}"), "application/json").await?;
        let proof: ConsistencyProof = serde_json::from_str(&text)?;
        let hash = |text: &String| BASE64.decode(text.as_bytes()).ok()?.try_into().ok();
        let path: Option<Vec<Hash>> = proof.path.iter().map(hash).collect();
        Ok(path.ok_or("the consistency proof is malformed")?)
    }
}

/// Cosigns the newest checkpoint and stores it, or stores what proves that the log was changed.
async fn cosign(
    log: &RemoteLog,
    keys: Vec<CheckpointKey>,
    cosigner: &Cosigner,
    dir: &Path,
    env: &dyn Env,
) -> Result<Report> {
    let origin = keys.first().map(|key| key.name().to_owned()).unwrap_or_default();
    if keys.iter().any(|key| key.name() != origin) {
        return Err("--log-key: the keys are of several logs; run the command for each of them".into());
    }
    let store = WitnessStore::open(dir, &origin)?;
    let witnessed = WitnessedLog::new(keys, store.newest()?);
    let known = witnessed.size();
    let note = log.checkpoint().await?;
    let checkpoint = witnessed.verified(&note)?;
    let proof = log.proof(known, checkpoint.size).await?;
    match witnessed.advance(&note, known, &proof) {
        Ok(advance) => {
            let line = cosigner.cosign(&note, env.now())?;
            let path = store.put(&format!("{note}{line}"))?;
            let size = advance.checkpoint.size;
            let json = json!({ "origin": origin, "size": size, "before": known, "file": path });
            let line = format!(
                "Cosigned {origin}: {size} entries, {known} before\nCosigned checkpoint: {}",
                path.display()
            );
            Ok(Report::new(json, line))
        }
        Err(
            error @ (WitnessError::RolledBack { .. }
            | WitnessError::Forked(_)
            | WitnessError::Unproved { .. }),
        ) => {
            let evidence = AddCheckpoint { old_size: known, proof, note };
            let path = store.keep_evidence(&evidence, env)?;
            let json =
                json!({ "origin": origin, "before": known, "problem": error.to_string(), "evidence": path });
            let lines = format!("{origin}: {error}\nNot cosigned. Evidence: {}", path.display());
            Ok(Report { json, lines, failed: true })
        }
        Err(error) => Err(error.into()),
    }
}

/// The directory of a log: its newest cosigned checkpoint, and evidence of changes.
struct WitnessStore {
    dir: PathBuf,
    /// Locked until the run ends, so that no other run cosigns in between.
    _lock: File,
}

impl WitnessStore {
    fn open(dir: &Path, origin: &str) -> Result<Self> {
        let dir = dir.join(HEXLOWER.encode(digest(&SHA256, origin.as_bytes()).as_ref()));
        let problem = |error: std::io::Error| format!("--dir: {}: {error}", dir.display());
        fs::create_dir_all(&dir).map_err(problem)?;
        let lock = File::create(dir.join("lock")).map_err(problem)?;
        lock.try_lock().map_err(|_| format!("--dir: another run uses {}", dir.display()))?;
        Ok(Self { _lock: lock, dir })
    }

    /// Returns the newest cosigned checkpoint.
    fn newest(&self) -> Result<Option<Checkpoint>> {
        let path = self.dir.join(CHECKPOINT);
        match fs::read_to_string(&path) {
            Ok(note) => {
                let checkpoint =
                    Checkpoint::read(&note).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Some(checkpoint))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display()).into()),
        }
    }

    /// Replaces the newest cosigned checkpoint. Returns its file.
    fn put(&self, note: &str) -> Result<PathBuf> {
        let (path, next) = (self.dir.join(CHECKPOINT), self.dir.join("checkpoint.new"));
        write_durably(&next, note)?;
        fs::rename(&next, &path).map_err(|error| format!("{}: {error}", path.display()))?;
        File::open(&self.dir)?.sync_all()?;
        Ok(path)
    }

    fn keep_evidence(&self, evidence: &AddCheckpoint, env: &dyn Env) -> Result<PathBuf> {
        let path = self.dir.join(format!("evidence-{}.txt", env.now().unix_millis()));
        write_durably(&path, &evidence.to_string())?;
        Ok(path)
    }
}

fn write_durably(path: &Path, text: &str) -> Result<()> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    Ok(written.map_err(|error| format!("{}: {error}", path.display()))?)
}
