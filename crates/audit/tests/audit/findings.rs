//! What a verification says about its findings.

use audit::{
    EntryKeys, MacProblem,
    log::{Finding, Verified, VerifiedExport, VerifiedStream, VerifyKeys, verify},
};

use crate::support::{World, masters};

#[test]
fn findings_name_positions_and_entries() {
    let id = || "aud_1".to_owned();
    let statement = || "the start of MACs".to_owned();
    for (finding, text) in [
        (Finding::Changed { sequence: 7, id: id() }, "7: aud_1 was changed"),
        (Finding::Deleted { sequence: 7, id: id() }, "7: aud_1 was deleted"),
        (Finding::Missing { from: 3, to: 7 }, "3 to 6: deleted, including their hashes"),
        (Finding::Inserted { id: id() }, "aud_1 was inserted"),
        (Finding::Moved { sequence: 7, id: id(), sealed_at: 3 }, "7: aud_1 was moved here from 3"),
        (Finding::Altered { from: 3, to: 7 }, "3 to 6: the hashes in the log do not match the signed ones"),
        (Finding::Unsigned { size: 7 }, "the checkpoint of 7 entries is not signed"),
        (Finding::RolledBack { size: 7 }, "the log had 7 entries and now has fewer"),
        (
            Finding::NotCompared { size: 7 },
            "the checkpoint of 7 entries cannot be compared, because hashes are missing",
        ),
        (Finding::Forked { size: 7 }, "the first 7 entries differ from those of the checkpoint"),
        (
            Finding::NotWitnessed { size: 7, problem: "it has 1 of 2 cosignatures".to_owned() },
            "the checkpoint of 7 entries: it has 1 of 2 cosignatures",
        ),
        (
            Finding::Unauthenticated { sequence: Some(7), id: id(), problem: MacProblem::Wrong },
            "7: aud_1 is not authentic: its MAC is invalid",
        ),
        (
            Finding::Unauthenticated { sequence: None, id: id(), problem: MacProblem::Missing },
            "not sealed: aud_1 is not authentic: it has no MAC",
        ),
        (
            Finding::Unauthenticated { sequence: None, id: id(), problem: MacProblem::UnknownKey },
            "not sealed: aud_1 is not authentic: its MAC names an unknown key",
        ),
        (Finding::DeletedUnsealed { id: id() }, "not sealed: aud_1 was deleted before it was sealed"),
        (Finding::NotSigned { statement: statement() }, "the start of MACs is not signed with a known key"),
        (
            Finding::OutOfOrder { statement: statement() },
            "the start of MACs is older than its predecessor: it was replayed",
        ),
        (
            Finding::ErasedUndeclared { actor: "usr_1".to_owned(), erased: 3, declared: 2 },
            "usr_1: 3 addresses are erased, but the log declares 2",
        ),
        (Finding::RemovedEarly { from: 3, to: 7 }, "3 to 6: removed before their retention ended"),
        (Finding::Unreadable { table: "audit_sealed", at: "7".to_owned() }, "audit_sealed 7: cannot be read"),
        (Finding::Unreadable { table: "audit_logs", at: String::new() }, "audit_logs: cannot be read"),
        (Finding::UnreadableLine { line: 7 }, "line 7 is not an entry with a proof"),
    ] {
        assert_eq!(finding.to_string(), text);
    }
}

#[test]
fn all_findings_are_counted_and_the_first_thousand_listed() {
    let mut verified = Verified::default();
    for line in 1..=1001 {
        verified.found(Finding::UnreadableLine { line });
    }
    assert_eq!((verified.count, verified.findings.len()), (1001, 1000));
    assert_eq!(verified.findings.last(), Some(&Finding::UnreadableLine { line: 1000 }));
}

#[tokio::test]
async fn result_of_a_log_is_put_in_words() {
    let mut world = World::new();
    world.append(3).await;
    world.seal().await;
    let found = world.verify().await;
    let root = &found.root;
    let text = format!(
        "3 entries in the log of acme, root {root}\n\
         Rehashed 3, purged 0, unsealed 0; compared 1 checkpoint, verified 3 MACs"
    );
    assert_eq!(found.summary("acme"), text);
    assert_eq!(found.conclusion(), "The log is unchanged since it was sealed");
    let mut changed = found;
    changed.count = 1;
    assert_eq!(changed.conclusion(), "1 finding: the log was changed after it was sealed");
    assert_eq!(
        Verified::default().summary("acme").lines().next(),
        Some("0 entries in the log of acme, root ")
    );

    let (checkpoints, none) = (world.checkpoint_keys(), EntryKeys::derive(&masters(&[9])));
    let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&none), retired: &[] };
    let tenant = world.ctx.tenant.clone();
    let found = verify(&mut world.audit_log, tenant.as_str(), keys, Vec::new()).await.unwrap();
    let text = "The log is unchanged since it was sealed, but MACs name a master key that this installation does not \
                have. If you retired it, repeat the command with --retired-key k7";
    assert_eq!(found.conclusion(), text);
}

#[test]
fn result_of_an_export_is_put_in_words() {
    let export = VerifiedExport {
        tenant: "ten_1".to_owned(),
        size: 9,
        root: "ab".to_owned(),
        entries: 1,
        left_out: 2,
        ..VerifiedExport::default()
    };
    let text = "1 entry of the log of ten_1 (size 9, root ab); 2 left out between the first and the last";
    assert_eq!(export.summary(), text);
    assert_eq!(export.conclusion(), "The entries in this file are unchanged");
    let changed = VerifiedExport { count: 2, ..export };
    assert_eq!(changed.conclusion(), "2 findings: the log was changed after it was sealed");
}

#[test]
fn result_of_a_stream_is_put_in_words() {
    let stream = VerifiedStream {
        tenant: "ten_1".to_owned(),
        entries: 5,
        sequences: Some((17, 23)),
        duplicates: 3,
        left_out: 2,
        proved: 5,
        size: 40,
        ..VerifiedStream::default()
    };
    let text = "5 entries of the log of ten_1, positions 17 to 23; 3 received again, 2 left out; the log had 40 entries \
                when the last batch was sent";
    assert_eq!(stream.summary(), text);
    let text = "Nothing is missing from the first entry to the last, as a signed checkpoint proves";
    assert_eq!(stream.conclusion(), text);
    let later = VerifiedStream { proved: 4, ..stream.clone() };
    let text = "Nothing is missing of the batches that the stream named; a signed checkpoint proves this of the first \
                4 entries";
    assert_eq!(later.conclusion(), text);
    for proved in [4, 5] {
        let missing = VerifiedStream { proved, count: 1, ..stream.clone() };
        assert_eq!(missing.conclusion(), "1 finding: entries are missing or changed");
    }
}
