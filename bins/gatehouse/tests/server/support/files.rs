//! Files of the checkout.

use std::path::{Path, PathBuf};

/// Returns the files below a folder whose names end with this extension, sorted.
pub(crate) fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|of_file| of_file == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
