//! CPU time of processes, from `/proc`.

use std::collections::HashMap;

/// Clock ticks per second, the same on every Linux that Debian supports.
const TICKS: f64 = 100.0;

/// A line of `/proc/*/stat`: the parent, and the ticks of the process and of its ended children.
struct Stat {
    parent: u32,
    ticks: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; the fields after it are numbers.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    Some(Stat { parent: u32::try_from(number(1)?).ok()?, ticks })
}

/// Returns the CPU seconds of a process, its children and their ended children.
pub(super) fn seconds(root: u32) -> f64 {
    let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let stats: HashMap<u32, Stat> = pids.filter_map(|pid| Some((pid, stat(pid)?))).collect();
    let ticks: u64 =
        stats.iter().filter(|(pid, _)| descends(**pid, root, &stats)).map(|(_, stat)| stat.ticks).sum();
    ticks as f64 / TICKS
}

fn descends(mut pid: u32, root: u32, stats: &HashMap<u32, Stat>) -> bool {
    while pid > 1 {
        if pid == root {
            return true;
        }
        let Some(stat) = stats.get(&pid) else { return false };
        pid = stat.parent;
    }
    false
}

/// Returns the resident memory of a process in bytes.
pub(super) fn resident_bytes(pid: u32) -> u64 {
    memory(pid, "VmRSS:")
}

/// Returns the resident memory of a process without pages of files, such as of the program, in bytes.
pub(super) fn anonymous_bytes(pid: u32) -> u64 {
    memory(pid, "RssAnon:")
}

/// Returns the number of open file descriptors of a process.
pub(super) fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

fn memory(pid: u32, field: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() * 1024
}

/// Returns the load average of the last minute.
pub(super) fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

/// Describes the machine.
pub(super) fn machine() -> String {
    let field = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':'));
        line.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    format!(
        "{}, {} processors, memory {}, load average {}",
        field("/proc/cpuinfo", "model name"),
        std::thread::available_parallelism().map_or(0, usize::from),
        field("/proc/meminfo", "MemTotal"),
        load_average()
    )
}
