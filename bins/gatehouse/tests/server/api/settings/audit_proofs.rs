//! Integrity of the audit log, verified by a client that does not trust the server.

use data_encoding::BASE64;
use directory::Role;
use ring::{
    digest::{SHA256, digest},
    hmac,
};
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Browser, Process, Running, Server, Tenant, eventually, on_both};

const LOG: &str = "/api/settings/audit-log";

type Hash = Vec<u8>;

fn sha256(parts: &[&[u8]]) -> Hash {
    digest(&SHA256, &parts.concat()).as_ref().to_vec()
}

fn bytes(value: &Value) -> Vec<u8> {
    BASE64.decode(value.as_str().unwrap().as_bytes()).unwrap()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap()
}

/// Computes the root hash from an audit path, by RFC 6962 §2.1.1: PATH(m, D[n]) in reverse.
fn root(leaf: &Hash, index: u64, size: u64, path: &[Hash]) -> Hash {
    let Some((sibling, rest)) = path.split_last() else {
        assert_eq!(size, 1, "the path is too short");
        return leaf.clone();
    };
    let left = size.next_power_of_two() / 2;
    if index < left {
        sha256(&[&[1], &root(leaf, index, left, rest), sibling])
    } else {
        sha256(&[&[1], sibling, &root(leaf, index - left, size - left, rest)])
    }
}

/// Computes the leaf hash of an entry in the API by the documented rules.
fn leaf(tenant: &str, entry: &Value, metadata: &str, proof: &Value) -> Hash {
    let commitment = match (&entry["ip"], &proof["ipSalt"]) {
        (Value::Null, _) => Vec::new(),
        (ip, salt) => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes(salt));
            hmac::sign(&key, ip.as_str().unwrap().as_bytes()).as_ref().to_vec()
        }
    };
    let fields = [
        tenant.as_bytes(),
        text(entry, "id").as_bytes(),
        text(entry, "timestamp").as_bytes(),
        text(&entry["actor"], "type").as_bytes(),
        text(&entry["actor"], "id").as_bytes(),
        text(entry, "action").as_bytes(),
        text(entry, "resourceType").as_bytes(),
        text(entry, "resourceId").as_bytes(),
        &commitment,
        metadata.as_bytes(),
    ];
    let mut all = vec![0];
    for field in fields {
        all.extend((field.len() as u64).to_be_bytes());
        all.extend(field);
    }
    sha256(&[&all])
}

/// Returns the sealed entries, once all are sealed.
fn sealed(admin: &Browser, server: &Server, tenant: &Tenant) -> Vec<Value> {
    let all = server.entries(tenant).len();
    let page = || {
        let page = admin.get(&format!("{LOG}?order=sequence&limit=200")).json();
        page["entries"].as_array().unwrap().clone()
    };
    eventually(|| page().len() >= all.min(200));
    page()
}

fn checkpoint(admin: &Browser) -> Value {
    let answer = admin.with("Accept", "application/json").get(&format!("{LOG}/checkpoint"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

#[test]
fn every_entry_has_an_inclusion_proof_in_the_signed_log() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        for number in 0..5 {
            tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": format!("u{number}") }));
        }
        let entries = sealed(&admin, server, &tenant);
        let shown = checkpoint(&admin);
        let note = admin.get(&format!("{LOG}/checkpoint"));
        assert_eq!(note.header("content-type"), "text/plain; charset=utf-8");
        assert!(note.text.starts_with(&format!("gatehouse/audit/{}\n", tenant.id)), "{}", note.text);
        // Verify the signature with the key's bytes, without our code.
        let key = shown["keys"][0].as_str().unwrap();
        let public = BASE64.decode(key.splitn(3, '+').nth(2).unwrap().as_bytes()).unwrap();
        let (signed, signature) = note.text.split_once("\n\n").unwrap();
        let signature = BASE64.decode(signature.trim().rsplit(' ').next().unwrap().as_bytes()).unwrap();
        ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, &public[1..])
            .verify(format!("{signed}\n").as_bytes(), &signature[4..])
            .unwrap();
        let lines: Vec<_> = note.text.lines().collect();
        let (size, signed_root) =
            (lines[1].parse::<u64>().unwrap(), BASE64.decode(lines[2].as_bytes()).unwrap());
        assert!(size >= entries.len() as u64);

        for (place, entry) in entries.iter().enumerate() {
            assert_eq!(entry["sequence"], place);
            let answer = admin.get(&format!("{LOG}/{}/proof", text(entry, "id")));
            assert_eq!(answer.status, 200, "{}", answer.text);
            let proof = answer.json();
            assert_eq!((&proof["sequence"], &proof["id"]), (&entry["sequence"], &entry["id"]));
            let leaf = leaf(tenant.id.as_str(), entry, &entry["metadata"].to_string(), &proof);
            assert_eq!(leaf, bytes(&proof["leafHash"]));
            let path: Vec<Hash> = proof["path"].as_array().unwrap().iter().map(bytes).collect();
            let at = proof["size"].as_u64().unwrap();
            let found = root(&leaf, place as u64, at, &path);
            let note = text(&proof, "checkpoint").lines().nth(2).unwrap().to_owned();
            assert_eq!(BASE64.encode(&found), note, "{place} of {at}");
        }
        assert_eq!(signed_root.len(), 32);

        // The log grows, and each checkpoint is consistent with the next.
        let (before, old_root) = (shown["size"].as_u64().unwrap(), bytes(&shown["rootHash"]));
        tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": "later" }));
        eventually(|| checkpoint(&admin)["size"].as_u64().unwrap() > before);
        let now = checkpoint(&admin);
        let after = now["size"].as_u64().unwrap();
        let grown = admin.get(&format!("{LOG}/consistency?from={before}&to={after}")).json();
        assert_eq!((&grown["from"], &grown["to"]), (&json!(before), &json!(after)));
        let path: Vec<[u8; 32]> =
            grown["path"].as_array().unwrap().iter().map(|hash| bytes(hash).try_into().unwrap()).collect();
        let [old, new] = [old_root, bytes(&now["rootHash"])].map(|root| <[u8; 32]>::try_from(root).unwrap());
        assert!(audit::log::verify_consistency((before, &old), (after, &new), &path));
        for (query, says) in [
            ("", "from: "),
            ("?from=x", "from: "),
            ("?from=-1", "from: "),
            ("?from=2&to=1", "from, to: "),
            ("?from=0&to=100000", "from, to: "),
        ] {
            let refused = admin.get(&format!("{LOG}/consistency{query}"));
            assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("INVALID_REQUEST")));
            assert!(text(&refused.json(), "error").starts_with(says), "{}", refused.text);
        }
        tiles_have_the_hashes_of_the_log(&admin, &now);
        // Another tenant's entry has no proof here, and an empty log has no checkpoint.
        let other = server.tenant("other");
        let (_, stranger) = server.signed_in(&other, "eve@example.com", Role::Admin);
        let theirs = stranger.get(&format!("{LOG}/{}/proof", text(&entries[0], "id")));
        assert_eq!((theirs.status, &theirs.json()["code"]), (404, &json!("NOT_FOUND")));
        assert_eq!(admin.get(&format!("{LOG}/aud_x/proof")).status, 404);
        assert_eq!(stranger.get(&format!("{LOG}/tile/0/000.p/9")).status, 404, "of the caller's own log");
    });
}

/// Reads the tiles of a log with fewer than 256 entries.
fn tiles_have_the_hashes_of_the_log(admin: &Browser, checkpoint: &Value) {
    let size = checkpoint["size"].as_u64().unwrap();
    let tile = admin.raw("GET", &format!("{LOG}/tile/0/000.p/{size}"), None, "");
    let header = |name: &str| tile.header(name).to_owned();
    assert_eq!((tile.status, header("content-type")), (200, "application/octet-stream".to_owned()));
    assert_eq!(header("cache-control"), "private, max-age=31536000, immutable");
    let mut frontier = audit::log::Frontier::default();
    let (hashes, rest) = tile.body.as_chunks::<32>();
    assert_eq!((hashes.len() as u64, rest.len()), (size, 0));
    for hash in hashes {
        frontier.push(*hash, |_, _| {});
    }
    assert_eq!(frontier.root().to_vec(), bytes(&checkpoint["rootHash"]));
    for missing in
        ["0/000", "0/001.p/1", "1/000.p/1", "0/000.p/0", "0/0", "00/000", "8/000", "x/000", "0/x000/000"]
    {
        let answer = admin.get(&format!("{LOG}/tile/{missing}"));
        assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("NOT_FOUND")), "{missing}");
    }
}

#[test]
fn consumer_follows_the_log_with_an_endless_cursor() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        for round in 0..4 {
            for number in 0..3 {
                tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": format!("u{round}-{number}") }));
            }
            let all = sealed(&admin, server, &tenant).len();
            while seen.len() < all {
                let page = admin.get(&format!("{LOG}?order=sequence&limit=4{cursor}")).json();
                for entry in page["entries"].as_array().unwrap() {
                    seen.push(entry["sequence"].as_u64().unwrap());
                }
                cursor = format!("&cursor={}", text(&page, "nextCursor"));
            }
        }
        assert_eq!(seen, (0..seen.len() as u64).collect::<Vec<_>>());
        // At the end the cursor stays valid.
        let page = admin.get(&format!("{LOG}?order=sequence{cursor}")).json();
        assert_eq!((&page["entries"], page["nextCursor"].is_string()), (&json!([]), true));
        let created = admin.get(&format!("{LOG}?order=sequence&action=ACCOUNT_USER_CREATED")).json();
        assert_eq!(created["entries"].as_array().unwrap().len(), 12);
        for (query, code) in
            [("order=time", "INVALID_REQUEST"), (&*format!("limit=5{cursor}"), "INVALID_CURSOR")]
        {
            let refused = admin.get(&format!("{LOG}?{query}"));
            assert_eq!((refused.status, &refused.json()["code"]), (400, &json!(code)), "{query}");
        }
        assert_eq!(admin.get(&format!("{LOG}/export?order=sequence")).status, 400);
    });
}

/// Starts a process with a tenant, its administrator's token, and some entries.
fn running(kind: Kind) -> (Process, Running, Browser) {
    let process = Process::on(kind, &[("GATEHOUSE_PASSWORD_COST", "64,1,1")]);
    process.json(&["migrate"]);
    process.json(&["tenant", "create", "--slug", "acme", "--name", "Acme"]);
    process.json(&["user", "create", "--tenant", "acme", "--email", "ada@example.com", "--role", "ADMIN"]);
    let who = ["--tenant", "acme", "--email", "ada@example.com"];
    let pat = process.json(
        &[&["token", "pat", "--name", "CI", "--scopes", "read:profile,admin:tenant"], &who[..]].concat(),
    );
    let server = process.serve();
    let by = Browser::new(server.address).with("Authorization", &format!("Bearer {}", text(&pat, "token")));
    for number in 0..4 {
        let rule = json!({ "cidr": format!("10.0.0.{number}"), "label": "Office" });
        assert_eq!(by.post("/api/settings/network-policy/rules", &rule).status, 200);
    }
    (process, server, by)
}

#[test]
fn operator_verifies_the_database_and_anybody_verifies_an_export() {
    for kind in Kind::ALL {
        let (process, server, by) = running(kind);
        let size = || checkpoint(&by)["size"].as_u64().unwrap_or_default();
        eventually(|| by.get(&format!("{LOG}/checkpoint")).status == 200 && size() >= 7);
        let verify = ["audit", "verify", "--tenant", "acme"];
        let clean = process.json(&verify);
        assert_eq!((&clean["count"], &clean["findings"]), (&json!(0), &json!([])), "{clean}");
        let folder = process.path().to_owned();
        let kept = folder.join("checkpoint.txt");
        std::fs::write(&kept, by.get(&format!("{LOG}/checkpoint")).text).unwrap();
        let with_kept = [&verify[..], &["--checkpoint", kept.to_str().unwrap()]].concat();
        assert_eq!(process.json(&with_kept)["count"], 0);

        // Without the database, with only the key.
        let export = by.get(&format!("{LOG}/export?format=ndjson&proofs=true"));
        assert_eq!(export.status, 200, "{}", export.text);
        let file = folder.join("log.ndjson");
        std::fs::write(&file, &export.text).unwrap();
        let key = process.json(&["audit", "key", "--tenant", "acme"])["keys"][0].as_str().unwrap().to_owned();
        let elsewhere = Process::new(&[]);
        let offline = ["audit", "verify", "--file", file.to_str().unwrap(), "--key", &key];
        let found = elsewhere.json(&offline);
        assert_eq!(found["count"], 0, "{found}");
        assert!(found["entries"].as_u64().unwrap() >= 7 && found["leftOut"] == 0, "{found}");
        assert!(!elsewhere.path().join("gatehouse.db").exists(), "no database is created");
        let changed = export.text.replacen("ACCOUNT_NETWORK_RULE_ADDED", "ACCOUNT_NETWORK_RULE_REMOVED", 1);
        assert_ne!(changed, export.text);
        std::fs::write(&file, changed).unwrap();
        let output = elsewhere.run(&offline);
        let report = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success() && report.contains("was changed"), "{report}");
        std::fs::write(&file, export.text.lines().skip(1).collect::<Vec<_>>().join("\n")).unwrap();
        assert!(elsewhere.refused(&offline).1.contains("the first line is not a checkpoint"));
        for query in ["format=csv&proofs=true", "proofs=yes&format=ndjson"] {
            assert_eq!(by.get(&format!("{LOG}/export?{query}")).status, 400);
        }

        // Erasing addresses keeps the proofs valid.
        let me = text(&by.get("/api/me").json(), "id").to_owned();
        let erase = ["audit", "erase", "--tenant", "acme", "--user", &me];
        assert!(process.json(&erase)["erased"].as_u64().unwrap() >= 4);
        let clean = process.json(&with_kept);
        assert!(clean["count"] == 0 && clean["erased"].as_u64().unwrap() >= 4, "{clean}");
        let forever = ["audit", "purge", "--tenant", "acme"];
        assert!(process.refused(&forever).1.contains("are kept forever"));
        assert_eq!(process.json(&["audit", "retain", "--tenant", "acme", "--days", "30"])["days"], 30);
        assert_eq!(process.json(&forever)["dropped"], 0, "nothing is that old");
        assert_eq!(process.json(&["audit", "retain", "--tenant", "acme", "--forever"])["days"], Value::Null);
        assert_eq!(process.refused(&["audit", "retain", "--tenant", "acme", "--days", "0"]).0, 2);

        // Change the database directly.
        let of = "WHERE action = 'ACCOUNT_NETWORK_RULE_ADDED'";
        if kind == Kind::Sqlite {
            process.sql("DROP TRIGGER audit_entries_stay_as_they_are");
        }
        process.sql(&format!("UPDATE audit_entries SET actor_id = 'usr_somebody' {of}"));
        let output = process.run(&verify);
        let report = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success() && report.contains("was changed"), "{report}");
        drop(server);
    }
}
