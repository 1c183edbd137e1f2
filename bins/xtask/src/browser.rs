//! Tests the pages in Chromium: scripted users walk through them, and every page is checked.

use std::{path::Path, process::Command};

use xtask::{
    server::{AUTH_SECRET, CHEAP, Server, age_users, free_address, gatehouse, member, person, serve},
    sh::{self, Result},
    system,
};

use crate::{node, oidc, secure, story};

const PASSWORD: &str = "four tall blue towers";

/// A sign-in policy that accepts only passkeys as second factors.
const STRICT: &str = r#"{
    "signInMode": "SSO_ALLOWED",
    "mfa": { "required": true, "acceptedFactors": ["WEBAUTHN"], "trustSsoMfa": false },
    "session": { "idleMinutes": 720, "absoluteDays": 30 }
}"#;

/// Settings that let webhooks reach a receiver on this machine.
pub(crate) const LOCAL_WEBHOOKS: [(&str, &str); 2] =
    [("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8"), ("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true")];

/// The directory for screenshots of every page.
const PICTURES: &str = "target/browser";

/// Runs the walks whose names contain `only`, or all.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    system::install(&system::BROWSER)?;
    let walk = node::environment(&sh::root().join("bins/gatehouse/tests/browser"))?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let pictures = root.join(PICTURES);
    let _former = std::fs::remove_dir_all(&pictures);
    let folder = std::env::temp_dir().join(format!("gatehouse-browser-{}", std::process::id()));
    for new in [&pictures, &folder] {
        std::fs::create_dir_all(new).map_err(|error| error.to_string())?;
    }
    let done = walked(&walk, &folder, &pictures, only.unwrap_or_default());
    let _removed = std::fs::remove_dir_all(&folder);
    done
}

fn walked(walk: &Path, folder: &Path, pictures: &Path, only: &str) -> Result<()> {
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("browser.db").display());
    // Passkeys are bound to the host name, so the address must be known before the server starts.
    let address = free_address()?;
    let base = format!("http://localhost:{}", address.port());
    let run = |words: &[&str]| gatehouse(&program, &database, words);
    run(&["migrate"])?;
    for (slug, name) in [("acme", "Acme"), ("asks", "Asks"), ("strict", "Strict"), ("works", "Works")] {
        run(&["tenant", "create", "--slug", slug, "--name", name])?;
    }
    let policy = folder.join("policy.json");
    std::fs::write(&policy, STRICT).map_err(|error| error.to_string())?;
    run(&["policy", "sign-in", "--tenant", "strict", "--file", &policy.display().to_string()])?;
    let with_totp = STRICT.replace(r#"["WEBAUTHN"]"#, r#"["WEBAUTHN", "TOTP"]"#);
    std::fs::write(&policy, with_totp).map_err(|error| error.to_string())?;
    run(&["policy", "sign-in", "--tenant", "asks", "--file", &policy.display().to_string()])?;
    person(&program, &database, CHEAP, "asks", "gina@example.com", PASSWORD)?;
    for name in ["ada", "both", "carol", "dave", "frank", "gwen", "reset"] {
        person(&program, &database, CHEAP, "acme", &format!("{name}@example.com"), PASSWORD)?;
    }
    person(&program, &database, CHEAP, "acme", "erin@example.com", PASSWORD)?;
    run(&["user", "role", "--tenant", "acme", "--email", "erin@example.com", "--role", "ADMIN"])?;
    person(&program, &database, CHEAP, "strict", "both@example.com", PASSWORD)?;
    run(&["user", "create", "--tenant", "strict", "--email", "invited@example.com"])?;
    for name in ["hana", "ivan"] {
        person(&program, &database, CHEAP, "works", &format!("{name}@example.com"), PASSWORD)?;
    }
    run(&["user", "role", "--tenant", "works", "--email", "hana@example.com", "--role", "ADMIN"])?;
    person(&program, &database, CHEAP, "works", "kim@corp.example", PASSWORD)?;
    person(&program, &database, CHEAP, "works", "lena@openid.example", PASSWORD)?;
    for name in ["abel", "bea", "cleo", "dora"] {
        run(&["user", "create", "--tenant", "works", "--email", &format!("{name}@works.example")])?;
    }
    age_users(&database)?;
    for domain in ["corp.example", "openid.example"] {
        run(&["domain", "verify", "--tenant", "works", "--domain", domain])?;
    }
    // The tests run an OpenID provider with this certificate.
    oidc::certificate(folder, &oidc::LOCAL)?;
    let link = |tenant: &str, email: &str| -> Result<String> {
        member(&run(&["user", "reset", "--tenant", tenant, "--email", email])?, "link")
    };
    let invitation = link("strict", "invited@example.com")?;
    let reset = link("acme", "reset@example.com")?;
    let scim = member(&run(&["token", "scim", "--tenant", "works", "--name", "Directory"])?, "token")?;
    let (_new_server, story) = story::start(&program, folder, walk)?;
    let (_secure_server, secure) = secure::start(&program, folder, PASSWORD)?;
    let facts = format!(
        r#"{{"password":"{PASSWORD}","invitation":"{invitation}","reset":"{reset}","scim":"{scim}","story":{story},
            "secure":{secure},"certificate":{:?}}}"#,
        folder.display().to_string()
    );

    let mut command = serve(&program, &database, folder);
    command.env("GATEHOUSE_BIND", address.to_string()).env("GATEHOUSE_BASE_URL", &base);
    // The tests run a webhook receiver on this machine.
    command.envs(LOCAL_WEBHOOKS).env("GATEHOUSE_WEBHOOKS_CA_FILE", folder.join("ca.pem"));
    let _server = Server::start(command.env("GATEHOUSE_PASSWORD_COST", CHEAP))?;
    let mut node = Command::new("node");
    node.current_dir(walk).arg("walk.mjs").args([&base, &pictures.display().to_string(), &facts, only]);
    sh::run(node.env("AUTH_SECRET", AUTH_SECRET))?;
    println!("pictures: {}", pictures.display());
    Ok(())
}
