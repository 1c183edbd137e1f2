//! Checks all readable texts against the glossary with textlint.
//!
//! Markdown and templates are checked whole. The API description contributes its descriptions; sources, scripts,
//! migrations, styles and manifests contribute their comments and string literals, on the same lines as in the source.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use xtask::sh::{self, Result};

use crate::node;

/// The directories to check, relative to the root of the repository.
const FOLDERS: [&str; 5] = ["docs", "crates", "bins", "migrations", ".ci"];
/// The files to check in the root of the repository.
const FILES: [&str; 4] = ["README.md", "Cargo.toml", "clippy.toml", "justfile"];
/// Directories to skip: third-party programs and word lists.
const SKIPPED: [&str; 4] = ["node_modules", "target", "corpus", "prose"];

pub(crate) fn run() -> Result<()> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let texts = root.join("target/prose");
    let _earlier = fs::remove_dir_all(&texts);
    for file in FILES {
        collect(&root.join(file), &root, &texts)?;
    }
    for folder in FOLDERS {
        walk(&root.join(folder), &root, &texts)?;
    }
    let tool = node::environment(&sh::peers().join("prose"))?;
    let mut check = Command::new("node");
    check.current_dir(&tool).arg("node_modules/textlint/bin/textlint.js").args(["--format", "unix"]);
    check.arg("--config").arg(tool.join(".textlintrc.json"));
    sh::run(check.arg(texts.join("**/*.{md,html,txt}")))
}

fn walk(folder: &Path, root: &Path, texts: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        if path.is_dir() { walk(&path, root, texts)? } else { collect(&path, root, texts)? }
    }
    Ok(())
}

/// Writes the texts of one file below `texts`, under its own name.
fn collect(path: &Path, root: &Path, texts: &Path) -> Result<()> {
    // Files such as `justfile` and `.ci/run` have no extension.
    let kind = path.extension().or(path.file_name()).and_then(|kind| kind.to_str()).unwrap_or_default();
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let read = || fs::read_to_string(path).map_err(|error| problem(&error));
    let (text, suffix) = match kind {
        "md" | "html" => (read()?, ""),
        "rs" => (texts_of(&read()?, "//", &['"']), ".txt"),
        "js" | "mjs" | "ts" => (texts_of(&read()?, "//", &['"', '`']), ".txt"),
        "py" | "toml" | "justfile" => (texts_of(&read()?, "#", &['"']), ".txt"),
        "pl" | "run" => (texts_of(&read()?, "#", &[]), ".txt"),
        "php" => (texts_of(&read()?, "//", &[]), ".txt"),
        "css" => (texts_of(&read()?, "/*", &[]), ".txt"),
        // Messages of triggers cannot change: databases are compared with them.
        "sql" => (texts_of(&read()?, "--", &[]), ".txt"),
        "json" if path.ends_with("docs/openapi.json") => {
            let document = serde_json::from_str(&read()?).map_err(|error| problem(&error))?;
            let mut found = Vec::new();
            descriptions(&document, &mut found);
            (found.join("\n\n"), ".md")
        }
        _ => return Ok(()),
    };
    let relative = path.strip_prefix(root).map_err(|error| problem(&error))?;
    let target = PathBuf::from(format!("{}{suffix}", texts.join(relative).display()));
    let folder = target.parent().unwrap_or(texts);
    fs::create_dir_all(folder).and_then(|()| fs::write(&target, text)).map_err(|error| problem(&error))
}

/// Collects the descriptions and summaries of an OpenAPI document.
fn descriptions<'d>(value: &'d serde_json::Value, found: &mut Vec<&'d str>) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(text) if ["description", "summary"].contains(&name.as_str()) => found.push(text),
                    _ => descriptions(member, found),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
        _ => {}
    }
}

/// Returns the comments from `marker` to the end of the line and the string literals of a source file. Everything else
/// becomes empty lines.
fn texts_of(source: &str, marker: &str, quotes: &[char]) -> String {
    let mut texts = String::new();
    let mut rest = source;
    let mut is_word = false;
    while let Some(first) = rest.chars().next() {
        let taken = if rest.starts_with(marker) {
            let end = rest.find('\n').unwrap_or(rest.len());
            texts.push_str(rest[..end].trim_start_matches(['/', '!', '#', '-', '*']));
            end
        } else if let Some((start, text)) = raw_string(rest).filter(|_| !is_word) {
            texts.push_str(text);
            // The closing delimiter is as long as the opening one without the `r`.
            2 * start - 1 + text.len()
        } else if quotes.contains(&first) {
            let end = string_end(&rest[1..], first) + 1;
            texts.push_str(&rest[1..end].replace("\\\n", "\n"));
            texts.push(' ');
            (end + 1).min(rest.len())
        } else if rest.starts_with("'\"'") {
            3
        } else {
            if first == '\n' {
                texts.push('\n');
            }
            first.len_utf8()
        };
        is_word = first.is_alphanumeric() || first == '_';
        rest = &rest[taken..];
    }
    texts
}

/// Returns the length of the delimiter that opens a raw string at the start of `rest`, and the string's text.
fn raw_string(rest: &str) -> Option<(usize, &str)> {
    let hashes = rest.strip_prefix('r')?.bytes().take_while(|byte| *byte == b'#').count();
    let start = hashes + 2;
    let text = rest.get(start..).filter(|_| rest.as_bytes().get(hashes + 1) == Some(&b'"'))?;
    let end = text.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some((start, &text[..end]))
}

/// Returns the length of a string literal up to its closing quote.
fn string_end(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if !is_escaped && character == quote {
            return at;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_stay_on_their_lines() {
        let source = "//! First.\nfn f<'a>() { let q = '\"'; g(\"say \\\"hi\\\"\", 'c'); }\n/// Last.\nlet r = r#\"raw \"x\"\"#;\n";
        let texts = texts_of(source, "//", &['"']);
        let lines: Vec<_> = texts.lines().map(str::trim).collect();
        assert_eq!(lines, ["First.", "say \\\"hi\\\"", "Last.", "raw \"x\""]);
    }

    #[test]
    fn comments_of_other_languages_are_found() {
        let first = |text: String| text.lines().next().unwrap_or_default().trim().to_owned();
        assert_eq!(first(texts_of("-- Users.\nCREATE TABLE users", "--", &[])), "Users.");
        assert_eq!(first(texts_of("a = 1 # One.\n", "#", &['"'])), "One.");
        assert_eq!(first(texts_of("/* Colours. */\n", "/*", &[])), "Colours. */");
    }
}
