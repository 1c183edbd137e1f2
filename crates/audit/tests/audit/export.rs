//! Exports, and their verification with nothing but the public key.

use audit::{
    ExportFormat, ExportWriter, Exported, Filter, Proof, follow,
    log::{
        CheckpointKey, ExportError, Finding, Nodes, NoteError, VerifiedExport, exported_tenant, inclusion,
        newest_checkpoint, verify_export,
    },
    ocsf::Source,
};
use serde_json::{Value, json};

use crate::support::World;

/// An export with proofs of a log of six entries, and its public keys.
struct Export {
    lines: Vec<String>,
    keys: Vec<CheckpointKey>,
    tenant: String,
}

impl Export {
    async fn new() -> Self {
        let mut world = World::new();
        world.append(6).await;
        world.seal().await;
        world.append(1).await;
        let keys = world.checkpoint_keys();
        let note = newest_checkpoint(&mut world.audit_log, &keys).await.unwrap().note;
        let writer = ExportWriter::read(Some("ndjson"), Some("true")).unwrap();
        let mut file = writer.head(Some(&note));
        for (sequence, listed) in
            follow(&mut world.audit_log, &Filter::default(), 0, 10).await.unwrap().entries
        {
            let path = inclusion(&mut world.audit_log, &mut Nodes::default(), sequence, 6).await.unwrap();
            let proof = Some(Proof { sequence, path: path.unwrap() });
            writer.line(&mut file, Exported { listed, proof }, &source()).unwrap();
        }
        let lines = String::from_utf8(file).unwrap().lines().map(str::to_owned).collect();
        Self { lines, keys, tenant: world.ctx.tenant.to_string() }
    }

    fn verify(&self) -> VerifiedExport {
        self.verify_bytes(self.lines.join("\n").as_bytes())
    }

    fn verify_bytes(&self, bytes: &[u8]) -> VerifiedExport {
        verify_export(bytes, &self.keys).unwrap()
    }

    /// Returns the findings after a line, counted from 0, was changed.
    fn findings_with(&self, line: usize, change: impl FnOnce(&mut Value)) -> Vec<Finding> {
        let mut lines = self.lines.clone();
        let mut entry: Value = serde_json::from_str(&lines[line]).unwrap();
        change(&mut entry);
        lines[line] = entry.to_string();
        self.verify_bytes(lines.join("\n").as_bytes()).findings
    }

    /// Returns the id of the entry in a line.
    fn id(&self, line: usize) -> String {
        let entry: Value = serde_json::from_str(&self.lines[line]).unwrap();
        entry["id"].as_str().unwrap().to_owned()
    }
}

fn source() -> Source {
    Source { product: "Test", version: "1", tenant: String::new() }
}

#[tokio::test]
async fn export_verifies_and_says_what_is_left_out() {
    let mut export = Export::new().await;
    let found = export.verify();
    assert_eq!(
        (found.size, found.entries, found.left_out, found.count),
        (6, 6, 0, 0),
        "the seventh is not sealed"
    );
    assert_eq!((found.sequences, &found.tenant), (Some((0, 5)), &export.tenant));
    assert_eq!(exported_tenant(export.lines.join("\n").as_bytes()).unwrap(), Some(export.tenant.clone()));
    export.lines.remove(3);
    export.lines.remove(3);
    let found = export.verify();
    assert_eq!((found.entries, found.sequences, found.left_out, found.count), (4, Some((0, 5)), 2, 0));
    export.lines.truncate(1);
    let found = export.verify();
    assert_eq!((found.entries, found.sequences, found.left_out, found.count), (0, None, 0, 0));
}

#[tokio::test]
async fn changed_entries_are_found() {
    let export = Export::new().await;
    let changed = |sequence: u64, line| vec![Finding::Changed { sequence, id: export.id(line) }];
    let members = [
        ("action", json!("ACCOUNT_USER_CREATED")),
        ("resourceType", json!("group")),
        ("resourceId", json!("usr_2")),
        ("metadata", json!({ "x": 1 })),
        ("ip", json!("192.0.2.8")),
        ("ip", Value::Null),
        ("timestamp", json!("2026-01-01T00:00:00.009Z")),
        ("timestamp", json!("2026-01-01T01:00:00.003+01:00")),
        ("actor", json!({ "id": "sct_2", "type": "SCIM" })),
        ("actor", json!({ "id": "sct_1", "type": "USER" })),
    ];
    for (name, value) in members {
        let found = export.findings_with(3, |entry| entry[name] = value);
        assert_eq!(found, changed(2, 3), "{name}");
    }
    for (name, value) in [("ipSalt", json!("AAAA")), ("path", json!([]))] {
        let found = export.findings_with(3, |entry| entry["proof"][name] = value);
        assert_eq!(found, changed(2, 3), "{name}");
    }
    let found = export.findings_with(3, |entry| entry["proof"]["sequence"] = json!(1));
    assert_eq!(found, changed(1, 3));
    // The name of the actor is not covered.
    assert_eq!(export.findings_with(3, |entry| entry["actor"]["name"] = json!("Okta")), []);
    // The same entry twice.
    let mut export = Export::new().await;
    export.lines.push(export.lines[3].clone());
    let found = export.verify();
    assert_eq!(
        (found.entries, found.findings),
        (7, vec![Finding::Changed { sequence: 2, id: export.id(3) }])
    );
}

#[tokio::test]
async fn unreadable_lines_are_found_and_the_rest_is_verified() {
    let export = Export::new().await;
    let unreadable = [Finding::UnreadableLine { line: 4 }];
    let remove = |name: &'static str| {
        move |entry: &mut Value| {
            entry.as_object_mut().unwrap().remove(name);
        }
    };
    assert_eq!(export.findings_with(3, |entry| entry["comment"] = json!("x")), unreadable);
    assert_eq!(export.findings_with(3, |entry| entry["proof"]["x"] = json!(1)), unreadable);
    assert_eq!(export.findings_with(3, remove("proof")), unreadable);
    assert_eq!(export.findings_with(3, remove("action")), unreadable);
    assert_eq!(export.findings_with(3, |entry| entry["timestamp"] = json!("today")), unreadable);
    assert_eq!(export.findings_with(3, |entry| entry["proof"]["path"] = json!(["AAAA"])), unreadable);
    assert_eq!(export.findings_with(3, |entry| entry["proof"]["ipSalt"] = json!("?")), unreadable);

    let (before, after) = (export.lines[..3].join("\n"), export.lines[3..].join("\n"));
    let with = |line: &[u8]| {
        let found = export.verify_bytes(&[before.as_bytes(), b"\n", line, b"\n", after.as_bytes()].concat());
        (found.entries, found.findings)
    };
    assert_eq!(with(b"{"), (7, unreadable.to_vec()));
    assert_eq!(with(b"\xff"), (7, unreadable.to_vec()));
    // A long line is read to its end.
    for length in [1024 * 1024 - 1, 1024 * 1024, 3 * 1024 * 1024] {
        assert_eq!(with(&vec![b' '; length]), (7, unreadable.to_vec()), "{length}");
    }
    let many = vec!["{"; 1001].join("\n");
    let found = export.verify_bytes(format!("{}\n{many}", export.lines[0]).as_bytes());
    assert_eq!((found.entries, found.count, found.findings.len()), (1001, 1001, 1000));
}

#[tokio::test]
async fn export_without_a_signed_checkpoint_is_refused() {
    let export = Export::new().await;
    for head in ["", "{}", "[]", r#"{"checkpoint":"x","more":1}"#] {
        let refused = verify_export(head.as_bytes(), &export.keys);
        assert!(matches!(refused, Err(ExportError::NoCheckpoint)), "{head}: {refused:?}");
        assert_eq!(exported_tenant(head.as_bytes()).unwrap(), None);
    }
    let unsigned = verify_export(export.lines.join("\n").as_bytes(), &[]);
    assert!(matches!(unsigned, Err(ExportError::Note(NoteError::UnknownKey))), "{unsigned:?}");
}

#[tokio::test]
async fn each_format_has_a_line_per_entry() {
    let mut world = World::new();
    world.append(1).await;
    world.seal().await;
    let write = |format: Option<&str>, listed| {
        let writer = ExportWriter::read(format, None).unwrap();
        let mut file = writer.head(None);
        writer.line(&mut file, Exported { listed, proof: None }, &source()).unwrap();
        String::from_utf8(file).unwrap()
    };
    let (_, listed) = follow(&mut world.audit_log, &Filter::default(), 0, 1).await.unwrap().entries.remove(0);
    let id = listed.entry.id.clone();
    let csv = write(None, listed.clone());
    assert!(csv.starts_with("id,") && csv.lines().count() == 2 && csv.contains(&id), "{csv}");
    let json: Value = serde_json::from_str(&write(Some("ndjson"), listed.clone())).unwrap();
    assert_eq!((&json["id"], json.get("proof")), (&json!(id), None));
    let ocsf: Value = serde_json::from_str(&write(Some("ocsf"), listed.clone())).unwrap();
    assert_eq!(ocsf["metadata"]["uid"], id);
    // With proofs, an entry without one is left out.
    let writer = ExportWriter::read(Some("ndjson"), Some("true")).unwrap();
    let mut file = Vec::new();
    writer.line(&mut file, Exported { listed, proof: None }, &source()).unwrap();
    assert!(file.is_empty());
}

#[test]
fn parameters_select_the_format() {
    let refused = |format, proofs| ExportWriter::read(format, proofs).unwrap_err().to_string();
    assert_eq!(refused(Some("xml"), None), "format: write csv, ndjson or ocsf");
    assert_eq!(refused(None, Some("true")), "proofs: with format=ndjson");
    assert_eq!(refused(Some("ndjson"), Some("yes")), "proofs: write true or false");
    let now = "2026-01-01T00:00:00.000Z".parse().unwrap();
    for (text, format, name, media_type) in [
        (None, ExportFormat::Csv, "audit-log-2026-01-01.csv", "text/csv; charset=utf-8; header=present"),
        (
            Some("csv"),
            ExportFormat::Csv,
            "audit-log-2026-01-01.csv",
            "text/csv; charset=utf-8; header=present",
        ),
        (Some("ndjson"), ExportFormat::Ndjson, "audit-log-2026-01-01.ndjson", "application/x-ndjson"),
        (Some("ocsf"), ExportFormat::Ocsf, "audit-log-2026-01-01.ocsf.ndjson", "application/x-ndjson"),
    ] {
        let writer = ExportWriter::read(text, Some("false")).unwrap();
        assert_eq!((writer.format, writer.file_name(now)), (format, name.to_owned()));
        assert_eq!(writer.format.media_type(), media_type);
    }
}

#[test]
fn format_has_the_same_name_everywhere() {
    for (format, name) in
        [(ExportFormat::Csv, "csv"), (ExportFormat::Ndjson, "ndjson"), (ExportFormat::Ocsf, "ocsf")]
    {
        assert_eq!((format.as_str(), json!(format)), (name, json!(name)));
        assert_eq!(ExportWriter::read(Some(name), None).unwrap().format, format);
    }
}
