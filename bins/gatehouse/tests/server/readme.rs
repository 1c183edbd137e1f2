//! The curl tour of the README.

use std::process::Command;

use crate::support::Process;

#[test]
fn the_curl_tour_works_when_pasted() {
    let readme = include_str!("../../../../README.md");
    let tour = readme.split("<!-- tour -->").nth(1).expect("the README marks its tour");
    let script: String =
        tour.split("```").skip(1).step_by(2).map(|block| block.strip_prefix("sh\n").unwrap()).collect();
    assert!(script.matches("call ").count() >= 5, "{script}");

    // The setup of `cargo xtask up`, on another port.
    let process = Process::new(&[("GATEHOUSE_BIND", "127.0.0.1:0")]);
    process.json(&["migrate"]);
    process.json(&["tenant", "create", "--slug", "demo", "--name", "Demo"]);
    let minted = process.json(&["token", "scim", "--tenant", "demo", "--name", "Demo"]);
    let server = process.serve();
    std::fs::write(process.path().join("data/demo-scim-token"), minted["token"].as_str().unwrap()).unwrap();

    let script = script.replace("127.0.0.1:8080", &server.address.to_string());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(process.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for expected in [
        "\"userName\":\"ada@example.com\"",
        "\"totalResults\":1",
        "Countess",
        "ada@work.example",
        "\"displayName\":\"Engines\"",
        "invalidFilter",
    ] {
        assert!(said.contains(expected), "{expected} is not in\n{said}");
    }
}
