//! `gatehouse saml` and `gatehouse domain`.

use kernel::{Env, SystemEnv};
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Caller, Idp, Process, Running, Sink, ending_in, idp_metadata};

/// Returns the running server's response to an administrator of the tenant.
fn shown(process: &Process, server: &Running, path: &str) -> Value {
    let of = ["--tenant", "acme", "--email", "ada@example.com"];
    let minted =
        process.json(&[&["token", "pat", "--name", "show", "--scopes", "admin:tenant"][..], &of].concat());
    Caller::anonymous(server.address).bearer(minted["token"].as_str().unwrap()).get(path).json()
}

fn process(kind: Kind) -> Process {
    let settings = [
        ("GATEHOUSE_BASE_URL", "https://gate.example.com"),
        ("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8"),
        ("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true"),
    ];
    let process = Process::on(kind, &settings);
    process.tenant("acme");
    let of = ["--tenant", "acme", "--email", "ada@example.com"];
    process.json(&[&["user", "create", "--role", "ADMIN"][..], &of].concat());
    process
}

#[test]
fn operator_adds_rotates_and_removes_a_connection() {
    for kind in Kind::ALL {
        let process = process(kind);
        let idp = Idp::new("idp.example.com");
        std::fs::write(process.path().join("idp.xml"), idp.metadata()).unwrap();
        let words = ["saml", "add", "--tenant", "acme", "--name", "Okta"];
        let from = ["--metadata", "idp.xml", "--email-domains", "corp.example,corp.test"];
        let added = process.json(&[&words[..], &from].concat());
        assert_eq!(added.as_object().unwrap().len(), 1, "{added}");
        let id = added["id"].as_str().unwrap().to_owned();

        let listed = process.json(&["saml", "list", "--tenant", "acme"]);
        let one = &listed["providers"][0];
        assert_eq!(
            (&one["id"], &one["emailDomains"], &one["entityId"]),
            (&json!(id), &json!(["corp.example", "corp.test"]), &json!(idp.entity_id))
        );
        let of_it = |command: &str| process.json(&["saml", command, "--id", &id]);
        let before = of_it("show");
        let service = &before["serviceProvider"];
        assert_eq!(service["acsUrl"], json!(format!("https://gate.example.com/api/saml/{id}/acs")));

        let started = of_it("rotate");
        assert_eq!(started["phase"], "STARTED");
        let (status, problem) = process.refused(&["saml", "rotate", "--id", &id]);
        assert_eq!(
            (status, problem.as_str()),
            (1, "gatehouse: A key rotation is already in progress. Complete it first.")
        );
        let done = process.json(&["saml", "rotate", "--id", &id, "--complete"]);
        assert_eq!((&done["phase"], &done["certificate"]), (&json!("COMPLETED"), &started["certificate"]));

        // The server has the same keys and shows the same.
        let server = process.serve();
        let there = shown(&process, &server, &format!("/api/settings/saml-providers/{id}"));
        assert_eq!(there["serviceProvider"]["certificates"][0]["fingerprint"], started["certificate"]);
        assert_eq!(there, of_it("show"));
        let log = shown(&process, &server, "/api/settings/audit-log?resourceType=saml_provider");
        let entries = log["entries"].as_array().unwrap();
        assert!(entries.len() == 3 && entries.iter().all(|one| one["actor"]["type"] == "SYSTEM"), "{log}");

        assert_eq!(of_it("remove"), json!({ "id": id, "deleted": true }));
        let (_, problem) = process.refused(&["saml", "show", "--id", &id]);
        assert_eq!(problem, "gatehouse: There is no SSO connection with this ID.");
        assert_eq!(process.json(&["saml", "list", "--tenant", "acme"]), json!({ "providers": [] }));
    }
}

#[test]
fn metadata_is_read_from_a_url_or_standard_input() {
    let (process, sink) = (process(Kind::Sqlite), Sink::start());
    let now = SystemEnv::default().now();
    let (old, new) = (ending_in(now, 100), ending_in(now, 200));
    sink.answers("/metadata", 200, "", &idp_metadata("https://idp.example.com", &[&old]));
    let add = ["saml", "add", "--tenant", "acme", "--name", "Corp", "--email-domains"];
    let url = sink.url("/metadata");
    let added = process.json(&[&add[..], &["corp.example", "--metadata-url", &url]].concat());
    let id = added["id"].as_str().unwrap();
    let refresh = ["saml", "refresh", "--id", id];
    assert_eq!(process.json(&refresh), json!({ "id": id, "changed": [] }));
    sink.answers("/metadata", 200, "", &idp_metadata("https://idp.example.com", &[&old, &new]));
    assert_eq!(process.json(&refresh), json!({ "id": id, "changed": ["certificates"] }));
    sink.answers("/metadata", 404, "", "");
    let (status, problem) = process.refused(&refresh);
    let expected = format!("gatehouse: {id}: the server answered 404 instead of 200");
    assert_eq!((status, problem), (1, expected));

    let metadata = idp_metadata("https://idp.example.com", &[&new]);
    let words = [&add[..], &["corp.test", "--metadata", "-", "--json"]].concat();
    let output = process.with_input(&words, &metadata);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let by_input: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (status, problem) = process.refused(&["saml", "refresh", "--id", by_input["id"].as_str().unwrap()]);
    assert_eq!(
        (status, problem.as_str()),
        (1, "gatehouse: This connection has no metadata URL. Set one to refresh its metadata.")
    );

    let refused = |words: &[&str]| process.refused(&[&add[..], words].concat());
    let problems = [
        refused(&["corp.example", "--metadata", "none.xml"]).1,
        refused(&["nonsense", "--metadata-url", &url]).1,
        refused(&["third.example", "--metadata-url", "nonsense"]).1,
        refused(&["third.example", "--metadata-url", &url]).1,
    ];
    insta::assert_snapshot!(problems.join("\n"), @r"
    gatehouse: --metadata: none.xml: No such file or directory (os error 2)
    gatehouse: emailDomains[0]: write a domain such as example.com
    gatehouse: --metadata-url: this is not a URL (relative URL without a base); write it like https://example.com/path
    gatehouse: --metadata-url: the server answered 404 instead of 200
    ");
    for usage in [&["third.example"][..], &["third.example", "--metadata", "-", "--metadata-url", &url]] {
        assert_eq!(refused(usage).0, 2);
    }
    // `doctor` reports certificates that expire soon or have expired.
    let checks = process.json(&["doctor"])["checks"].clone();
    let line = checks.as_array().unwrap().iter().find(|one| one["check"] == "identity providers").unwrap();
    assert_eq!(
        (&line["status"], &line["message"]),
        (&json!("ok"), &json!("SSO connections with certificates valid for more than 30 days: 2"))
    );
}

#[test]
fn operator_verifies_a_domain() {
    for kind in Kind::ALL {
        let process = process(kind);
        process.json(&["tenant", "create", "--slug", "globex", "--name", "Globex", "--tier", "FREE"]);
        let verify = |tenant: &str| {
            ["domain", "verify", "--tenant", tenant, "--domain", "Corp.Example"].map(str::to_owned)
        };
        let run = |words: &[String]| process.json(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let verified = json!({ "domain": "corp.example", "verified": true });
        assert_eq!(run(&verify("acme")), verified);
        assert_eq!(run(&verify("acme")), verified, "the command can be repeated");
        let theirs = verify("globex");
        let (status, problem) = process.refused(&theirs.each_ref().map(String::as_str));
        assert_eq!(status, 1);
        assert!(problem.starts_with("gatehouse: Another tenant has verified corp.example."), "{problem}");
        let listed = process.json(&["domain", "list", "--tenant", "acme"]);
        let one = &listed["domains"][0];
        assert_eq!((&one["domain"], &one["method"]), (&json!("corp.example"), &json!("OPERATOR")));

        let server = process.serve();
        let there = shown(&process, &server, "/api/settings/domains");
        assert_eq!(
            (&there["domains"][0]["status"], &there["domains"][0]["method"]),
            (&json!("VERIFIED"), &json!("OPERATOR"))
        );
        let remove = ["domain", "remove", "--tenant", "acme", "--domain", "corp.example"];
        assert_eq!(process.json(&remove), json!({ "domain": "corp.example", "deleted": true }));
        assert_eq!(process.refused(&remove).0, 1);
        assert_eq!(run(&theirs), verified);
        let log = shown(&process, &server, "/api/settings/audit-log?resourceType=domain");
        let actions: Vec<_> =
            log["entries"].as_array().unwrap().iter().map(|one| one["action"].clone()).collect();
        assert_eq!(actions, [json!("ACCOUNT_DOMAIN_REMOVED"), json!("ACCOUNT_DOMAIN_VERIFIED")]);
    }
}
