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

/// Cosigns the newest checkpoint and stores it, or stores what proves that the log was changed.
pub(super) async fn cosign(
    log: &RemoteLog,
    keys: Vec<CheckpointKey>,
    cosigner: &Cosigner,
    dir: &Path,
    env: &dyn Env,
) -> Result<Report> {
    let origin = keys.first().ok_or("--log-key-file: the file is empty")?.name().to_owned();
    if keys.iter().any(|key| key.name() != origin) {
        return Err("--log-key-file: the keys are of several logs; run the command for each of them".into());
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
