//! `gatehouse audit witness request`

use std::path::Path;

use audit::log::{
    Checkpoint,
    witness::{AddCheckpoint, Witness, WitnessPolicy, cosignatures},
};
use serde_json::json;

use super::{
    remote::{Cosigning, RemoteLog},
    store::replace_durably,
};
use crate::cli::report::{Report, Result};

/// How often a witness is asked that meanwhile cosigned a newer checkpoint.
const ROUNDS: usize = 3;

/// Requests the cosignatures of all witnesses that have a URL, and stores the checkpoint if they suffice.
pub(super) async fn request(log: &RemoteLog, policy: &WitnessPolicy, out: &Path) -> Result<Report> {
    let mut note = log.checkpoint().await?;
    let checkpoint = verified_checkpoint(&note, policy)?;
    let (mut cosigned, mut problems) = (Vec::new(), Vec::new());
    for witness in policy.witnesses() {
        let Some(url) = &witness.url else { continue };
        match one(log, policy, (&checkpoint, &note), (witness, url)).await {
            Ok(lines) => {
                note.push_str(&lines);
                cosigned.push(witness.name.clone());
            }
            Err(error) => problems.push(format!("{}: {error}", witness.name)),
        }
    }
    let quorum = policy.verify(&note, &[]).map(|_| ()).map_err(|error| error.to_string());
    if quorum.is_ok() {
        replace_durably(out, &note)?;
    }
    let mut lines: Vec<String> = problems.clone();
    lines.push(match &quorum {
        Ok(()) => format!("{} entries, cosigned by {}", checkpoint.size, cosigned.join(", ")),
        Err(problem) => format!("{} entries: {problem}", checkpoint.size),
    });
    let json = json!({
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "cosigned": cosigned,
        "problems": problems,
        "quorum": quorum.is_ok(),
    });
    Ok(Report { json, lines: lines.join("\n"), failed: quorum.is_err() })
}

fn verified_checkpoint(note: &str, policy: &WitnessPolicy) -> Result<Checkpoint> {
    let checkpoint = Checkpoint::verified(note, policy.logs());
    Ok(checkpoint
        .map_err(|error| format!("the checkpoint is invalid with the policy's keys of logs: {error}"))?)
}

/// Returns the valid cosignature of one witness, as lines of a note.
async fn one(
    log: &RemoteLog,
    policy: &WitnessPolicy,
    (checkpoint, note): (&Checkpoint, &str),
    (witness, url): (&Witness, &str),
) -> Result<String> {
    let mut old_size = 0;
    for _ in 0..ROUNDS {
        let proof = log.proof(old_size, checkpoint.size).await?;
        let request = AddCheckpoint { old_size, proof, note: note.to_owned() };
        match log.ask_witness(url, &request).await? {
            Cosigning::Cosigned(lines) => return verified(note, &lines, witness),
            Cosigning::Knows(size) if size > checkpoint.size => {
                // Another request may have been faster than this one.
                let now = verified_checkpoint(&log.checkpoint().await?, policy)?.size;
                let problem = if now < size {
                    format!(
                        "it has cosigned {size} entries, and the server shows {now}: the log was rolled back"
                    )
                } else {
                    format!("it has cosigned {size} entries meanwhile; try again")
                };
                return Err(problem.into());
            }
            Cosigning::Knows(size) => old_size = size,
        }
    }
    Err("it cosigns other checkpoints at the same time; try again".into())
}

/// Returns the lines of a response that are valid cosignatures of the witness.
fn verified(note: &str, lines: &str, witness: &Witness) -> Result<String> {
    let keys = std::slice::from_ref(&witness.key);
    // Without the cosignatures that others have added.
    let (text, _) = note.split_once("\n\n").ok_or("the checkpoint is malformed")?;
    let is_valid =
        |line: &&str| cosignatures(&format!("{text}\n\n{line}\n"), keys).is_ok_and(|found| !found.is_empty());
    match lines.lines().find(is_valid) {
        Some(line) => Ok(format!("{line}\n")),
        None => Err("its response has no valid cosignature with the key of the policy".into()),
    }
}
