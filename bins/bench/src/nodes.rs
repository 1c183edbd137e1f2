//! `cargo xtask bench nodes`: creates on a distributed database with one, two and three workers, each held to a share of
//! a processor, because the machine has too few processors for real ones. Then the costs of single requests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use xtask::{
    citus::{Nodes, placement},
    cluster::Durability,
    server::{Server, gatehouse, member, serve},
    sh::{self, Result},
    system,
};

use crate::{
    build, cpu,
    figures::Area,
    folder::Folder,
    load::{self, Run},
    node_costs,
    site::create_named,
};

const AREA: Area = Area("nodes");
/// The most workers.
const WORKERS: usize = 3;
/// Tenants, the same number on each worker.
const TENANTS: usize = 6;
/// Connections.
const CLIENTS: usize = 12;
/// The share of one processor that each worker may use, in percent.
const SHARE: u32 = 20;
/// Period over which the share holds, in microseconds.
const PERIOD: u32 = 50_000;
const WARM_UP: Duration = Duration::from_secs(5);
const TIME: Duration = Duration::from_secs(20);

/// Runs the benchmark. `costs` runs only the part about single requests.
pub(crate) fn run(part: Option<&str>) -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::TEST)?;
    let program = build::gatehouse()?;
    println!("load average before: {}", cpu::load_average());
    if part != Some("costs") {
        scaling(&program)?;
    }
    node_costs::run(AREA, &program)?;
    println!("load average after: {}", cpu::load_average());
    Ok(())
}

/// Compares creates with one, two and three workers.
fn scaling(program: &Path) -> Result<()> {
    println!("each worker may use {SHARE} % of a processor");
    println!(
        "| workers | creates/s | of linear | p50 ms | p99 ms | server µs | coordinator µs | workers µs |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (mut one, mut of_linear) = (0.0, 0.0);
    for workers in 1..=WORKERS {
        let (run, [server, coordinator, all_workers]) = measure(program, workers)?;
        if workers == 1 {
            one = run.rate;
        }
        of_linear = run.rate / one / workers as f64;
        println!(
            "| {workers} | {:.0} | {:.2} | {:.1} | {:.1} | {server:.0} | {coordinator:.0} | {all_workers:.0} |",
            run.rate,
            of_linear,
            run.percentile(0.5),
            run.percentile(0.99)
        );
    }
    AREA.at_least("creates with three workers / linear", of_linear, "", 0.85);
    Ok(())
}

/// Returns the run, and the CPU microseconds of each create in the server, on the coordinator and on the workers.
fn measure(program: &Path, workers: usize) -> Result<(Run, [f64; 3])> {
    let nodes = Nodes::start(workers, Durability::Steady)?;
    let url = nodes.database("bench")?;
    gatehouse(program, &url, &["migrate", "--distribute"])?;
    let tokens = tokens(program, &url, &nodes)?;
    let folder = Folder::new(&format!("nodes-{workers}"))?;
    let server = Server::start(&mut serve(program, &url, &folder))?;
    let create = |number: u64| {
        let at = usize::try_from(number).unwrap_or(0) % tokens.len();
        create_named(&format!("user-{number}"), tokens.get(at).map_or("", String::as_str))
    };
    load::run(server.address, CLIENTS, WARM_UP, 201, &create)?;
    let held: Vec<_> = nodes.workers.iter().map(|worker| Held::new(worker.pid())).collect::<Result<_>>()?;
    load::run(server.address, CLIENTS, WARM_UP, 201, &create)?;
    let seconds = || {
        let workers = nodes.workers.iter().map(|worker| cpu::seconds(worker.pid())).sum();
        [cpu::seconds(server.pid()), cpu::seconds(nodes.coordinator.pid()), workers]
    };
    let before: [f64; 3] = seconds();
    let run = load::run(server.address, CLIENTS, TIME, 201, &create)?;
    let after = seconds();
    drop(held);
    if run.unexpected > 0 {
        return Err(run.refused());
    }
    let mut micros = [0.0; 3];
    for ((micros, before), after) in micros.iter_mut().zip(before).zip(after) {
        *micros = (after - before) * 1e6 / run.answers as f64;
    }
    drop(server);
    Ok((run, micros))
}

/// Creates tenants until each worker has its share of them, and returns a token of each.
fn tokens(program: &Path, url: &str, nodes: &Nodes) -> Result<Vec<String>> {
    let mut left: Vec<_> = nodes
        .workers
        .iter()
        .map(|worker| (worker.port().to_string(), TENANTS / nodes.workers.len()))
        .collect();
    let mut tokens = Vec::new();
    for number in 0..256 {
        let slug = format!("bench-{number}");
        let made = gatehouse(program, url, &["tenant", "create", "--slug", &slug, "--name", "Bench"])?;
        let (_, port) = placement(url, &member(&made, "id")?)?;
        let Some((_, wanted)) = left.iter_mut().find(|(at, wanted)| *at == port && *wanted > 0) else {
            continue;
        };
        *wanted -= 1;
        let minted = gatehouse(program, url, &["token", "scim", "--tenant", &slug, "--name", "bench"])?;
        tokens.push(member(&minted, "token")?);
        if tokens.len() == TENANTS {
            return Ok(tokens);
        }
    }
    Err("the tenants do not spread over the workers".into())
}

/// A control group that holds a process and its children to the share. Dropping it ends this.
struct Held(PathBuf);

impl Held {
    fn new(pid: u32) -> Result<Self> {
        let (first, second) = (Path::new("/sys/fs/cgroup/cpu"), Path::new("/sys/fs/cgroup"));
        let name = format!("gatehouse-bench-{pid}");
        let quota = PERIOD * SHARE / 100;
        let (folder, settings) = if first.is_dir() {
            let settings =
                vec![("cpu.cfs_period_us", PERIOD.to_string()), ("cpu.cfs_quota_us", quota.to_string())];
            (first.join(name), settings)
        } else {
            (second.join(name), vec![("cpu.max", format!("{quota} {PERIOD}"))])
        };
        let write = |file: &str, text: &str| {
            let path = folder.join(file);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for (file, text) in settings {
            write(file, &text)?;
        }
        let children = sh::output(Command::new("pgrep").args(["-P", &pid.to_string()]))?;
        for pid in std::iter::once(pid.to_string()).chain(children.lines().map(str::to_owned)) {
            write("cgroup.procs", &pid)?;
        }
        Ok(Self(folder))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let root = self.0.parent().map(|parent| parent.join("cgroup.procs"));
        let inside = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines() {
            let _ended = root.as_ref().map(|root| fs::write(root, pid));
        }
        let _gone = fs::remove_dir(&self.0);
    }
}
