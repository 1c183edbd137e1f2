//! `gatehouse oidc`.

use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{OpenIdProvider, Process, Responds};

fn process(kind: Kind) -> Process {
    let settings = [
        ("GATEHOUSE_BASE_URL", "https://gate.example.com"),
        ("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8"),
        ("GATEHOUSE_WEBHOOKS_CA_FILE", OpenIdProvider::trusted().1),
    ];
    let process = Process::on(kind, &settings);
    process.tenant("acme");
    process
}

/// Adds a connection with these options. Returns the output.
fn add(process: &Process, issuer: &str, options: &[&str]) -> Value {
    let words = ["oidc", "add", "--tenant", "acme", "--name", "Okta", "--issuer", issuer, "--json"];
    let client = ["--client-id", "gatehouse", "--email-domains", "corp.example,corp.test"];
    let done = process.with_input(&[&words[..], &client, options].concat(), "a secret\n");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn operator_adds_refreshes_rotates_and_removes_a_connection() {
    for kind in Kind::ALL {
        let process = process(kind);
        let provider = OpenIdProvider::start();
        let required = ["--required-claim", "hd=corp.example", "--required-claim", "hd=corp.test"];
        let other = ["--client-secret-stdin", "--max-age", "60", "--prompt", "select_account"];
        let added = add(&process, &provider.issuer, &[&required[..], &other].concat());
        let id = added["id"].as_str().unwrap();
        let base = format!("https://gate.example.com/api/oidc/{id}");
        assert_eq!(added["redirectUri"], format!("{base}/callback"));
        assert_eq!(added["jwksUri"], format!("{base}/jwks"));

        let listed = process.json(&["oidc", "list", "--tenant", "acme"]);
        let one = &listed["providers"][0];
        assert_eq!(
            (&one["id"], &one["emailDomains"], &one["issuer"]),
            (&json!(id), &json!(["corp.example", "corp.test"]), &json!(provider.issuer))
        );
        let of_it = |command: &str| process.json(&["oidc", command, "--id", id]);
        let shown = of_it("show");
        assert_eq!(shown["requiredClaims"], json!({ "hd": ["corp.example", "corp.test"] }));
        assert_eq!((&shown["maxAge"], &shown["prompt"]), (&json!(60), &json!("select_account")));
        assert_eq!(shown["hasClientSecret"], true);
        assert!(!shown.to_string().contains("a secret"));

        let keys = json!({ "keys": [provider.signer.foreign_key("new")] });
        provider.respond("/keys", Responds::json(&keys));
        assert_eq!(of_it("refresh")["changed"], json!(["provider.keys"]));
        assert_eq!(of_it("refresh")["changed"], json!([]));
        provider.respond("/keys", Responds { status: 500, ..Responds::json(&json!({})) });
        let (status, problem) = process.refused(&["oidc", "refresh", "--id", id]);
        assert!(status == 1 && problem.contains("/keys: the server answered 500"), "{problem}");

        let started = of_it("rotate");
        let (_, problem) = process.refused(&["oidc", "rotate", "--id", id]);
        assert_eq!(problem, "gatehouse: A key rotation is already in progress. Complete it first.");
        let done = process.json(&["oidc", "rotate", "--id", id, "--complete"]);
        assert_eq!((&done["phase"], &done["certificate"]), (&json!("COMPLETED"), &started["certificate"]));
        let certificates = &of_it("show")["relyingParty"]["certificates"];
        assert_eq!(certificates[0]["fingerprint"], started["certificate"]);

        assert_eq!(of_it("remove"), json!({ "id": id, "deleted": true }));
        let (_, problem) = process.refused(&["oidc", "show", "--id", id]);
        assert_eq!(problem, "gatehouse: There is no SSO connection with this ID.");
        assert_eq!(process.json(&["oidc", "list", "--tenant", "acme"]), json!({ "providers": [] }));
    }
}

#[test]
fn wrong_values_are_explained() {
    let process = process(Kind::Sqlite);
    let provider = OpenIdProvider::start();
    let words = ["oidc", "add", "--tenant", "acme", "--name", "Okta", "--client-id", "gatehouse"];
    let refused = |options: &[&str]| {
        let domains = ["--email-domains", "corp.example"];
        process.refused(&[&words[..], &domains, options].concat()).1
    };
    let problem = refused(&["--issuer", &provider.issuer]);
    assert_eq!(problem, "gatehouse: clientSecret: write the secret of the client at the provider");
    let problem = refused(&["--issuer", "http://localhost", "--auth-method", "private_key_jwt"]);
    assert!(problem.starts_with("gatehouse: issuer: "), "{problem}");
    let closed = ["--issuer", "https://localhost:1", "--auth-method", "private_key_jwt"];
    assert!(refused(&closed).contains("could not be reached"));
    let claim = ["--issuer", &provider.issuer, "--required-claim", "hd"];
    assert!(refused(&claim).contains("write a claim and its value such as hd=example.com"));
}
