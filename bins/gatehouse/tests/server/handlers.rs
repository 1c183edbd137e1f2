//! Handlers stay short: the rules are in the domain crates, and the steps of a request in named functions.

use std::{fs, path::Path};

use crate::support::files_below;

/// Maximum lines of a handler's body.
const MAX_LINES: usize = 30;
/// If far fewer handlers are found, this test no longer recognizes them.
const MIN_HANDLERS: usize = 90;

/// Returns the handlers of a file with the number of lines of each body. Relies on rustfmt: the body begins after the
/// first line that ends with a brace, and ends before a brace in the first column.
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
    let sources = files_below(Path::new("src"), "rs");
    let handlers: Vec<_> =
        sources.iter().flat_map(|path| handlers(&fs::read_to_string(path).unwrap())).collect();
    assert!(handlers.len() >= MIN_HANDLERS, "{} handlers were found", handlers.len());
    let long: Vec<_> = handlers.iter().filter(|(_, lines)| *lines > MAX_LINES).collect();
    assert!(long.is_empty(), "handlers longer than {MAX_LINES} lines: {long:?}");
}
