//! Reloading of trust anchors from files.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::{Arc, Mutex};

use attestation::{
    Aaguid, LoadedTrustAnchors, TrustAnchorObserver, TrustFileError, TrustFiles, WatchedTrustAnchors,
    conformance::Authority,
};
use kernel::Timestamp;
use serde_json::json;

/// Records what is reported.
#[derive(Default, Clone)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl TrustAnchorObserver for Seen {
    fn loaded(&self, anchors: &LoadedTrustAnchors) {
        let number = anchors.metadata.as_ref().map(|metadata| metadata.number);
        self.0.lock().unwrap().push(format!("loaded {number:?}"));
    }

    fn refused(&self, error: &TrustFileError) {
        self.0.lock().unwrap().push(error.to_string().split(": ").next().unwrap().to_owned());
    }

    fn outdated(&self) {
        self.0.lock().unwrap().push("outdated".to_owned());
    }
}

#[test]
fn changed_files_are_reloaded_and_unusable_ones_are_ignored() {
    let now: Timestamp = "2026-11-22T12:00:00.000Z".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let files = TrustFiles {
        metadata: Some(place("blob.jwt")),
        metadata_root: Some(place("root.pem")),
        signer: Some("mds.example".into()),
        roots: Some(folder.path().to_owned()),
    };
    let seen = Seen::default();
    let anchors = WatchedTrustAnchors::new(files.clone(), Box::new(seen.clone()), now);
    assert_eq!(anchors.count(), 0, "nothing is there yet, and the server starts");
    assert!(files.load(now).is_err_and(|error| error.to_string().starts_with("attestation_metadata: ")));

    let authority = Authority::new("mds.example").unwrap();
    let root: String = authority.root().lines().filter(|line| !line.starts_with("--")).collect();
    let write = |number: u64, models: u8, next: &str| {
        let entry = |model: u8| {
            let aaguid = Aaguid([model; 16]);
            let statement = json!({ "attestationRootCertificates": [root] });
            json!({ "aaguid": aaguid, "metadataStatement": statement, "statusReports": [] })
        };
        let entries: Vec<_> = (0..models).map(entry).collect();
        let payload = json!({ "no": number, "nextUpdate": next, "entries": entries });
        std::fs::write(place("blob.jwt"), authority.sign(&payload).unwrap()).unwrap();
    };
    write(5, 2, "2027-01-01");
    assert_eq!(anchors.refresh(now), 0, "its root is not there");
    std::fs::write(place("root.pem"), authority.root()).unwrap();
    assert_eq!((anchors.refresh(now), anchors.refresh(now)), (2, 2));
    write(6, 3, "2026-01-01");
    assert_eq!(anchors.refresh(now), 3, "what is overdue is used");
    std::fs::write(place("odd.pem"), "not PEM").unwrap();
    assert_eq!(anchors.refresh(now), 3);
    assert!(
        files.load(now).is_err_and(|error| error.to_string().starts_with("attestation_roots: odd.pem: "))
    );
    std::fs::remove_file(place("odd.pem")).unwrap();
    std::fs::write(place("blob.jwt"), "a.b.c").unwrap();
    assert_eq!(anchors.refresh(now), 3, "the document known goes on");
    write(5, 1, "2027-01-01");
    assert_eq!(anchors.refresh(now), 3, "an older edition may lack models that were reported as compromised");
    write(7, 1, "2027-01-01");
    assert_eq!(anchors.refresh(now), 1);
    let other = TrustFiles { signer: None, ..files.clone() };
    assert!(other.load(now).is_err_and(|error| error.to_string().contains("the signer is not trusted")));
    let of = anchors.roots(Aaguid([0; 16]));
    assert_eq!(of.len(), 2, "its own, and the one in the folder that is for all");
    let (metadata, root) = ("attestation_metadata", "attestation_metadata_root");
    let refused = ["attestation_roots", metadata, metadata];
    let expected = [&[metadata, root, "loaded Some(5)", "loaded Some(6)", "outdated"], &refused[..]].concat();
    assert_eq!(seen.take(), [&expected[..], &["loaded Some(7)"]].concat(), "each problem is reported once");
}
