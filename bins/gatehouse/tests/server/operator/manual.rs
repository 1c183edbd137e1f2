//! Completions, manual pages and the generated reference.

use crate::support::Process;

#[test]
fn completions_and_manual_pages_cover_the_commands() {
    let process = Process::new(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let script = String::from_utf8(process.run(&["completions", shell]).stdout).unwrap();
        assert!(script.contains("break-glass"), "{shell}");
    }
    let folder = process.path().join("man");
    process.json(&["man", folder.to_str().unwrap()]);
    let page = std::fs::read_to_string(folder.join("gatehouse-user-create.1")).unwrap();
    assert!(page.contains("password") && page.contains("Example"), "{page}");
    assert_eq!(process.refused(&["man", "/dev/null/man"]).0, 1);
}

#[test]
fn wrong_usage_exits_with_2() {
    let process = Process::new(&[]);
    assert_eq!(process.refused(&["tenant", "shut"]).0, 2);
}
