//! Files that are read again when they change.

use std::path::PathBuf;

use ring::digest::{Context, SHA256};

/// Some files, and what was in them when they were last looked at.
///
/// They are compared by content: tools replace files, links and whole folders, and not all of that moves the
/// time of a file forward.
#[derive(Debug)]
pub struct FileWatch {
    paths: Vec<PathBuf>,
    seen: Vec<u8>,
}

impl FileWatch {
    /// Watches files as they are now; one that is missing counts as empty.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        let seen = digest(&paths);
        Self { paths, seen }
    }

    /// What was seen last could not be used: the next look finds a change.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Whether one has changed since the last look.
    pub fn changed(&mut self) -> bool {
        let now = digest(&self.paths);
        let changed = now != self.seen;
        self.seen = now;
        changed
    }
}

fn digest(paths: &[PathBuf]) -> Vec<u8> {
    let mut context = Context::new(&SHA256);
    for path in paths {
        let content = std::fs::read(path).unwrap_or_default();
        context.update(&(content.len() as u64).to_le_bytes());
        context.update(&content);
    }
    context.finish().as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_once() {
        let folder = tempfile::tempdir().unwrap();
        let paths = vec![folder.path().join("a"), folder.path().join("b")];
        let mut watch = FileWatch::new(paths.clone());
        assert!(!watch.changed());
        std::fs::write(&paths[0], "x").unwrap();
        assert!(watch.changed() && !watch.changed());
        std::fs::rename(&paths[0], &paths[1]).unwrap();
        assert!(watch.changed() && !watch.changed());
    }
}
