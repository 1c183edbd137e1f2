//! What a disk has after a power cut.

use std::{collections::BTreeMap, path::PathBuf};

use kernel::Random;

use super::trace::{Change, FileChange, Trace};

/// Size of the parts of a write of which each may be lost by itself.
const SECTOR: usize = 512;

/// The files of a directory.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns what may be left of `before` and the changes that began before line `cut`.
///
/// POSIX guarantees a change of a file only once the file was synchronized after it, and the creation or removal of a file
/// once its directory was. Of all others, any may be lost while later ones are kept, and a write in part.
pub(super) fn after_cut(before: &Files, trace: &Trace, cut: usize, random: &mut Random) -> Files {
    let mut files = before.clone();
    for FileChange { path, change, durable, .. } in
        trace.changes.iter().take_while(|change| change.began < cut)
    {
        let is_durable = *durable < cut;
        let is_kept = is_durable || random.chance(50);
        match change {
            Change::Create => {
                if is_kept && !files.contains_key(path) {
                    files.insert(path.clone(), Vec::new());
                }
            }
            Change::Unlink if is_kept => {
                files.remove(path);
            }
            // A file whose creation was lost has no content.
            Change::Write { offset, bytes } => {
                let is_torn = !is_durable && random.chance(25);
                if let Some(file) = files.get_mut(path).filter(|_| is_kept || is_torn) {
                    write(file, *offset, bytes, |_| !is_torn || random.chance(50));
                }
            }
            Change::Truncate(length) if is_kept => {
                if let Some(file) = files.get_mut(path) {
                    file.resize(*length, 0);
                }
            }
            Change::Unlink | Change::Truncate(_) => {}
        }
    }
    files
}

/// Writes the sectors that are kept.
fn write(file: &mut Vec<u8>, offset: usize, bytes: &[u8], mut is_kept: impl FnMut(usize) -> bool) {
    if file.len() < offset + bytes.len() {
        file.resize(offset + bytes.len(), 0);
    }
    let mut at = 0;
    while at < bytes.len() {
        // To the next boundary of a sector of the file.
        let end = (at + SECTOR - (offset + at) % SECTOR).min(bytes.len());
        let (to, from) = (file.get_mut(offset + at..offset + end), bytes.get(at..end));
        if let (Some(to), Some(from)) = (to, from)
            && is_kept(at)
        {
            to.copy_from_slice(from);
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::power::trace::NEVER;

    fn trace() -> Trace {
        let byte = |byte| Change::Write { offset: 0, bytes: vec![byte] };
        let change = |change, began, durable| FileChange { path: "/d/x".into(), change, began, durable };
        let changes = vec![
            change(Change::Create, 0, 3),
            change(byte(1), 1, 2),
            change(byte(2), 4, NEVER),
            change(byte(3), 6, NEVER),
        ];
        Trace { changes, syncs: 2, sent: Vec::new(), lines: 8 }
    }

    /// Returns the contents of the file that are possible after a cut.
    fn possible(cut: usize) -> Vec<Option<Vec<u8>>> {
        let mut random = Random::new(1);
        let mut all: Vec<_> = (0..200)
            .map(|_| after_cut(&Files::new(), &trace(), cut, &mut random).remove(Path::new("/d/x")))
            .collect();
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn only_synchronized_changes_are_sure_to_stay() {
        assert_eq!(possible(0), [None]);
        // The file is synchronized, but not the directory with its name.
        assert_eq!(possible(3), [None, Some(vec![1])]);
        assert_eq!(possible(4), [Some(vec![1])]);
        // Each of the later writes may be lost, also if the other is kept.
        assert_eq!(possible(8), [Some(vec![1]), Some(vec![2]), Some(vec![3])]);
    }

    #[test]
    fn a_torn_write_keeps_some_sectors() {
        let mut file = vec![0; 1024];
        write(&mut file, 256, &[1; 1024], |at| at >= 256);
        assert_eq!(file.len(), 1280);
        assert_eq!((file[511], file[512], file[1279]), (0, 1, 1));
    }
}
