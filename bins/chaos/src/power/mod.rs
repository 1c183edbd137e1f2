//! `cargo xtask chaos power`: cuts the power of a server on SQLite.
//!
//! `strace` records what the server writes, when it synchronizes files, and what it sends to clients. For each cut, the files
//! are put together as a disk may have them at that moment, and examined.

mod disk;
mod trace;

use std::{
    fs,
    io::BufReader,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use kernel::Random;
use xtask::{
    server::{Server, gatehouse, member, serve},
    sh::Result,
    system,
    wait::until,
};

use self::{
    disk::{Files, after_cut},
    trace::{CALLS, Trace},
};
use crate::{
    clients::{Seen, Stop},
    records::DatabaseRecords,
};

/// Connections that create users.
const WRITERS: usize = 4;
/// Users that are created before the power fails: enough for several checkpoints of the write-ahead log.
const USERS: usize = 400;

/// Runs this many cuts. The same seed gives the same cuts of one trace, but each run records its own.
pub(crate) fn run(program: PathBuf, cuts: usize, seed: u64) -> Result<()> {
    system::install(&system::TEST)?;
    let folder = std::env::temp_dir().join(format!("gatehouse-chaos-{}-power", std::process::id()));
    let start = Instant::now();
    let done = record(program, &folder).and_then(|recorded| recorded.cut(cuts, seed));
    done.map_err(|problem| format!("power, seed {seed}: {problem}; the files are in {}", folder.display()))?;
    println!("power: {:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
    let _removed = fs::remove_dir_all(&folder);
    Ok(())
}

/// A recorded run of a server.
struct Recorded {
    folder: PathBuf,
    program: PathBuf,
    /// The files before the run.
    before: Files,
    trace: Trace,
    /// IDs of users whose creation was answered with 201, and the lines of the trace where the answer was sent.
    created: Vec<(String, usize)>,
}

/// Runs a server under `strace` while clients create users.
fn record(program: PathBuf, folder: &Path) -> Result<Recorded> {
    let data = folder.join("data");
    fs::create_dir_all(&data).map_err(|error| error.to_string())?;
    let data = data.canonicalize().map_err(|error| error.to_string())?;
    let database = format!("sqlite:{}", data.join("chaos.db").display());
    gatehouse(&program, &database, &["migrate"])?;
    gatehouse(&program, &database, &["tenant", "create", "--slug", "chaos", "--name", "Chaos"])?;
    let minted = gatehouse(&program, &database, &["token", "scim", "--tenant", "chaos", "--name", "chaos"])?;
    let token = member(&minted, "token")?;
    let before = files(&data)?;

    let log = folder.join("trace");
    let mut traced = Command::new("strace");
    // `-I 2`: strace ends the server when it is asked to end.
    traced
        .args(["-I", "2", "-f", "-y", "-xx", "-s", "100000", "--trace", CALLS, "-o"])
        .arg(&log)
        .arg("--")
        .arg(&program);
    let plain = serve(&program, &database, &data);
    traced.args(plain.get_args()).stderr(std::process::Stdio::null());
    for (name, value) in plain.get_envs() {
        traced.env(name, value.unwrap_or_default());
    }
    let server = Server::start(&mut traced)?;
    let seen = Seen::default();
    thread::scope(|scope| {
        let _stop = Stop(&seen);
        for writer in 0..WRITERS {
            let (seen, token) = (&seen, &token);
            scope.spawn(move || seen.write(server.address, token, &format!("w{writer}")));
        }
        until(Duration::from_mins(5), "too few users were created", || Ok(seen.count() >= USERS))
    })?;
    seen.refuse_wrong()?;
    if seen.refused.load(Ordering::Relaxed) > 0 {
        return Err("requests were refused before the power failed".to_owned());
    }
    drop(server);

    let file = fs::File::open(&log).map_err(|error| error.to_string())?;
    let trace = Trace::read(BufReader::new(file), &data)?;
    let answered = |(text, at): &(String, usize)| {
        let id = text.starts_with("HTTP/1.1 201").then(|| member(text, "id").ok()).flatten();
        id.map(|id| (id, *at))
    };
    let created: Vec<_> = trace.sent.iter().filter_map(answered).collect();
    let count = seen.count();
    if created.len() < count {
        return Err(format!("the trace has {} of {count} answers", created.len()));
    }
    Ok(Recorded { folder: folder.to_owned(), program, before, trace, created })
}

/// Returns the files of a directory. The index of the write-ahead log is rebuilt after a crash.
fn files(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_file() && !path.to_string_lossy().ends_with("-shm") {
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            files.insert(path, bytes);
        }
    }
    Ok(files)
}

impl Recorded {
    /// Cuts the power at random moments while users are created.
    fn cut(&self, cuts: usize, seed: u64) -> Result<()> {
        let (changes, syncs) = (self.trace.changes.len(), self.trace.syncs);
        println!("{} users, {changes} changes of files, synchronized {syncs} times", self.created.len());
        let first = self.trace.changes.first().map_or(0, |change| change.began);
        let last = self.created.last().map_or(self.trace.lines, |(_, at)| *at);
        let mut random = Random::new(seed);
        let mut survived = 0;
        for number in 0..cuts {
            let cut = first + random.index(last.saturating_sub(first).max(1));
            let files = after_cut(&self.before, &self.trace, cut, &mut random);
            survived += self.examine(&files, cut).map_err(|problem| {
                format!("cut {number} at line {cut} of {}: {problem}", self.trace.lines)
            })?;
        }
        println!("{cuts} cuts: none of {survived} acknowledged users was lost, and every audit log verifies");
        Ok(())
    }

    /// Starts from these files, as after a restart of the machine. Returns how many users had been acknowledged.
    fn examine(&self, files: &Files, cut: usize) -> Result<usize> {
        let folder = self.folder.join("restarted");
        let _absent = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        for (path, bytes) in files {
            let name = path.file_name().ok_or("a file without a name")?;
            fs::write(folder.join(name), bytes).map_err(|error| error.to_string())?;
        }
        let path = folder.join("chaos.db");
        let database = format!("sqlite:{}", path.display());
        // The server seals entries whose batch was lost.
        let server = Server::start(&mut serve(&self.program, &database, &folder))?;
        let records = DatabaseRecords::Sqlite(path);
        let unsealed = "SELECT count(*) FROM audit_unsealed";
        until(Duration::from_secs(30), "entries stay unsealed", || Ok(records.ask(unsealed)? == "0"))?;
        drop(server);
        gatehouse(&self.program, &database, &["audit", "verify", "--tenant", "chaos"])?;
        let created = self.created.iter().filter(|(_, at)| *at < cut);
        let ids: Vec<_> = created.map(|(id, _)| id.clone()).collect();
        records.check(&ids)?;
        Ok(ids.len())
    }
}
