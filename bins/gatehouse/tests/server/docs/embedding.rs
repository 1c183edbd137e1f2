//! The programs that the documentation of the libraries shows are those that the build compiles and tests run.

use std::fs;

use super::{blocks, pages, root};
use crate::support::files_below;

/// Returns a program without the attributes of our lints, which embedders do not have.
fn program(text: &str) -> String {
    let mut lines: Vec<_> = text.lines().filter(|line| !line.starts_with("#![expect(")).collect();
    lines.dedup_by(|line, before| line.is_empty() && (before.is_empty() || before.starts_with("//!")));
    lines.join("\n")
}

/// Returns the code in Rust of a page.
fn code(page: &str) -> Vec<String> {
    blocks(page).into_iter().filter(|block| block.language == "rust").map(|block| block.text).collect()
}

#[test]
fn programs_on_pages_for_embedders_are_the_examples() {
    let mut quoted = Vec::new();
    for page in pages("docs/embedding") {
        for code in
            code(&fs::read_to_string(&page).unwrap()).into_iter().filter(|code| code.contains("fn main()"))
        {
            let examples = files_below(&root().join("crates"), "rs").into_iter();
            let mut examples =
                examples.filter(|file| file.parent().is_some_and(|folder| folder.ends_with("examples")));
            let same = examples.find(|file| program(&fs::read_to_string(file).unwrap()) == program(&code));
            quoted.push(
                same.unwrap_or_else(|| panic!("{} shows a program that is no example", page.display())),
            );
        }
    }
    let names: Vec<_> = quoted.iter().filter_map(|file| file.file_stem()).collect();
    for name in ["allowlist", "hashmap", "payroll", "receive"] {
        assert!(names.iter().any(|found| *found == name), "no page shows {name}");
    }
}

#[test]
fn packages_of_libraries_are_described() {
    for manifest in files_below(&root().join("crates"), "toml") {
        let text = fs::read_to_string(&manifest).unwrap();
        let Some(name) = text.lines().find_map(|line| line.strip_prefix("name = \"gatehouse-")) else {
            continue;
        };
        let name = name.trim_end_matches('"');
        for member in ["description", "readme", "keywords", "categories", "rust-version"] {
            let has = text.lines().any(|line| line.starts_with(member));
            assert!(has, "{name} has no {member}");
        }
        let readme = fs::read_to_string(manifest.with_file_name("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# gatehouse-{name}\n")), "{name}");
    }
}
