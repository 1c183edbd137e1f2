//! Validation opens no file and no connection, whatever a document names.

use std::process::Command;

use crate::{hostile, valid, world::examined};

const BEGIN: &str = "<<documents begin>>";
const END: &str = "<<documents end>>";
/// Set in the process that is traced.
const WATCHED: &str = "SAML_WATCHED";

/// Runs in the traced process.
#[test]
fn watched() {
    if std::env::var_os(WATCHED).is_none() {
        return;
    }
    saml_sp::warm_up();
    let hostile =
        hostile::ALL.iter().flat_map(|(_, cases)| cases).map(|case| (case.field.clone(), case.change));
    let all: Vec<_> =
        valid::all().into_iter().map(|case| (case.form(), case.change)).chain(hostile).collect();
    eprintln!("{BEGIN}");
    for (field, change) in &all {
        drop(examined(field, *change));
    }
    eprintln!("{END}");
}

#[test]
fn no_file_and_no_socket_is_opened_by_any_document() {
    let runs = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    assert!(runs, "no strace: apt-get install strace");
    let folder = std::env::temp_dir().join(format!("saml-watched-{}", std::process::id()));
    let output = Command::new("strace")
        .args(["-f", "-qq", "-s", "200", "-e", "trace=open,openat,openat2,creat,socket,connect,execve,write"])
        .arg("-o")
        .arg(&folder)
        .arg(std::env::current_exe().unwrap())
        .args(["quiet::watched", "--exact", "--nocapture", "--test-threads=1"])
        .env(WATCHED, "1")
        .output()
        .unwrap();
    let log = std::fs::read_to_string(&folder).unwrap();
    std::fs::remove_file(&folder).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (before, rest) = log.split_once(BEGIN).unwrap_or_else(|| panic!("the beginning is missing: {log}"));
    let (between, _) = rest.split_once(END).unwrap_or_else(|| panic!("the end is missing: {rest}"));
    // Checks that the trace works: starting the program reads files.
    assert!(before.contains("openat("), "{before}");
    // The only writes are the ends of the marker lines; the libraries print nothing either.
    let calls: Vec<_> = between
        .lines()
        .skip(1)
        .filter(|line| !line.contains("write(2, \"\\n\"") && !line.ends_with("write(2, \""))
        .collect();
    assert!(calls.is_empty(), "system calls while documents were examined:\n{}", calls.join("\n"));
}
