//! `gatehouse audit witness cosign`

use std::path::Path;

use audit::log::{
    CheckpointKey,
    witness::{AddCheckpoint, Cosigner, WitnessError, WitnessedLog},
};
use kernel::Env;
use serde_json::json;

use super::{remote::RemoteLog, store::WitnessStore};
use crate::cli::report::{Report, Result};

/// Cosigns the newest checkpoint and stores it, or stores what contradicts the one before. `is_first`: the directory may
/// have none.
pub(super) async fn cosign(
    log: &RemoteLog,
    keys: Vec<CheckpointKey>,
    cosigner: &Cosigner,
    (dir, is_first): (&Path, bool),
    env: &dyn Env,
) -> Result<Report> {
    let origin = keys.first().ok_or("--log-key-file: the file is empty")?.name().to_owned();
    if keys.iter().any(|key| key.name() != origin) {
        return Err("--log-key-file: the keys are of several logs; run the command for each of them".into());
    }
    let store = WitnessStore::open(dir, &origin)?;
    let newest = store.newest()?;
    if newest.is_none() && !is_first {
        return Err("--dir: no checkpoint of this log is known; in the first run, add --first".into());
    }
    let witnessed = WitnessedLog::new(keys, newest);
    let known = witnessed.size();
    let note = log.checkpoint().await?;
    // The server's note may have other lines, which would be stored.
    let (size, note) = witnessed.verified(&note).map(|read| (read.checkpoint.size, read.note))?;
    let refuse = |proof, problem: String| {
        let evidence = AddCheckpoint { old_size: known, proof, note: note.clone() };
        let path = store.keep_evidence(&evidence)?;
        let json = json!({ "origin": origin, "before": known, "problem": problem, "evidence": path });
        let lines = format!("{origin}: {problem}\nNot cosigned. Evidence: {}", path.display());
        Ok(Report { json, lines, failed: true })
    };
    let proof = match log.proof(known, size).await {
        Ok(proof) => proof,
        Err(error) => {
            return refuse(Vec::new(), format!("the server does not prove that the log grew: {error}"));
        }
    };
    match witnessed.advance(&note, known, &proof) {
        Ok(_) => {
            let line = cosigner.cosign(&note, env.now())?;
            let path = store.put(&format!("{note}{line}"))?;
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
        ) => refuse(proof, error.to_string()),
        Err(error) => Err(error.into()),
    }
}
