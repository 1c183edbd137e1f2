//! Detects changes of files.

use std::path::PathBuf;

use ring::digest::{Context, SHA256};

/// Files to watch, with a hash of their last known content.
///
/// They are compared by content, because tools replace files, links and whole directories, and not all of that
/// advances the modification time.
#[derive(Debug)]
pub struct FileWatch {
    paths: Vec<PathBuf>,
    seen: Vec<u8>,
}

impl FileWatch {
    /// Watches files in their current state. A missing file counts as empty.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        let seen = digest(&paths);
        Self { paths, seen }
    }

    /// Makes the next check report a change, because the last content could not be used.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Returns whether a file has changed since the last check.
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
    fn change_is_reported_once() {
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
