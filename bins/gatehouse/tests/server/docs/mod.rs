//! What the documentation shows works: its commands run, its links lead somewhere.

mod commands;
mod embedding;
mod links;
mod standards;

use std::path::{Path, PathBuf};

use crate::support::files_below;

/// The root of the checkout.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The Markdown files below a folder of the checkout, sorted.
fn pages(folder: &str) -> Vec<PathBuf> {
    files_below(&root().join(folder), "md")
}

/// A fenced block of code.
struct Block {
    language: String,
    text: String,
    /// The HTML comment in front of it.
    mark: Option<String>,
}

/// Returns the fenced blocks of a page, without the indentation of lists.
fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    let mut mark = None;
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        if let Some(language) = text.strip_prefix("```") {
            let indent = line.len() - text.len();
            let code = lines.by_ref().take_while(|line| line.trim() != "```");
            let code: Vec<_> = code.map(|line| line.get(indent..).unwrap_or_default()).collect();
            found.push(Block { language: language.to_owned(), text: code.join("\n"), mark: mark.take() });
        } else if let Some(comment) = text.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            mark = Some(comment.to_owned());
        } else if !text.is_empty() {
            mark = None;
        }
    }
    found
}
