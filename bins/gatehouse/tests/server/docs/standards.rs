//! The lists of requirements in `docs/security`: every test and setting that they name exists.

use std::{collections::BTreeSet, path::PathBuf};

use gatehouse::config::KEYS;

use super::root;

/// A requirement.
struct Row {
    id: String,
    status: String,
    /// The code in the last column.
    named: Vec<String>,
}

/// Returns the rows of the tables of a page whose first cell has a digit.
fn rows(page: &str, status: usize) -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("docs/security").join(page)).unwrap();
    let cells = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect()));
    let rows =
        cells.filter(|cells: &Vec<&str>| cells.len() == 5 && cells[0].contains(|c: char| c.is_ascii_digit()));
    rows.map(|cells| Row {
        id: cells[0].to_owned(),
        status: cells[status].to_owned(),
        named: cells[4].split('`').skip(1).step_by(2).map(str::to_owned).collect(),
    })
    .collect()
}

/// Whether the file has this test.
fn exists(file: &str, test: &str) -> bool {
    let below_tests = file.starts_with("server/") || file.starts_with("browser/");
    let file = if below_tests { PathBuf::from("bins/gatehouse/tests").join(file) } else { file.into() };
    let wanted = if file.extension().is_some_and(|end| end == "mjs") {
        format!("\"{test}\": async")
    } else {
        format!("fn {}(", test.rsplit("::").next().unwrap())
    };
    std::fs::read_to_string(root().join(file)).is_ok_and(|text| text.contains(&wanted))
}

fn check(rows: &[Row]) {
    let description = std::fs::read_to_string(root().join("docs/openapi.json")).unwrap();
    let is_setting = |name: &str| {
        let member = name.rsplit('.').next().unwrap();
        KEYS.iter().any(|key| key.name == name) || description.contains(&format!("\"{member}\": {{"))
    };
    for row in rows {
        assert!(["met", "by setting", "n/a", "**not met**"].contains(&row.status.as_str()), "{}", row.id);
        for named in &row.named {
            let is_known =
                named.split_once("::").map_or_else(|| is_setting(named), |(file, test)| exists(file, test));
            assert!(is_known, "{}: {named} does not exist", row.id);
        }
    }
    let ids: BTreeSet<_> = rows.iter().map(|row| &row.id).collect();
    assert_eq!(ids.len(), rows.len(), "a requirement is listed twice");
}

#[test]
fn requirements_of_asvs_name_existing_tests_and_settings() {
    let rows = rows("asvs.md", 2);
    assert_eq!(rows.len(), 253);
    check(&rows);
    // The summary counts what follows.
    let text = std::fs::read_to_string(root().join("docs/security/asvs.md")).unwrap();
    for status in ["met", "by setting", "n/a", "**not met**"] {
        let count = rows.iter().filter(|row| row.status == status).count();
        assert!(text.contains(&format!("\n| {status} | {count} | ")), "{count} are {status}");
    }
}

#[test]
fn requirements_of_ipsie_name_existing_tests_and_settings() {
    let rows = rows("ipsie.md", 2);
    assert!(rows.len() >= 12);
    check(&rows);
}
