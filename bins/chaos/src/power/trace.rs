//! What a server did to its files and sent to its clients, in order, as `strace` saw it.

use std::{
    collections::HashMap,
    io::BufRead,
    path::{Path, PathBuf},
};

use xtask::sh::Result;

/// The system calls to record. SQLite writes with `pwrite64`, or with `lseek` and `write`.
pub(super) const CALLS: &str =
    "openat,close,lseek,write,writev,pwrite64,sendto,sendmsg,fsync,fdatasync,ftruncate,unlink,rename";

/// The position of a call in the trace: the line where it began, and the line where it returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    began: usize,
    /// [`NEVER`] if it had not returned at the end of the trace.
    returned: usize,
}

/// The line of what does not happen.
pub(super) const NEVER: usize = usize::MAX;

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) path: PathBuf,
    pub(super) change: Change,
    /// The line where it began.
    pub(super) began: usize,
    /// The line from which on POSIX guarantees it: where a call returned that synchronized the file, and that had begun after
    /// the change. For the creation or removal of a file, its directory.
    pub(super) durable: usize,
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// The file was created, empty.
    Create,
    Write {
        offset: usize,
        bytes: Vec<u8>,
    },
    Truncate(usize),
    Unlink,
}

/// Everything that matters for a power cut.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Changes in the order in which they began.
    pub(super) changes: Vec<FileChange>,
    /// How often a file or directory was synchronized.
    pub(super) syncs: usize,
    /// Texts that were sent to clients, and the lines where sending began.
    pub(super) sent: Vec<(String, usize)>,
    /// Number of lines.
    pub(super) lines: usize,
}

/// What was read so far.
#[derive(Default)]
struct Calls {
    changes: Vec<(PathBuf, Change, Span)>,
    /// Files and directories that were synchronized.
    syncs: Vec<(PathBuf, Span)>,
    sent: Vec<(String, usize)>,
    /// The offset of each open file that is written with `write`.
    offsets: HashMap<String, usize>,
}

/// A call whose result is not known yet.
struct Pending {
    text: String,
    began: usize,
}

impl Trace {
    /// Reads a trace of `strace -f -y -xx`, and keeps what happened below a directory.
    pub(super) fn read(lines: impl BufRead, below: &Path) -> Result<Self> {
        let mut calls = Calls::default();
        let mut pending: HashMap<String, Pending> = HashMap::new();
        let mut count = 0;
        for (number, line) in lines.lines().enumerate() {
            let line = line.map_err(|error| error.to_string())?;
            count = number + 1;
            let Some((process, text)) = line.split_once(' ') else { continue };
            let text = text.trim_start();
            let (call, began) = if let Some(begin) = text.strip_suffix(" <unfinished ...>") {
                pending.insert(process.to_owned(), Pending { text: begin.to_owned(), began: number });
                continue;
            } else if let Some(end) = text.strip_prefix("<... ") {
                let Some(Pending { text: begin, began }) = pending.remove(process) else { continue };
                let end = end.split_once(" resumed>").map_or("", |(_, end)| end);
                (begin + end, began)
            } else {
                (text.to_owned(), number)
            };
            calls.note(&call, Span { began, returned: number }, below);
        }
        for Pending { text, began } in pending.into_values() {
            calls.note(&text, Span { began, returned: NEVER }, below);
        }
        calls.sent.sort_by_key(|(_, began)| *began);
        let (syncs, sent) = (calls.syncs.len(), std::mem::take(&mut calls.sent));
        Ok(Self { changes: calls.changes(), syncs, sent, lines: count })
    }
}

impl Calls {
    /// Returns the changes in the order in which they began.
    fn changes(self) -> Vec<FileChange> {
        let mut synced: HashMap<PathBuf, Vec<Span>> = HashMap::new();
        for (path, span) in self.syncs {
            synced.entry(path).or_default().push(span);
        }
        let durable = |path: &Path, change: &Change, span: Span| {
            let is_entry = matches!(change, Change::Create | Change::Unlink);
            let synced = synced.get(if is_entry { path.parent().unwrap_or(path) } else { path });
            let after = synced.into_iter().flatten().filter(|sync| sync.began > span.returned);
            after.map(|sync| sync.returned).min().unwrap_or(NEVER)
        };
        let change = |(path, change, span): (PathBuf, Change, Span)| FileChange {
            durable: durable(&path, &change, span),
            path,
            change,
            began: span.began,
        };
        let mut changes: Vec<_> = self.changes.into_iter().map(change).collect();
        changes.sort_by_key(|change| change.began);
        changes
    }

    fn note(&mut self, call: &str, span: Span, below: &Path) {
        let Some((name, rest)) = call.split_once('(') else { return };
        let result = call.rsplit_once(" = ").map(|(_, result)| result);
        if result.is_some_and(|result| result.starts_with('-')) {
            return;
        }
        if matches!(name, "unlink" | "rename") {
            let path = PathBuf::from(String::from_utf8_lossy(&hex(rest)).into_owned());
            if path.starts_with(below) {
                self.changes.push((path, Change::Unlink, span));
            }
            return;
        }
        let descriptor = if name == "openat" { result.unwrap_or_default() } else { rest };
        let Some(path) = descriptor.split_once('<').and_then(|(_, path)| path.split_once('>')) else {
            return;
        };
        let path = PathBuf::from(decoded(path.0));
        if !path.starts_with(below) {
            let is_socket = path.to_string_lossy().starts_with("socket:");
            if matches!(name, "write" | "writev" | "sendto" | "sendmsg") && is_socket {
                self.sent.push((String::from_utf8_lossy(&hex(rest)).into_owned(), span.began));
            }
            return;
        }
        let file = rest.split('<').next().unwrap_or_default().to_owned();
        match name {
            "openat" => {
                self.offsets
                    .insert(result.and_then(|text| text.split('<').next()).unwrap_or_default().into(), 0);
                if rest.contains("O_CREAT") {
                    self.changes.push((path, Change::Create, span));
                }
            }
            "lseek" => {
                self.offsets.insert(file, result.and_then(|text| text.parse().ok()).unwrap_or_default());
            }
            "write" => {
                let (bytes, offset) = (hex(rest), self.offsets.entry(file).or_default());
                let at = *offset;
                *offset += bytes.len();
                self.changes.push((path, Change::Write { offset: at, bytes }, span));
            }
            "pwrite64" => {
                let offset = last_argument(rest).unwrap_or_default();
                self.changes.push((path, Change::Write { offset, bytes: hex(rest) }, span));
            }
            "ftruncate" => {
                let length = last_argument(rest).unwrap_or_default();
                self.changes.push((path, Change::Truncate(length), span));
            }
            "fsync" | "fdatasync" => self.syncs.push((path, span)),
            _ => {}
        }
    }
}

/// Returns the last argument of a call.
fn last_argument(arguments: &str) -> Option<usize> {
    let arguments = arguments.rsplit_once(')').map_or(arguments, |(arguments, _)| arguments);
    arguments.rsplit(", ").next()?.parse().ok()
}

/// Returns the bytes of all strings in a call, which `strace -xx` prints as `"\x41\x42"`.
fn hex(call: &str) -> Vec<u8> {
    let strings = call.split('"').skip(1).step_by(2);
    strings.flat_map(|text| text.split("\\x").skip(1)).filter_map(byte).collect()
}

fn byte(digits: &str) -> Option<u8> {
    u8::from_str_radix(digits.get(..2)?, 16).ok()
}

/// Returns the name of an open file, which `strace -xx` prints like a string.
fn decoded(name: &str) -> String {
    if !name.contains("\\x") {
        return name.to_owned();
    }
    let bytes: Vec<u8> = name.split("\\x").skip(1).filter_map(byte).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_several_threads_are_put_together() {
        let lines = r#"7 openat(AT_FDCWD</d>, "\x2f\x64", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 9</d/x.db-wal>
7 pwrite64(9<\x2f\x64\x2f\x78\x2e\x64\x62\x2d\x77\x61\x6c>, "\x41\x42", 2, 32 <unfinished ...>
8 fsync(10</d/x.db> <unfinished ...>
7 <... pwrite64 resumed>)           = 2
8 <... fsync resumed>)              = 0
7 lseek(10</d/x.db>, 4096, SEEK_SET) = 4096
7 write(10</d/x.db>, "\x43", 1)      = 1
7 ftruncate(9</d/x.db-wal>, 0)       = -1 EIO (Input/output error)
8 sendto(5<socket:[1]>, "\x48\x54\x54\x50", 4, MSG_NOSIGNAL, NULL, 0) = 4
8 write(1</dev/null>, "\x41", 1)     = 1
8 fdatasync(9</d/x.db-wal> <unfinished ...>
"#;
        let trace = Trace::read(lines.as_bytes(), Path::new("/d")).unwrap();
        let wal = PathBuf::from("/d/x.db-wal");
        let change = |path: &Path, change, began, durable| FileChange {
            path: path.to_owned(),
            change,
            began,
            durable,
        };
        let expected = [
            change(&wal, Change::Create, 0, NEVER),
            // The call that synchronizes the file never returned.
            change(&wal, Change::Write { offset: 32, bytes: b"AB".to_vec() }, 1, NEVER),
            // The call that synchronizes the file began before.
            change(Path::new("/d/x.db"), Change::Write { offset: 4096, bytes: b"C".to_vec() }, 6, NEVER),
        ];
        assert_eq!(trace.changes, expected);
        assert_eq!(trace.sent, [("HTTP".to_owned(), 8)]);
        assert_eq!((trace.syncs, trace.lines), (2, 11));

        let synced = format!("{lines}9 fsync(11</d>) = 0\n9 fsync(9</d/x.db-wal>) = 0\n");
        let trace = Trace::read(synced.as_bytes(), Path::new("/d")).unwrap();
        let durable: Vec<_> = trace.changes.iter().map(|change| change.durable).collect();
        assert_eq!(durable, [11, 12, NEVER]);
    }
}
