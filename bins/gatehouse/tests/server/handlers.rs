//! Handlers stay short: the rules of a request stand in the domain crates, its steps in functions with names.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Lines of a handler's body at most.
const MAX_LINES: usize = 30;
/// Far fewer handlers than there are mean that this test no longer finds them.
const MIN_HANDLERS: usize = 90;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The handlers of a file, each with the lines of its body. As rustfmt writes them: the body begins after the first line
/// that ends with a brace, and ends before a brace in the first column.
fn handlers(source: &str) -> Vec<(String, usize)> {
    let described = source.split("#[utoipa::path(").skip(1);
    let handlers = described.map(|text| {
        let (_, function) = text.split_once("async fn ").unwrap();
        let name = function.split(['(', '<']).next().unwrap();
        let body = function.lines().skip_while(|line| !line.ends_with('{')).skip(1);
        (name.to_owned(), body.take_while(|line| *line != "}").count())
    });
    handlers.collect()
}

#[test]
fn handlers_are_short() {
    let sources = sources(Path::new("src"));
    let handlers: Vec<_> =
        sources.iter().flat_map(|path| handlers(&fs::read_to_string(path).unwrap())).collect();
    assert!(handlers.len() >= MIN_HANDLERS, "{} handlers were found", handlers.len());
    let long: Vec<_> = handlers.iter().filter(|(_, lines)| *lines > MAX_LINES).collect();
    assert!(long.is_empty(), "longer than {MAX_LINES} lines: {long:?}");
}
