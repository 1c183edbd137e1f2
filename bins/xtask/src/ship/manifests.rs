//! The systemd unit and the Kubernetes manifests.

use std::process::Command;

use xtask::{
    python,
    sh::{self, Result},
    system,
};

use super::shipped;

/// The highest exposure that `systemd-analyze security` may find, in tenths. A unit without hardening has 9.6.
const EXPOSURE: &str = "15";

pub(crate) fn run() -> Result<()> {
    system::install(&system::SYSTEMD)?;
    let shipped = shipped()?;
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--no-pager", "--offline=true", "--threshold", EXPOSURE]);
    security.arg(shipped.join("systemd/gatehouse.service"));
    let found = sh::output(&mut security)?;
    println!("{}", found.lines().last().unwrap_or_default());
    let mut check = Command::new(python::environment("manifests")?);
    check.arg("-B").arg(sh::peers().join("check_manifests.py")).arg(shipped.join("kubernetes"));
    sh::run(&mut check)
}
