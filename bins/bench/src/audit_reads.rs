//! Measures reading and exporting a large audit log.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use xtask::{
    sh::{self, Result},
    system,
};

use crate::{
    audit::{AREA, Large},
    cpu, load,
    site::get,
    table::median,
};

const TIME: Duration = Duration::from_secs(2);
const EXPORTS: usize = 7;
const ROWS: u32 = 50_000;

/// Reads pages of 50 for each filter, sequentially on one connection.
pub(crate) fn pages(large: &Large<'_>) -> Result<()> {
    let filters = [
        ("none", String::new()),
        ("userId", "&userId=usr_06gzkadrwwt5d9z93ens680123".into()),
        ("action, one", "&action=ACCOUNT_USER_CREATED".into()),
        ("action, some", "&action=ACCOUNT_USER_CREATED,ACCOUNT_PAT_CREATED".into()),
        ("action, prefix", "&action=ACCOUNT_USER_*".into()),
        ("resourceType", "&resourceType=user".into()),
        ("resourceId", "&resourceId=usr_06gzkadrwwt5d9z93ens000719".into()),
        ("from, to", "&from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z".into()),
        ("userId and action", "&userId=usr_06gzkadrwwt5d9z93ens680123&action=ACCOUNT_USER_*".into()),
        ("order=sequence", "&order=sequence".into()),
        ("q, frequent", "&q=ACCOUNT_PAT".into()),
        ("q, no match", "&q=nothing+of+that+kind".into()),
    ];
    println!("\nPages of 50 of {} entries, in ms:\n", large.entries);
    println!("| filter | p50 | p99 |\n|---|---|---|");
    let (mut of_type, mut slowest) = (0.0_f64, 0.0_f64);
    for (name, filter) in &filters {
        let path = format!("/api/settings/audit-log?limit=50{filter}");
        let run = load::run(large.server.address, 1, TIME, 200, &|_| get(&path, &large.pat))?;
        if run.unexpected > 0 {
            return Err(format!("{name}: {}", run.refused()));
        }
        println!("| {name} | {:.2} | {:.2} |", run.percentile(0.5), run.percentile(0.99));
        if *name == "resourceType" {
            of_type = run.percentile(0.5);
        } else if !name.starts_with("q,") {
            slowest = slowest.max(run.percentile(0.5));
        }
    }
    AREA.at_most(large.of("page of 50 by resourceType, p50"), of_type, "ms", 5.0);
    AREA.at_most(large.of("page of 50, slowest other filter but q, p50"), slowest, "ms", 5.0);
    Ok(())
}

/// Requests proofs of entries across the whole log.
pub(crate) fn proofs(large: &Large<'_>) -> Result<()> {
    let number = AtomicU64::new(1);
    let entries = u64::from(large.entries);
    let next = |_: u64| {
        let at = number.fetch_add(1, Ordering::Relaxed).wrapping_mul(2_654_435_761) % entries + 1;
        get(&format!("/api/settings/audit-log/aud_05{at:024}/proof"), &large.pat)
    };
    let run = load::run(large.server.address, 1, TIME, 200, &next)?;
    if run.unexpected > 0 {
        return Err(run.refused());
    }
    println!("\nProofs: p50 {:.2} ms", run.percentile(0.5));
    AREA.at_most(large.of("proof of an entry, p99"), run.percentile(0.99), "ms", 5.0);
    Ok(())
}

/// The cost of an export.
struct Taken {
    seconds: f64,
    first_byte: f64,
    cpu: f64,
    bytes: usize,
}

/// Compares exports of 50,000 entries to the database's own client.
pub(crate) fn export(large: &Large<'_>, folder: &Path) -> Result<()> {
    let (mut ours, mut theirs, mut proved) = (Vec::new(), Vec::new(), Vec::new());
    let idle = cpu::resident_bytes(large.server.pid());
    let (going, most) = (AtomicBool::new(true), AtomicU64::new(idle));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while going.load(Ordering::Relaxed) {
                most.fetch_max(cpu::resident_bytes(large.server.pid()), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let measured = (0..EXPORTS).try_for_each(|_| {
            ours.push(http(large, "format=csv")?);
            theirs.push(own_program(large, folder)?);
            Ok::<_, String>(())
        });
        going.store(false, Ordering::Relaxed);
        measured
    })?;
    for _ in 0..3 {
        proved.push(http(large, "format=ndjson&proofs=true")?);
    }
    let of = |all: &[Taken], value: fn(&Taken) -> f64| median(&all.iter().map(value).collect::<Vec<_>>());
    let ratio = |value: fn(&Taken) -> f64| {
        let pairs = ours.iter().zip(&theirs);
        median(&pairs.map(|(over, under)| value(over) / value(under)).collect::<Vec<_>>())
    };
    let megabytes = ours.first().map_or(0.0, |taken| taken.bytes as f64 / 1e6);
    let client = if large.database.is_some() { "psql \\copy" } else { "sqlite3 -csv" };
    let millis = |all: &[Taken], value: fn(&Taken) -> f64| of(all, value) * 1e3;
    println!(
        "\nAn export of {ROWS} entries as CSV ({megabytes:.1} MB): {:.0} ms, {:.0} ms of CPU with the database's; {client}: \
         {:.0} ms, {:.0} ms of CPU",
        millis(&ours, |taken| taken.seconds),
        millis(&ours, |taken| taken.cpu),
        millis(&theirs, |taken| taken.seconds),
        millis(&theirs, |taken| taken.cpu),
    );
    let against = |what| large.of(&format!("export of 50,000 rows / {client}, {what}"));
    AREA.at_most(against("time"), ratio(|taken| taken.seconds), "", 1.5);
    AREA.at_most(against("CPU"), ratio(|taken| taken.cpu), "", 2.0);
    let first = millis(&ours, |taken| taken.first_byte);
    AREA.at_most(large.of("first byte of an export"), first, "ms", 50.0);
    let more = (most.load(Ordering::Relaxed) - idle) as f64 / 1e6;
    AREA.at_most(large.of("memory of an export"), more, "MB", 8.0);
    println!(
        "With proofs as NDJSON ({:.1} MB): {:.0} ms, first byte {:.0} ms, {:.0} ms of CPU",
        proved.first().map_or(0.0, |taken| taken.bytes as f64 / 1e6),
        of(&proved, |taken| taken.seconds) * 1e3,
        of(&proved, |taken| taken.first_byte) * 1e3,
        of(&proved, |taken| taken.cpu) * 1e3,
    );
    Ok(())
}

fn processors(large: &Large<'_>) -> f64 {
    cpu::seconds(large.server.pid()) + large.database.map_or(0.0, |cluster| cpu::seconds(cluster.pid()))
}

fn http(large: &Large<'_>, how: &str) -> Result<Taken> {
    let failed = |error: std::io::Error| error.to_string();
    let before = processors(large);
    let start = Instant::now();
    let mut stream = TcpStream::connect(large.server.address).map_err(failed)?;
    let path = format!("/api/settings/audit-log/export?{how}");
    let request =
        String::from_utf8_lossy(&get(&path, &large.pat)).replacen("Host", "Connection: close\r\nHost", 1);
    stream.write_all(request.as_bytes()).map_err(failed)?;
    let (mut buffer, mut bytes, mut first_byte, mut lines) = (vec![0; 128 * 1024], 0, 0.0, 0);
    loop {
        let read = stream.read(&mut buffer).map_err(failed)?;
        if bytes == 0 {
            first_byte = start.elapsed().as_secs_f64();
        }
        let some = buffer.get(..read).unwrap_or_default();
        lines += some.split(|byte| *byte == b'\n').count() - 1;
        bytes += read;
        if read == 0 {
            break;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    if lines < ROWS as usize {
        return Err(format!("an export of {lines} lines"));
    }
    // Includes recording the end of the export. CPU times have a resolution of 10 ms.
    std::thread::sleep(Duration::from_millis(50));
    Ok(Taken { seconds, first_byte, cpu: processors(large) - before, bytes })
}

/// Exports as many entries through the same index with `psql \copy` or `sqlite3 -csv`.
fn own_program(large: &Large<'_>, folder: &Path) -> Result<Taken> {
    let select = format!(
        "SELECT id, created_at, actor_id, actor_type, action, resource_type, resource_id, ip, metadata FROM audit_entries \
         WHERE tenant_id = '{}' ORDER BY created_at DESC, id DESC LIMIT {ROWS}",
        large.tenant
    );
    let file = folder.join("copied.csv");
    let mut command = if large.database.is_some() {
        let mut psql = Command::new(system::postgres_bin()?.join("psql"));
        psql.args(["-qc", &format!("\\copy ({select}) TO '{}' CSV HEADER", file.display())]).arg(&large.url);
        psql
    } else {
        let mut sqlite = Command::new("sqlite3");
        sqlite.args(["-csv", "-header", large.url.trim_start_matches("sqlite:"), &select]);
        sqlite.stdout(std::fs::File::create(&file).map_err(|error| error.to_string())?);
        sqlite
    };
    let own = std::process::id();
    let processors = || cpu::seconds(own) + large.database.map_or(0.0, |cluster| cpu::seconds(cluster.pid()));
    let before = processors();
    let start = Instant::now();
    sh::run(command.stderr(Stdio::null()))?;
    let seconds = start.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&file).map_or(0, |file| file.len() as usize);
    Ok(Taken { seconds, first_byte: 0.0, cpu: processors() - before, bytes })
}
