//! `cargo xtask bench policies`: what decisions cost.

use std::process::Command;

use super::cpu;
use crate::sh::{self, Result, cargo};

pub(crate) fn run() -> Result<()> {
    let build = ["build", "--locked", "--release", "--package", "netpolicy", "--example", "decision_cost"];
    sh::run(cargo().args(build))?;
    println!("load average before: {}", cpu::load_average());
    println!("\n| rules | a decision, ns (bar 300) | a look at every rule | a trie of prefixes |");
    println!("|---|---|---|---|");
    let said = sh::output(&mut Command::new(sh::root().join("target/release/examples/decision_cost")))?;
    for line in said.lines() {
        println!("| {} |", line.split(' ').collect::<Vec<_>>().join(" | "));
    }
    Ok(())
}
