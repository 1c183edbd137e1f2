//! Reloading of trust anchors from files.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use attestation::{
    Aaguid, LoadedTrustAnchors, TrustAnchorObserver, TrustFileError, TrustFiles, WatchedTrustAnchors,
    conformance::Authority,
};
use kernel::Timestamp;
use rcgen::{CertificateParams, date_time_ymd};
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

/// Returns metadata of `mds.example` in this directory.
fn metadata_in(folder: &Path) -> TrustFiles {
    TrustFiles {
        metadata: Some(folder.join("blob.jwt")),
        metadata_root: Some(folder.join("root.pem")),
        signer: Some("mds.example".into()),
        roots: None,
    }
}

#[test]
fn changed_files_are_reloaded_and_unusable_ones_are_ignored() {
    let now: Timestamp = "2026-11-22T12:00:00.000Z".parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let files = TrustFiles { roots: Some(folder.path().to_owned()), ..metadata_in(folder.path()) };
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
    write(7, 2, "2027-01-01");
    assert_eq!(anchors.refresh(now), 2);
    write(7, 1, "2027-01-01");
    assert_eq!(anchors.refresh(now), 1, "an edition may be published again");
    let other = TrustFiles { signer: None, ..files.clone() };
    assert!(other.load(now).is_err_and(|error| error.to_string().contains("the signer is not trusted")));
    let of = anchors.roots(Aaguid([0; 16]));
    assert_eq!(of.len(), 2, "its own, and the one in the folder that is for all");
    let (metadata, root) = ("attestation_metadata", "attestation_metadata_root");
    let refused = ["attestation_roots", metadata, metadata];
    let expected = [&[metadata, root, "loaded Some(5)", "loaded Some(6)", "outdated"], &refused[..]].concat();
    assert_eq!(
        seen.take(),
        [&expected[..], &["loaded Some(7)"; 2]].concat(),
        "each problem is reported once"
    );
}

#[test]
fn anchors_answer_for_each_model() {
    let now: Timestamp = "2026-11-22T12:00:00.000Z".parse().unwrap();
    let seen = Seen::default();
    let none = WatchedTrustAnchors::new(TrustFiles::default(), Box::new(seen.clone()), now);
    let known = Aaguid([1; 16]);
    assert!(!none.can_prove_any() && !none.can_prove(known));
    assert_eq!(seen.take(), Vec::<String>::new(), "no file is configured");

    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let authority = Authority::new("mds.example").unwrap();
    let root: String = authority.root().lines().filter(|line| !line.starts_with("--")).collect();
    let png = b"\x89PNG\r\n\x1a\n";
    let icon = format!("data:image/png;base64,{}", data_encoding::BASE64.encode(png));
    let statement = json!({ "icon": icon, "attestationRootCertificates": [root] });
    let entry = json!({ "aaguid": known, "metadataStatement": statement, "statusReports": [] });
    let payload = json!({ "no": 1, "nextUpdate": "2027-01-01", "entries": [entry] });
    std::fs::write(place("blob.jwt"), authority.sign(&payload).unwrap()).unwrap();
    std::fs::write(place("root.pem"), authority.root()).unwrap();
    let metadata = metadata_in(folder.path());
    let roots = TrustFiles { roots: Some(folder.path().to_owned()), ..TrustFiles::default() };
    assert!(TrustFiles::default().is_empty() && !metadata.is_empty() && !roots.is_empty());

    let anchors = WatchedTrustAnchors::new(metadata, Box::new(seen.clone()), now);
    assert_eq!(seen.take(), ["loaded Some(1)"]);
    let other = Aaguid([2; 16]);
    assert!(anchors.can_prove_any() && anchors.can_prove(known) && !anchors.can_prove(other));
    assert_eq!(anchors.picture(known).as_deref(), Some(&png[..]));
    assert_eq!(anchors.picture(other), None);
    let anchors = WatchedTrustAnchors::new(roots, Box::new(seen.clone()), now);
    assert_eq!(seen.take(), ["loaded None"]);
    assert!(anchors.can_prove_any() && anchors.can_prove(other), "a root for all models");
}

#[test]
fn unusable_files_are_tried_again_after_ten_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let mut params = CertificateParams::new(vec!["mds.example".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2026, 11, 22);
    let authority = Authority::certifying(params).unwrap();
    let payload = json!({ "no": 1, "nextUpdate": "2027-01-01", "entries": [] });
    std::fs::write(place("blob.jwt"), authority.sign(&payload).unwrap()).unwrap();
    std::fs::write(place("root.pem"), authority.root()).unwrap();
    let seen = Seen::default();
    let at = |time: &str| time.parse::<Timestamp>().unwrap();
    let anchors = WatchedTrustAnchors::new(
        metadata_in(folder.path()),
        Box::new(seen.clone()),
        at("2026-11-21T23:55:00.000Z"),
    );
    assert_eq!(seen.take(), ["attestation_metadata"], "the signer's certificate is not valid yet");
    anchors.refresh(at("2026-11-22T00:04:59.999Z"));
    assert_eq!(seen.take(), Vec::<String>::new(), "the files are the same");
    anchors.refresh(at("2026-11-22T00:05:00.000Z"));
    assert_eq!(seen.take(), ["loaded Some(1)"]);
}
