//! Links between the pages of the documentation.

use std::path::Path;

use super::{pages, root};

/// Returns a page's text without its code.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Returns the anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for heading in prose(page).lines().filter(|line| line.starts_with('#')) {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|one| one.is_alphanumeric() || [' ', '-', '_'].contains(one));
        let anchor: String = kept.map(|one| if one == ' ' { '-' } else { one }).collect();
        let twins = found.iter().filter(|other| **other == anchor).count();
        found.push(if twins == 0 { anchor } else { format!("{anchor}-{twins}") });
    }
    found
}

/// Returns the targets of the links of a page.
fn targets(page: &str) -> Vec<String> {
    let text = prose(page).replace('\n', " ");
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

fn broken(path: &Path) -> Vec<String> {
    let page = std::fs::read_to_string(path).unwrap();
    let is_broken = |target: &String| {
        if target.starts_with("http") || target.starts_with("mailto:") {
            return false;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let file = if file.is_empty() { path.to_owned() } else { path.parent().unwrap().join(file) };
        let Ok(text) = std::fs::read_to_string(&file) else { return !file.exists() };
        !anchor.is_empty() && !anchors(&text).contains(&anchor.to_owned())
    };
    let shown = |target| format!("{}: {target}", path.strip_prefix(root()).unwrap().display());
    targets(&page).into_iter().filter(is_broken).map(shown).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut all = pages("docs");
    all.push(root().join("README.md"));
    let found: Vec<_> = all.iter().flat_map(|page| broken(page)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_page_is_reached_from_the_index() {
    let index = std::fs::read_to_string(root().join("docs/README.md")).unwrap();
    let linked = targets(&index);
    let missing: Vec<_> = pages("docs")
        .into_iter()
        .map(|page| page.strip_prefix(root().join("docs")).unwrap().display().to_string())
        .filter(|page| {
            page != "README.md" && !linked.iter().any(|target| target.split('#').next() == Some(page))
        })
        .collect();
    assert!(missing.is_empty(), "docs/README.md does not link {missing:#?}");
}
