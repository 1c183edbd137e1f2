//! The Debian package.

use std::{fs, path::Path, process::Command};

use xtask::{
    sh::{self, Result},
    system,
};

use super::{call, release};
use crate::tool;

/// Builds the package, and installs, configures, upgrades and purges it on this machine, which must not have it.
pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let program = release()?;
    let ship = root.join("target/ship");
    generate(&program, &ship)?;
    let deb = tool::program("cargo-deb", "3.8.0")?;
    let mut build = Command::new(deb);
    build.current_dir(&root).args(["--package", "gatehouse", "--no-build", "--locked"]);
    let package = root.join("target/debian/gatehouse.deb");
    sh::run(build.arg("--output").arg(&package))?;
    let text = package.display().to_string();
    call("dpkg-deb", &["--info", &text])?;
    call("dpkg-deb", &["--contents", &text])?;
    try_package(&text)
}

/// Writes the manual pages and the completions.
fn generate(program: &Path, ship: &Path) -> Result<()> {
    let (man, completions) = (ship.join("man"), ship.join("completions"));
    for folder in [&man, &completions] {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    sh::run(Command::new(program).arg("man").arg(&man))?;
    for (shell, name) in [("bash", "gatehouse.bash"), ("zsh", "_gatehouse"), ("fish", "gatehouse.fish")] {
        let script = sh::output(Command::new(program).args(["completions", shell]))?;
        fs::write(completions.join(name), script + "\n").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Installs the package and uses it as an operator would.
fn try_package(package: &str) -> Result<()> {
    if sh::output(Command::new("dpkg-query").args(["--show", "gatehouse"])).is_ok() {
        return Err("this machine has the package gatehouse already".to_owned());
    }
    call("apt-get", &["install", "-y", "-q", "--no-install-recommends", package])?;
    let tried = use_package(package);
    call("dpkg", &["--purge", "gatehouse"])?;
    tried
}

fn use_package(package: &str) -> Result<()> {
    let config = ["--config", "/etc/gatehouse/gatehouse.toml"];
    let gatehouse = |command: &[&str]| {
        let mut run = Command::new("runuser");
        run.args(["-u", "gatehouse", "--", "/usr/bin/gatehouse"]).args(command).args(config);
        run
    };
    // systemd creates the data directory of the unit.
    call("install", &["-d", "-o", "gatehouse", "-g", "gatehouse", "-m", "0700", "/var/lib/gatehouse"])?;
    sh::run(&mut gatehouse(&["migrate"]))?;
    sh::run(&mut gatehouse(&["doctor"]))?;
    let mode = sh::output(Command::new("stat").args(["-c", "%U:%G %a", "/etc/gatehouse/gatehouse.toml"]))?;
    if mode != "root:gatehouse 640" {
        return Err(format!("the settings belong to {mode}"));
    }
    // An upgrade keeps changed settings.
    call("sh", &["-c", "echo 'log_level = \"warn\"' >> /etc/gatehouse/gatehouse.toml"])?;
    call("dpkg", &["--install", package])?;
    let shown = sh::output(&mut gatehouse(&["config", "check"]))?;
    if !shown.contains("warn") {
        return Err("the upgrade replaced the settings".to_owned());
    }
    println!("installed, migrated, examined, upgraded");
    Ok(())
}
