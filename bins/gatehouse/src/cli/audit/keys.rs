//! Checkpoint keys of this installation.

use audit::log::CheckpointKeys;

use crate::config::Settings;

pub(super) fn own(settings: &Settings) -> CheckpointKeys {
    let masters = settings.master_keys();
    CheckpointKeys::derive(&masters)
}
