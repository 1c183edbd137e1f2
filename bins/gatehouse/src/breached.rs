//! A file of leaked passwords, in the format of Have I Been Pwned: the SHA-1 of each in hexadecimal, in order, one per line,
//! with or without `:` and a count. The file may have a billion lines; a search reads about thirty parts of it.

use std::{
    cmp::Ordering,
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use data_encoding::HEXUPPER;
use kernel::Secret;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// Length of a hash in hexadecimal.
const HASH: usize = 40;
/// Longest line, with its count and its end.
const LINE: usize = 64;
/// Number of lines, spread over the file, whose order is checked.
const SAMPLES: u64 = 1000;

/// A file of leaked passwords. It is opened for each search, so that it can be replaced.
#[derive(Debug)]
pub(crate) struct BreachedPasswords(PathBuf);

/// The hash to search for.
#[derive(Clone, Copy)]
pub(crate) struct PasswordDigest([u8; HASH]);

impl PasswordDigest {
    /// Hashes the form of the password that is compared at a sign-in.
    pub(crate) fn of(password: &Secret<String>) -> Self {
        let normal = credentials::normalized_password(password.expose());
        let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, normal.expose().as_bytes());
        let mut text = [0; HASH];
        HEXUPPER.encode_mut(hash.as_ref(), &mut text);
        Self(text)
    }
}

impl BreachedPasswords {
    /// Checks the format and the order of the file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let found = Self(path.to_owned());
        check_order(&found.file()?).map_err(|error| found.named(&error))?;
        Ok(found)
    }

    /// Whether the file has this password. Reads the file, so run it on a thread for blocking work.
    pub(crate) fn contains(&self, password: PasswordDigest) -> io::Result<bool> {
        let file = self.file()?;
        search(&file, &password.0).map_err(|error| self.named(&error))
    }

    fn file(&self) -> io::Result<File> {
        File::open(&self.0).map_err(|error| self.named(&error))
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("breached_passwords: {}: {error}", self.0.display()))
    }
}

/// Checks the format and the order of lines that are spread over the file. The file that is ordered by counts fails.
fn check_order(file: &File) -> io::Result<()> {
    let length = length_of(file)?;
    let mut last = line_at(file, 0)?.map(|(_, hash)| hash);
    for sample in 1..=SAMPLES.min(length) {
        let found = line_after(file, (length / SAMPLES.min(length)) * sample)?;
        let Some((_, hash)) = found else { break };
        if last.is_some_and(|last| last > hash) {
            return Err(io::Error::new(ErrorKind::InvalidData, "the hashes are not in order"));
        }
        last = Some(hash);
    }
    Ok(())
}

/// Returns the length of the file, which is not empty.
fn length_of(file: &File) -> io::Result<u64> {
    match file.metadata()?.len() {
        0 => Err(io::Error::new(ErrorKind::InvalidData, "the file is empty")),
        length => Ok(length),
    }
}

/// Finds a hash by halving the part of the file that may contain it.
fn search(file: &File, wanted: &[u8; HASH]) -> io::Result<bool> {
    let (mut low, mut high) = (0, length_of(file)?);
    // Lines that start in `low..high` may be the wanted one.
    while low < high {
        let middle = low + (high - low) / 2;
        let found = if middle == 0 { line_at(file, 0)? } else { line_after(file, middle)? };
        match found.filter(|(start, _)| *start < high) {
            // No line starts between the middle and the end.
            None => high = middle,
            Some((start, hash)) => match hash.cmp(wanted) {
                Ordering::Equal => return Ok(true),
                Ordering::Less => low = start + 1,
                Ordering::Greater => high = middle,
            },
        }
    }
    Ok(false)
}

/// Returns the first line that starts at this offset or later, and its offset. The offset is not 0.
fn line_after(file: &File, offset: u64) -> io::Result<Option<(u64, [u8; HASH])>> {
    let mut bytes = [0; LINE + 1];
    let length = read_at(file, &mut bytes, offset - 1)?;
    let end = bytes.iter().take(length).position(|byte| *byte == b'\n');
    match end {
        Some(end) => line_at(file, offset + end as u64),
        None if length <= LINE => Ok(None),
        None => Err(io::Error::new(ErrorKind::InvalidData, "a line is too long")),
    }
}

/// Returns the hash of the line at this offset; `None` at the end of the file.
fn line_at(file: &File, offset: u64) -> io::Result<Option<(u64, [u8; HASH])>> {
    let mut bytes = [0; HASH + 1];
    let length = read_at(file, &mut bytes, offset)?;
    if length == 0 {
        return Ok(None);
    }
    let [hash @ .., end] = &mut bytes;
    hash.make_ascii_uppercase();
    let is_end = length == HASH || matches!(end, b':' | b'\r' | b'\n');
    if length >= HASH && is_end && hash.iter().all(u8::is_ascii_hexdigit) {
        return Ok(Some((offset, *hash)));
    }
    Err(io::Error::new(ErrorKind::InvalidData, format!("no SHA-1 in hexadecimal at byte {offset}")))
}

/// Reads until the buffer is full or the file ends.
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn said(text: &str) -> PasswordDigest {
        PasswordDigest::of(&Secret::new(text.to_owned()))
    }

    /// Writes the hashes of these passwords in order. `end` returns the rest of a line, by its number.
    fn file(name: &str, passwords: &[String], end: fn(usize) -> String) -> PathBuf {
        let mut hashes: Vec<_> = passwords.iter().map(|password| said(password).0).collect();
        hashes.sort_unstable();
        let mut text = String::new();
        for (number, hash) in hashes.iter().enumerate() {
            write!(text, "{}{}", String::from_utf8_lossy(hash), end(number)).unwrap();
        }
        let path = std::env::temp_dir().join(format!("gatehouse-breached-{}-{name}", std::process::id()));
        std::fs::write(&path, text.trim_end()).unwrap();
        path
    }

    #[test]
    fn every_password_of_a_file_is_found_and_no_other() {
        let plain: fn(usize) -> String = |_| "\n".to_owned();
        let counts: fn(usize) -> String = |number| format!(":{}\r\n", number * 7919);
        for (name, count, end) in
            [("one", 1, plain), ("two", 2, counts), ("many", 500, plain), ("many-counts", 500, counts)]
        {
            let known: Vec<_> = (0..count).map(|number| format!("known {number}")).collect();
            let path = file(name, &known, end);
            let breached = BreachedPasswords::open(&path).unwrap();
            for password in &known {
                assert!(breached.contains(said(password)).unwrap(), "{name} {password}");
            }
            for number in 0..200 {
                assert!(!breached.contains(said(&format!("other {number}"))).unwrap(), "{name}");
            }
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn files_of_another_format_are_refused() {
        let path = std::env::temp_dir().join(format!("gatehouse-breached-{}-wrong", std::process::id()));
        let low = "0".repeat(HASH);
        let high = "F".repeat(HASH);
        // In order at the start only.
        let by_count = format!("{low}:9\n{high}:8\n{}:7\n{low}:6\n", "7".repeat(HASH));
        for (text, problem) in [
            (String::new(), "the file is empty"),
            ("password\n".to_owned(), "no SHA-1 in hexadecimal at byte 0"),
            (format!("{low}0\n"), "no SHA-1 in hexadecimal at byte 0"),
            (format!("{high}\n{low}\n"), "the hashes are not in order"),
            (by_count, "the hashes are not in order"),
            (format!("{low}:{}\n", "1".repeat(LINE)), "a line is too long"),
        ] {
            std::fs::write(&path, &text).unwrap();
            let refused = BreachedPasswords::open(&path).unwrap_err().to_string();
            assert!(
                refused.starts_with("breached_passwords: ") && refused.contains(problem),
                "{text}: {refused}"
            );
        }
        std::fs::write(&path, "").unwrap();
        assert!(
            BreachedPasswords(path.clone()).contains(said("x")).is_err(),
            "an emptied file accepts nothing"
        );
        std::fs::remove_file(&path).unwrap();
        assert_eq!(BreachedPasswords::open(&path).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
