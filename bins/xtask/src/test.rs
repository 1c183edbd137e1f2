//! `cargo xtask test`: runs everything that CI checks and prints the duration of each stage.

use std::{
    fs::File,
    process::Command,
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability},
    sh::{self, Result, cargo},
    system,
};

use crate::{
    outside, prose,
    timed::{minutes, timed},
};

pub(crate) fn run() -> Result<()> {
    let mut stages = Stages::new();
    let done = all(&mut stages);
    stages.print();
    done
}

/// Optional features are tested too.
const OTLP: [&str; 2] = ["--features", "gatehouse/otlp"];

/// How long each fuzz target runs on generated input.
const FUZZ_SECONDS: &str = "5";

/// The test that runs the compiler, in `crates/gate/tests/compile_fail.rs`.
const COMPILER: &str = "access_checks_cannot_be_bypassed";

fn all(stages: &mut Stages) -> Result<()> {
    stages.run("install", || {
        system::install(&system::BUILD)?;
        system::install(&system::TEST)
    })?;
    stages.run("format", || sh::run(cargo().args(["fmt", "--all", "--check"])))?;
    // One pass of the compiler checks the lints and builds everything. Later stages use what it has built.
    sh::check_lints();
    stages.run("clippy, build tests", || {
        sh::run(cargo().args(["build", "--locked", "--workspace", "--all-targets"]).args(OTLP))
    })?;
    stages.run("prose", prose::run)?;
    let cluster = stages.run("start PostgreSQL", || Cluster::start(Durability::None))?;
    let url = cluster.url();
    let test = || {
        let mut command = cargo();
        command.args(["test", "--locked", "--workspace"]).args(OTLP).envs(cluster.variables());
        command
    };
    // The compiler uses the whole machine, so it does not run next to tests that depend on timing.
    stages.run("tests, doc tests", || {
        // Set the duration of the fuzz targets. Plain `cargo test -p` runs them for 0.3 seconds.
        let mut command = test();
        command.args(["--no-fail-fast", "--", "--skip", COMPILER]).env("FUZZ_SECONDS", FUZZ_SECONDS);
        sh::run(&mut command)
    })?;
    stages.run("must not compile", || {
        // Pass the arguments above, so that the libraries are not built again with others.
        let built = ["--workspace", OTLP[0], OTLP[1]].join(" ");
        sh::run(test().args(["--test", "compile_fail"]).env("CARGO_TEST_ARGUMENTS", built))
    })?;
    stages.run("examples", examples)?;
    stages.run("faults", || sh::run(Command::new(sh::built("chaos")).arg("short")))?;
    // Each of these leaves a processor idle much of the time.
    let outside = || outside::run(&url);
    stages.run_both(("outside tools", outside), ("browser", browser_in_background))
}

/// Runs the browser tests in another process, and prints its output at the end.
fn browser_in_background() -> Result<()> {
    let path = sh::root().join("target/browser.log");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let log = File::create(&path).map_err(failed)?;
    // The program that runs these stages was replaced by their build.
    let mut command = Command::new(sh::built("xtask"));
    command.arg("browser").stdout(log.try_clone().map_err(failed)?).stderr(log);
    let done = sh::run(&mut command);
    print!("== output of browser\n{}", std::fs::read_to_string(&path).map_err(failed)?);
    done
}

/// Runs every `examples/*.rs` of the domain crates to completion.
fn examples() -> Result<()> {
    let crates = std::fs::read_dir(sh::root().join("crates")).map_err(|error| error.to_string())?;
    for package in crates.flatten() {
        let Ok(files) = std::fs::read_dir(package.path().join("examples")) else { continue };
        for file in files.flatten() {
            let path = file.path();
            let Some(name) = path.file_stem() else { continue };
            // Skip benchmarks and servers. Tests run the servers.
            if [
                "allowlist",
                "floor",
                "seed",
                "decision_cost",
                "validation_cost",
                "hashmap",
                "in_memory",
                "payroll",
                "receive",
                "receiver",
                "remote",
            ]
            .iter()
            .any(|other| name == *other)
            {
                continue;
            }
            sh::run(&mut Command::new(sh::built("examples").join(name)))?;
        }
    }
    Ok(())
}

/// The stages that ran, with duration and success.
struct Stages {
    start: Instant,
    ended: Vec<(&'static str, Duration, bool)>,
}

impl Stages {
    fn new() -> Self {
        Self { start: Instant::now(), ended: Vec::new() }
    }

    fn run<T>(&mut self, name: &'static str, stage: impl FnOnce() -> Result<T>) -> Result<T> {
        let (done, time) = timed(name, stage);
        self.end(name, done, time)
    }

    /// Runs two stages at the same time.
    fn run_both(
        &mut self,
        (name, stage): (&'static str, impl FnOnce() -> Result<()>),
        (other_name, other): (&'static str, impl FnOnce() -> Result<()> + Send),
    ) -> Result<()> {
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(|| timed(other_name, other));
            (timed(name, stage), other.join())
        });
        let second = second.unwrap_or_else(|_| (Err("panicked".into()), Duration::ZERO));
        let (first, second) = (self.end(name, first.0, first.1), self.end(other_name, second.0, second.1));
        first.and(second)
    }

    fn end<T>(&mut self, name: &'static str, done: Result<T>, time: Duration) -> Result<T> {
        self.ended.push((name, time, done.is_ok()));
        done.map_err(|error| format!("{name}: {error}"))
    }

    fn print(&self) {
        println!("\n{:<20} minutes", "stage");
        for (name, time, ok) in &self.ended {
            println!("{name:<20} {:>7.1}  {}", minutes(*time), if *ok { "ok" } else { "FAILED" });
        }
        println!("{:<20} {:>7.1}", "total", minutes(self.start.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_test_exists() {
        let source = std::fs::read_to_string(sh::root().join("crates/gate/tests/compile_fail.rs")).unwrap();
        assert!(source.contains(&format!("fn {COMPILER}(")));
    }
}
