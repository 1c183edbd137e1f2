//! `list` and `show`: tables for humans, JSON for programs.

use serde_json::json;

use crate::support::Process;

fn text(process: &Process, words: &[&str]) -> String {
    let output = process.run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn empty_lists_say_how_to_create_the_first() {
    let process = Process::new(&[]);
    process.json(&["migrate"]);
    assert!(text(&process, &["tenant", "list"]).contains("gatehouse tenant create"));
    process.json(&["tenant", "create", "--slug", "acme", "--name", "Acme"]);
    for (words, command) in [
        (["user", "list"], "gatehouse user create"),
        (["token", "list"], "gatehouse token scim"),
        (["saml", "list"], "gatehouse saml add"),
        (["domain", "list"], "gatehouse domain verify"),
    ] {
        let printed = text(&process, &[&words[..], &["--tenant", "acme"]].concat());
        assert!(printed.contains(command), "{words:?}: {printed}");
    }
}

#[test]
fn tenants_users_and_tokens_are_listed_and_shown() {
    let process = Process::new(&[]);
    process.tenant("acme");
    process.json(&["tenant", "create", "--slug", "other", "--name", "Other"]);
    let ada = ["--tenant", "acme", "--email", "ada@example.com"];
    process.json(&[&["user", "create", "--role", "ADMIN"][..], &ada].concat());
    let pat =
        process.json(&[&["token", "pat", "--name", "CI", "--scopes", "read:profile"][..], &ada].concat());

    let printed = text(&process, &["tenant", "list"]);
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(lines.len(), 3, "{printed}");
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["SLUG", "NAME", "TIER", "CREATED", "ID"]);
    assert!(lines[1].starts_with("acme ") && lines[2].starts_with("other "), "{printed}");
    assert!(!printed.contains('\u{1b}'), "no colors outside of a terminal");
    let tenants = process.json(&["tenant", "list"]);
    assert_eq!(tenants["tenants"][0], process.json(&["tenant", "show", "--slug", "acme"]));

    let users = process.json(&["user", "list", "--tenant", "acme"]);
    assert_eq!(users["users"].as_array().unwrap().len(), 1);
    assert_eq!(users["users"][0]["role"], "ADMIN");
    let shown = process.json(&[&["user", "show"][..], &ada].concat());
    assert_eq!((&shown["hasPassword"], &shown["factors"]), (&json!(false), &json!([])));
    assert!(text(&process, &[&["user", "show"][..], &ada].concat()).contains("ada@example.com"));

    let scim = process.json(&["token", "list", "--tenant", "acme"]);
    assert_eq!(scim["tokens"][0]["name"], "test");
    let personal = process.json(&[&["token", "list"][..], &ada].concat());
    assert_eq!(personal["tokens"][0]["id"], pat["id"]);
    process.json(&["token", "revoke", "--id", pat["id"].as_str().unwrap()]);
    assert!(text(&process, &[&["token", "list"][..], &ada].concat()).contains("no personal access tokens"));
    // Tokens and users of another tenant stay invisible.
    assert_eq!(process.json(&["user", "list", "--tenant", "other"]), json!({ "users": [] }));
    assert_eq!(process.json(&["token", "list", "--tenant", "other"]), json!({ "tokens": [] }));

    let policy = process.json(&["policy", "show", "--tenant", "acme"]);
    assert_eq!(policy["signIn"]["signInMode"], "SSO_ALLOWED");
    assert_eq!(policy["network"]["settings"]["mode"], "OFF");
}
