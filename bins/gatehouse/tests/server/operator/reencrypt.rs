//! Retirement of the master key that encrypted stored secrets.

use serde_json::json;
use store::testing::Kind;

use super::tenant_with_secrets::{SETTINGS, TenantWithSecrets};
use crate::support::{Process, Sink, eventually};

#[test]
fn stored_secrets_outlive_the_master_key_that_encrypted_them() {
    for kind in Kind::ALL {
        let mut process = Process::on(kind, &SETTINGS);
        process.keep_master_key_in_file();
        let sink = Sink::start();
        let mut acme = TenantWithSecrets::new(&process, &sink);
        let unchanged = process.json(&["keys", "reencrypt"]);
        assert_eq!((&unchanged["reencrypted"], &unchanged["webhooks"]), (&json!(0), &json!([])));

        let mut server = process.serve();
        let rotated = process.json(&["keys", "rotate", "--only", "master-key"]);
        let (new, old) = (&rotated["masterKey"]["verify"][0], &rotated["masterKey"]["verify"][1]);
        let retire = ["keys", "retire", "--only", "master-key"];
        let (code, problem) = process.refused(&retire);
        assert_eq!(code, 1);
        assert!(
            problem.contains("acme still needs this key (secrets: 5, webhooks: 1, domains: 0)."),
            "{problem}"
        );
        let done = process.json(&["keys", "reencrypt"]);
        // An authenticator app, the key of the connection, a log stream, and key and header of the signals.
        assert_eq!((&done["key"], &done["reencrypted"], &done["unreadable"]), (new, &json!(5), &json!([])));
        let [webhook] = &done["webhooks"].as_array().unwrap()[..] else { panic!("{done}") };
        assert_eq!((&webhook["tenant"], &webhook["key"]), (&json!("acme"), old));
        assert_eq!(process.json(&["keys", "reencrypt"])["reencrypted"], 0);
        let recorded = acme.entries(&server, "ACCOUNT_TENANT_SECRETS_REENCRYPTED");
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        assert_eq!(recorded[0]["metadata"], json!({ "count": 5, "key": new }));

        eventually(|| server.log().contains("keys reloaded"));
        let (_, problem) = process.refused(&retire);
        assert!(problem.contains("(secrets: 0, webhooks: 1,"), "{problem}");
        acme.replace_webhook(&server, &sink);
        process.json(&[&retire[..], &["--force"]].concat());
        assert_eq!(server.terminate().0, Some(0), "{}", server.log());
        acme.works(&process.serve(), &sink);
    }
}
