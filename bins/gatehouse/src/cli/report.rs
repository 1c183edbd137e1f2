//! The result of a command.

use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use serde_json::{Value, json};

/// The result of a command: JSON for programs, text for people.
pub(super) struct Report {
    pub(super) json: Value,
    pub(super) lines: String,
    /// Whether the command found a problem, so that it exits with 1.
    pub(super) failed: bool,
}

impl Report {
    pub(super) fn new(json: Value, lines: impl Into<String>) -> Self {
        Self { json, lines: lines.into(), failed: false }
    }
}

pub(super) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The columns of a list and their values.
pub(super) type Columns<'c, T> = [(&'c str, &'c dyn Fn(&T) -> String)];

/// Reports a list as a table and as a JSON array with this name. Without items, the text is `empty`.
pub(super) fn listing<T>(
    name: &str,
    items: &[T],
    json_of: impl Fn(&T) -> Value,
    columns: &Columns<'_, T>,
    empty: &str,
) -> Report {
    let header: Vec<_> = columns.iter().map(|(title, _)| *title).collect();
    let row = |item: &T| columns.iter().map(|(_, cell)| cell(item)).collect();
    let json = items.iter().map(json_of).collect::<Vec<_>>();
    Report::new(json!({ name: json }), table(&header, items.iter().map(row).collect(), empty))
}

/// Formats rows as columns under a header, or returns `empty` if there are none.
pub(super) fn table(header: &[&str], rows: Vec<Vec<String>>, empty: &str) -> String {
    if rows.is_empty() {
        return empty.to_owned();
    }
    let mut table = Table::new();
    table.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let printable = |row: Vec<String>| row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>();
    table.set_header(header).add_rows(rows.into_iter().map(printable));
    let lines = table.lines().map(|line| line.trim().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats names and values as two columns.
pub(super) fn details(values: &[(impl AsRef<str>, String)]) -> String {
    let lines = || values.iter().map(|(name, value)| (name.as_ref(), escaped(value)));
    let width = lines().map(|(name, _)| name.len()).max().unwrap_or_default();
    let line = |(name, value)| format!("{name:width$}  {value}").trim_end().to_owned();
    lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Escapes control characters, so that a name that somebody chose cannot change the terminal or break a line.
fn escaped(text: &str) -> String {
    let escape = |character: char| match character {
        control if control.is_control() => control.escape_default().to_string(),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Formats a number with its noun, such as `1 entry` or `2 entries`.
pub(super) fn counted(count: impl TryInto<u64>, one: &str, many: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// Formats an optional value, with a hyphen for none.
pub(super) fn or_hyphen(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}
