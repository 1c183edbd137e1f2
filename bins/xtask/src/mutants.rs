//! Mutation tests of the libraries: does some test fail if an expression is replaced?

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use xtask::{
    sh::{self, Result},
    system,
};

use crate::tool;

/// The crates whose tests are examined: rules that need neither a server nor a database.
pub(crate) const CRATES: [&str; 10] = [
    "tokens",
    "stepup",
    "netpolicy",
    "sessions",
    "credentials",
    "directory",
    "attestation",
    "webhooks",
    "scim-core",
    "audit",
];

/// The page with the score of each crate, and with the reason why a mutant is not caught.
const PAGE: &str = "docs/design/mutation-tests.md";

/// Percentage of mutants that the tests have to catch.
const MIN_PERCENT: usize = 95;

/// What became of the mutants of a crate.
#[derive(Default)]
struct Score {
    /// Number of mutants for which a test failed.
    failed: usize,
    /// Number of mutants whose tests did not end in time, which counts as caught.
    endless: usize,
    missed: Vec<String>,
}

impl Score {
    fn caught(&self) -> usize {
        self.failed + self.endless
    }

    fn percent(&self) -> usize {
        100 * self.caught() / (self.caught() + self.missed.len()).max(1)
    }
}

/// Examines the crates and prints their scores. Fails for a crate below the minimum, and for a missed mutant whose reason
/// is not on the page.
pub(crate) fn run(crates: &[String]) -> Result<()> {
    system::install(&system::BUILD)?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let page = fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let reasons = reasons(&page);
    let chosen = CRATES.into_iter().filter(|name| crates.is_empty() || crates.iter().any(|one| one == name));
    let mut scores = BTreeMap::new();
    for name in chosen {
        scores.insert(name, examine(&root, name)?);
    }
    println!("\n| Crate | Mutants | Caught | Score |\n|---|---|---|---|");
    let mut complaints = Vec::new();
    for (name, score) in &scores {
        let all = score.caught() + score.missed.len();
        println!("| {name} | {all} | {} | {} % |", score.caught(), score.percent());
        if score.percent() < MIN_PERCENT {
            complaints.push(format!("{name}: {} % are caught, not {MIN_PERCENT} %", score.percent()));
        }
        let unexplained = score.missed.iter().filter(|mutant| !reasons.contains(*mutant));
        complaints
            .extend(unexplained.map(|mutant| format!("{mutant}: no test fails and {PAGE} has no reason")));
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

/// Returns the mutants in the first column of the page's tables, where `|` is written as `\|`.
fn reasons(page: &str) -> BTreeSet<String> {
    let first_cell = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    first_cell.map(|(mutant, _)| mutant.replace("\\|", "|")).collect()
}

/// Examines a crate with its unit and integration tests. If these miss mutants, such mutants and those that did not end
/// are examined again with all tests. Building examples and documentation tests for each mutant would take twice as long,
/// so tests that run an example are left out at first.
fn examine(root: &Path, name: &str) -> Result<Score> {
    println!("== {name}");
    let first = pass(root, name, &["--cargo-arg=--tests"], &["--", "--skip", OF_EXAMPLES])?;
    if first.missed.is_empty() {
        return Ok(first);
    }
    let second = pass(root, name, &["--iterate"], &[])?;
    Ok(Score { failed: first.failed + second.failed, ..second })
}

/// The beginning of the names of tests that run an example.
const OF_EXAMPLES: &str = "example_service_";

/// Runs `cargo mutants` with these options.
fn pass(root: &Path, name: &str, options: &[&str], test_arguments: &[&str]) -> Result<Score> {
    let output = root.join("target/mutants").join(name);
    fs::create_dir_all(&output).map_err(|error| error.to_string())?;
    let mut mutants = Command::new(tool::program("cargo-mutants", "27.1.0")?);
    mutants.current_dir(root).args(["mutants", "--package", &format!("gatehouse-{name}")]).args(options);
    mutants.arg("--output").arg(&output).args(["--no-times", "--colors", "never"]);
    // Suites for the storage of others, which their tests examine.
    mutants.args(["--exclude", "crates/*/src/conformance.rs", "--exclude", "crates/*/src/conformance/**"]);
    mutants.arg("--").args(test_arguments);
    // One build directory for all, so that dependencies are compiled once.
    mutants.env("CARGO_TARGET_DIR", root.join("target/mutants/build")).env("CARGO_INCREMENTAL", "1");
    // Nobody debugs these builds, and they are smaller without line tables.
    mutants.env("CARGO_PROFILE_DEV_DEBUG", "0");
    // A mutant that is not caught is no failure of the run.
    let status = mutants.status().map_err(|error| error.to_string())?;
    match status.code() {
        Some(0 | 2 | 3) => score(&output.join("mutants.out/outcomes.json")),
        _ => Err(format!("cargo-mutants failed for {name}: {status}")),
    }
}

/// Reads the outcomes of a run. A mutant that does not compile counts for nothing; one that runs for too long is caught.
fn score(outcomes: &PathBuf) -> Result<Score> {
    let text = fs::read_to_string(outcomes).map_err(|error| format!("{}: {error}", outcomes.display()))?;
    let outcomes: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut score = Score::default();
    for outcome in outcomes.pointer("/outcomes").and_then(Value::as_array).into_iter().flatten() {
        let Some(mutant) = outcome.pointer("/scenario/Mutant") else { continue };
        match outcome.get("summary").and_then(Value::as_str) {
            Some("CaughtMutant") => score.failed += 1,
            Some("Timeout") => score.endless += 1,
            Some("MissedMutant") => score.missed.push(described(mutant)),
            _ => {}
        }
    }
    Ok(score)
}

/// Returns file and change, without the line, which moves.
fn described(mutant: &Value) -> String {
    let text = |name: &str| mutant.get(name).and_then(Value::as_str).unwrap_or_default();
    let (file, name) = (text("file"), text("name"));
    let change = name.split_once(": ").map_or(name, |(_, change)| change);
    format!("{file}: {change}")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use xtask::sh;

    use super::{CRATES, PAGE, described, reasons};

    #[test]
    fn page_has_a_row_for_each_crate() {
        let page = fs::read_to_string(sh::root().join(PAGE)).unwrap();
        for name in CRATES {
            assert!(page.contains(&format!("| {name} |")), "{name}");
        }
    }

    #[test]
    fn reasons_are_found_by_the_mutant() {
        let mutant = json!({
            "file": "crates/tokens/src/pat.rs",
            "name": "crates/tokens/src/pat.rs:12:5: replace || with && in writes",
        });
        let page = "| Mutant | Reason |\n|---|---|\n\
                    | `crates/tokens/src/pat.rs: replace \\|\\| with && in writes` | equal |\n";
        assert!(reasons(page).contains(&described(&mutant)));
        assert!(!reasons("| x | `y` |").contains("y"));
    }
}
