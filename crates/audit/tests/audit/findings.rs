//! What a verification says about its findings.

use audit::{
    MacProblem,
    log::{Finding, Verified},
};

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
