//! `gatehouse audit witness`: witnesses the audit logs of a server elsewhere. Needs neither database nor settings.

mod cosign;
mod remote;
mod request;
mod store;

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use audit::log::{
    CheckpointKey,
    witness::{Cosigner, WitnessPolicy},
};
use clap::{Args, Subcommand};
use kernel::{Env, Secret};
use serde_json::json;

use self::remote::RemoteLog;
use crate::cli::report::{Report, Result};

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
        after_help = "Example:\n  gatehouse audit witness cosign --url https://gatehouse.example.com --token-file token --log-key-file log.key --key witness.key --dir witnessed --first"
    )]
    Cosign {
        #[command(flatten)]
        server: ServerArgs,
        /// File with the public keys of the log, from `audit key`
        #[arg(long, value_name = "FILE")]
        log_key_file: PathBuf,
        /// File of the witness's private key, from `audit witness key`
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Directory of cosigned checkpoints; must exist
        #[arg(long, value_name = "DIR")]
        dir: PathBuf,
        /// Accept a log of which the directory has no checkpoint, in the first run
        #[arg(long)]
        first: bool,
    },
    /// Request cosignatures of a tenant's checkpoint from the witnesses of a policy (C2SP tlog-witness). Exits with 1 without a quorum
    #[command(
        after_help = "Example:\n  gatehouse audit witness request --url https://gatehouse.example.com --token-file token --policy policy.txt --out checkpoint.txt"
    )]
    Request {
        #[command(flatten)]
        server: ServerArgs,
        /// Policy with the keys of the log and of witnesses, and their URLs (C2SP tlog-policy)
        #[arg(long, value_name = "FILE")]
        policy: PathBuf,
        /// File of the cosigned checkpoint. Replaced once the quorum has cosigned
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct ServerArgs {
    /// URL of the server
    #[arg(long)]
    url: String,
    /// File with a personal access token of a user who may read the audit log
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
}

impl ServerArgs {
    fn log(&self) -> Result<RemoteLog> {
        RemoteLog::new(&self.url, Secret::new(read(&self.token_file)?.trim().to_owned()))
    }
}

pub(crate) async fn run(command: Command, env: &dyn Env) -> Result<Report> {
    match command {
        Command::Key { name, out } => generate(&name, &out, env),
        Command::Cosign { server, log_key_file, key, dir, first } => {
            let text = read(&log_key_file)?;
            let keys = text.split_whitespace().map(|text| {
                CheckpointKey::parse(text)
                    .ok_or_else(|| format!("--log-key-file: not a public key of a log: {text}"))
            });
            let keys = keys.collect::<std::result::Result<Vec<_>, _>>()?;
            let cosigner = Secret::new(read(&key)?);
            let cosigner = Cosigner::parse(cosigner.expose())
                .ok_or_else(|| format!("{}: not the private key of a witness", key.display()))?;
            cosign::cosign(&server.log()?, keys, &cosigner, (&dir, first), env).await
        }
        Command::Request { server, policy, out } => {
            request::request(&server.log()?, &read_policy(&policy)?, &out).await
        }
    }
}

/// Reads a policy from a file.
pub(super) fn read_policy(path: &Path) -> Result<WitnessPolicy> {
    let policy = read(path)?.parse::<WitnessPolicy>();
    Ok(policy.map_err(|error| format!("{}: {error}", path.display()))?)
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<String> {
    Ok(std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?)
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
