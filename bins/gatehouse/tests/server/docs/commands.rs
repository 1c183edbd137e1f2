//! The commands of the README, `docs/start` and `docs/guides`, each page against a server of its own.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use kernel::{Env, SystemEnv};
use store::testing::Kind;

use super::{Block, blocks, pages, root};
use crate::support::{OpenIdProvider, Process, ending_in, idp_metadata};

/// Blocks that do not run say so in a comment in front of them, with the reason.
const NOT_RUN: &str = "not run: ";
/// Password of the users that exist before a page's commands run.
const PASSWORD: &str = "ten lanterns over Reading";
/// Where the pages say that the server is.
const SERVER: &str = "https://gatehouse.example.com";
/// Where the pages say that the OpenID provider is.
const OKTA: &str = "https://example.okta.com";
/// Serves in the background, as a second terminal would, until the page ends.
const SERVE: &str = r#"
gatehouse() {
  if [ "${1:-}" != serve ]; then command gatehouse "$@"; return; fi
  command gatehouse "$@" > serve.log 2>&1 &
  served="${served:-} $!"
  until grep -q "listening on" serve.log; do kill -0 $! && sleep 0.05; done
}
trap 'kill ${served:-} $(jobs -p) 2> /dev/null || true' EXIT
"#;

fn runs(block: &Block) -> bool {
    let reason = block.mark.as_deref().and_then(|mark| mark.strip_prefix(NOT_RUN));
    assert!(reason.is_none_or(|reason| reason.len() > 10), "say why: {}", block.text);
    block.language == "sh" && reason.is_none()
}

fn script_of(path: &Path) -> String {
    let page = std::fs::read_to_string(path).unwrap();
    let texts: Vec<_> = blocks(&page).into_iter().filter(runs).map(|block| block.text).collect();
    texts.join("\n")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Runs a page's commands in a folder, where a tenant with an administrator is served unless the page does that itself.
/// Returns its output. Fails with the script and its output.
fn try_page(path: &Path) -> Result<String, String> {
    let mut script = script_of(path);
    if script.trim().is_empty() {
        return Ok(String::new());
    }
    let (port, receiver) = (free_port(), free_port());
    let mut process = Process::on(
        Kind::Sqlite,
        &[("GATEHOUSE_PASSWORD_COST", "64,1,1"), ("GATEHOUSE_MAX_IN_FLIGHT", "64")],
    );
    process.set("GATEHOUSE_BIND", &format!("127.0.0.1:{port}"));
    if script.contains("gatehouse oidc add") {
        // The provider of the page is on this machine.
        script = script.replace(OKTA, &OpenIdProvider::shared().issuer);
        process.set("GATEHOUSE_WEBHOOKS_CA_FILE", OpenIdProvider::trusted().1);
        process.set("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8");
        std::fs::write(process.path().join("secret.txt"), "a secret\n").unwrap();
    }
    let serves = script.contains("gatehouse serve");
    let creates = |what: &str| script.contains(&format!("gatehouse {what} create"));
    if !creates("tenant") {
        process.json(&["migrate"]);
        process.json(&["tenant", "create", "--slug", "acme", "--name", "Acme"]);
        for (email, role) in [("ada@example.com", "ADMIN"), ("grace@example.com", "MEMBER")] {
            if !creates("user") || role == "ADMIN" {
                let create = ["user", "create", "--tenant", "acme", "--email", email, "--role", role];
                let made = process.with_input(&[&create[..], &["--password-stdin"]].concat(), PASSWORD);
                assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            }
        }
        let token = process.json(&["token", "scim", "--tenant", "acme", "--name", "Acme"]);
        std::fs::create_dir_all(process.path().join("data")).unwrap();
        std::fs::write(process.path().join("data/demo-scim-token"), token["token"].as_str().unwrap())
            .unwrap();
    }
    for name in ["okta", "entra", "google", "onelogin"] {
        let certificate = ending_in(SystemEnv::default().now(), 1000);
        let metadata = idp_metadata(&format!("https://{name}.example"), &[&certificate]);
        std::fs::write(process.path().join(format!("{name}-metadata.xml")), metadata).unwrap();
    }
    for receiver in ["receiver.mjs", "receiver.py"] {
        std::fs::copy(root().join("docs/receivers").join(receiver), process.path().join(receiver)).unwrap();
    }
    let server = (!serves).then(|| process.serve());
    if script.contains("api ") && !script.contains("api() {") {
        let page = std::fs::read_to_string(root().join("docs/guides/call-the-api.md")).unwrap();
        script.insert_str(0, &format!("{}\n", blocks(&page)[0].text));
    }
    let at = format!("http://localhost:{port}");
    let script = script
        .replace(SERVER, &at)
        .replace("localhost:8080", &format!("localhost:{port}"))
        .replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"))
        .replace("127.0.0.1:4000", &format!("127.0.0.1:{receiver}"));
    let program = Path::new(env!("CARGO_BIN_EXE_gatehouse")).parent().unwrap();
    let command = process.command(&[]);
    let settings = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("PATH={}:$PATH\n{SERVE}{script}", program.display())])
        .current_dir(process.path())
        .envs(settings)
        .env("RECEIVER_PORT", receiver.to_string())
        .env("PASSWORD", PASSWORD)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    drop(server);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        return Ok(stdout.into_owned());
    }
    Err(format!("== {}\n{script}\n-- output --\n{stdout}\n-- errors --\n{stderr}", path.display()))
}

fn try_all(pages: &[PathBuf]) {
    let failures: Vec<_> = pages.iter().filter_map(|page| try_page(page).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn commands_of_the_guides_work() {
    let guides = pages("docs/guides");
    assert!(guides.len() > 25, "{} guides", guides.len());
    try_all(&guides);
}

#[test]
fn commands_of_the_start_pages_work() {
    try_all(&pages("docs/start"));
}

#[test]
fn commands_of_the_readme_work() {
    let output = try_page(&root().join("README.md")).unwrap();
    for expected in [
        "\"userName\":\"ada@example.com\"",
        "\"totalResults\":1",
        "Countess",
        "ada@work.example",
        "\"displayName\":\"Engines\"",
        "invalidFilter",
    ] {
        assert!(output.contains(expected), "{expected} is not in\n{output}");
    }
}
