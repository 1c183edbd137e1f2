//! The transparency log: proofs compared with RFC 6962, and detection of tampering.

use audit::{
    EntryKeys, Filter, follow,
    log::{
        Checkpoint, CheckpointKey, CheckpointKeys, Finding, Frontier, Hash, Nodes, NoteError, ProofError,
        Tile, TreeStore, Verified, VerifyKeys, consistency, inclusion, newest_checkpoint, prove_consistency,
        prove_inclusion, tile, verify, verify_consistency, verify_inclusion,
    },
};
use kernel::Actor;

use crate::{
    retention::DAY,
    rfc6962::{mth, path, sha256, subproof},
    support::{World, masters},
};

impl World {
    async fn leaves(&mut self) -> Vec<Hash> {
        self.audit_log.hashes(0, 0, u64::MAX).await.unwrap().into_iter().map(|(_, hash)| hash).collect()
    }

    pub(crate) async fn verify(&mut self) -> Verified {
        self.verify_against(Vec::new()).await
    }

    async fn verify_against(&mut self, known: Vec<Checkpoint>) -> Verified {
        let (checkpoints, tenant) = (self.checkpoint_keys(), self.ctx.tenant.clone());
        let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&self.entries), retired: &[] };
        verify(&mut self.audit_log, tenant.as_str(), keys, known).await.unwrap()
    }
}

#[tokio::test]
async fn roots_match_the_rfc() {
    let leaves: Vec<Hash> = (0..600_u32).map(|number| sha256(&number.to_be_bytes())).collect();
    let mut log = Frontier::default();
    assert_eq!(log.root(), mth(&[]));
    for (count, leaf) in leaves.iter().enumerate() {
        log.push(*leaf, |place, hash| {
            assert_eq!((place.level, hash), (1, mth(&leaves[count - 255..=count])));
        });
        if count < 40 || count % 37 == 0 || (250..260).contains(&count) {
            assert_eq!(log.root(), mth(&leaves[..=count]));
        }
        assert_eq!(Frontier::restore(log.size(), &log.to_bytes()), Some(log.clone()));
    }
    assert_eq!(Frontier::restore(log.size() + 1, &log.to_bytes()), None);
}

#[tokio::test]
async fn proofs_match_the_rfc_and_verify() {
    let mut world = World::new();
    world.append(1300).await;
    assert_eq!((world.seal().await, world.seal().await, world.seal().await), (1024, 276, 0));
    let leaves = world.leaves().await;
    let mut nodes = Nodes::default();
    let sizes = [1_usize, 2, 3, 5, 8, 255, 256, 257, 511, 512, 600, 1024, 1025, 1299, 1300];
    for size in sizes {
        let root = mth(&leaves[..size]);
        for index in [0, 1, 2, 5, 100, 254, 255, 256, 511, 512, 700, 1023, 1024, 1298, 1299] {
            let made = inclusion(&mut world.audit_log, &mut nodes, index as u64, size as u64).await.unwrap();
            if index >= size {
                assert_eq!(made, None);
                continue;
            }
            let made = made.unwrap();
            assert_eq!(made, path(index, &leaves[..size]), "{index} of {size}");
            let is_in = |leaf: &Hash, index: usize, path: &[Hash]| {
                verify_inclusion(leaf, index as u64, size as u64, path, &root)
            };
            assert!(is_in(&leaves[index], index, &made));
            assert!(!is_in(&leaves[index], index + 1, &made) && !is_in(&root, index, &made) || size == 1);
            assert!(!is_in(&leaves[index], index, &[made.as_slice(), &[root]].concat()));
            if let Some((_, shorter)) = made.split_last() {
                assert!(!is_in(&leaves[index], index, shorter));
            }
        }
        for earlier in sizes {
            let made = consistency(&mut world.audit_log, earlier as u64, size as u64).await.unwrap();
            if earlier > size {
                assert_eq!(made, None);
                continue;
            }
            let (made, first) = (made.unwrap(), mth(&leaves[..earlier]));
            assert_eq!(made, subproof(earlier, &leaves[..size], true), "{earlier} of {size}");
            let (old, new) = ((earlier as u64, &first), (size as u64, &root));
            assert!(verify_consistency(old, new, &made));
            assert!(!verify_consistency(old, (size as u64, &sha256(b"x")), &made));
            if earlier != size {
                assert!(!verify_consistency((earlier as u64, &sha256(b"x")), new, &made));
                assert!(!verify_consistency((earlier as u64 + 1, &first), new, &made));
                assert!(!verify_consistency(old, new, &[made.as_slice(), &[root]].concat()));
            }
        }
    }
}

#[tokio::test]
async fn every_log_extends_an_empty_one_and_none_a_larger_one() {
    let mut world = World::new();
    world.append(3).await;
    world.seal().await;
    assert_eq!(consistency(&mut world.audit_log, 0, 3).await.unwrap(), Some(Vec::new()));
    let (nothing, root) = (sha256(b""), mth(&world.leaves().await));
    assert!(verify_consistency((0, &nothing), (3, &root), &[]));
    assert!(!verify_consistency((0, &root), (3, &root), &[]));
    // The root of four entries is the only hash of its proof, so an empty path would hold.
    for earlier in [3, 4, 5] {
        for path in [&[][..], &[root], &[root, root]] {
            assert!(!verify_consistency((earlier, &root), (2, &root), path), "{earlier}");
        }
    }
}

#[tokio::test]
async fn checkpoint_is_a_signed_note() {
    let mut world = World::new();
    world.append(3).await;
    world.seal().await;
    let note = world.audit_log.checkpoint().unwrap().to_owned();
    let lines: Vec<_> = note.lines().collect();
    let origin = format!("gatehouse/audit/{}", world.ctx.tenant);
    let root = mth(&world.leaves().await);
    assert_eq!(lines[..2], [origin.as_str(), "3"]);
    assert_eq!(data_encoding::BASE64.decode(lines[2].as_bytes()).unwrap(), root);
    assert!(lines[3].is_empty() && lines[4].starts_with(&format!("— {origin} ")) && note.ends_with('\n'));
    // Verifies the signature using nothing of ours but the key's bytes.
    let keys = world.checkpoint_keys();
    let key = keys[0].to_string();
    let public = data_encoding::BASE64.decode(key.splitn(3, '+').nth(2).unwrap().as_bytes()).unwrap();
    let signature = data_encoding::BASE64.decode(lines[4].rsplit(' ').next().unwrap().as_bytes()).unwrap();
    let id = sha256(&[origin.as_bytes(), b"\n", &public].concat());
    assert_eq!(signature[..4], id[..4]);
    let text = format!("{}\n{}\n{}\n", lines[0], lines[1], lines[2]);
    ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, &public[1..])
        .verify(text.as_bytes(), &signature[4..])
        .unwrap();

    assert_eq!(CheckpointKey::parse(&key).as_ref(), Some(&keys[0]));
    let checkpoint = Checkpoint { origin, size: 3, root };
    assert_eq!(Checkpoint::verified(&note, &keys), Ok(checkpoint));
    let others = CheckpointKeys::derive(&masters(&[8])).of(world.ctx.tenant.as_str());
    assert_eq!(Checkpoint::verified(&note, &others), Err(NoteError::UnknownKey));
    // Another tenant has a different key, although it is derived from the same master key.
    assert_eq!(Checkpoint::verified(&note, &world.keys.of("ten_other")), Err(NoteError::UnknownKey));
    // After a rotation the older key still verifies.
    let rotated = CheckpointKeys::derive(&masters(&[8, 7])).of(world.ctx.tenant.as_str());
    assert!(Checkpoint::verified(&note, &rotated).is_ok());
    for (from, to) in
        [("\n3\n", "\n4\n"), ("\n3\n", "\n03\n"), ("\n3\n", "\n3\r\n"), ("\n\n", "\n"), ("— ", "- ")]
    {
        let changed = note.replacen(from, to, 1);
        assert!(Checkpoint::verified(&changed, &keys).is_err(), "{changed}");
    }
    for at in 0..note.len() {
        if note.is_char_boundary(at) {
            assert!(Checkpoint::verified(&note[..at], &keys).is_err(), "cut at {at}");
        }
    }
    for text in ["", "+", "a+b+c", &key[1..], &key[..key.len() - 2]] {
        assert_eq!(CheckpointKey::parse(text), None, "{text}");
    }
}

#[tokio::test]
async fn followers_of_the_log_miss_nothing() {
    let mut world = World::new();
    let (mut seen, mut next) = (Vec::new(), 0);
    for round in 0..20 {
        world.append(round * 7 % 31).await;
        if round % 3 != 0 {
            world.seal().await;
        }
        let page = follow(&mut world.audit_log, &Filter::default(), next, 25).await.unwrap();
        seen.extend(page.entries.iter().map(|(sequence, _)| *sequence));
        next = page.next;
    }
    world.seal().await;
    loop {
        let page = follow(&mut world.audit_log, &Filter::default(), next, 25).await.unwrap();
        seen.extend(page.entries.iter().map(|(sequence, _)| *sequence));
        if page.next == next {
            break;
        }
        next = page.next;
    }
    let all: Vec<u64> = (0..world.leaves().await.len() as u64).collect();
    assert_eq!(seen, all);
    // Entries that do not match are skipped.
    let nobody = Filter { actor: Some("usr_9".into()), ..Filter::default() };
    let page = follow(&mut world.audit_log, &nobody, 0, 25).await.unwrap();
    assert_eq!((page.entries.len(), page.next), (0, all.len() as u64));
}

#[tokio::test]
async fn tampering_is_found() {
    let mut world = World::new();
    world.append(700).await;
    world.seal().await;
    world.append(5).await;
    let clean = world.verify().await;
    assert_eq!((clean.size, clean.entries, clean.waiting, clean.count), (700, 700, 5, 0), "{clean:?}");
    assert_eq!(clean.root, data_encoding::HEXLOWER.encode(&mth(&world.leaves().await)));
    let ids: Vec<String> = world.audit_log.tamper().keys().cloned().collect();
    let entry = |world: &mut World, at: usize| world.audit_log.tamper().get(&ids[at]).cloned().unwrap();

    let original = entry(&mut world, 300);
    let changes: [fn(&mut audit::StoredEntry); 6] = [
        |entry| entry.actor_id = "usr_2".into(),
        |entry| entry.metadata = "{\"x\":1}".into(),
        |entry| entry.ip = Some("192.0.2.8".into()),
        |entry| entry.ip = None,
        |entry| entry.salt = None,
        |entry| entry.leaf = [0; 32],
    ];
    for change in changes {
        change(world.audit_log.tamper().get_mut(&ids[300]).unwrap());
        let found = world.verify().await;
        assert_eq!(found.findings, [Finding::Changed { sequence: 300, id: ids[300].clone() }]);
        world.audit_log.tamper().insert(ids[300].clone(), original.clone());
    }
    // Erasing an address leaves the rest verifiable, but must be declared in the log.
    let erased = world.audit_log.tamper().get_mut(&ids[300]).unwrap();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, erased.salt.as_ref().unwrap());
    erased.ip_commitment = Some(ring::hmac::sign(&key, b"192.0.2.7").as_ref().to_vec());
    (erased.ip, erased.salt) = (None, None);
    let found = world.verify().await;
    assert_eq!(found.erased, 1);
    let undeclared = &found.findings[..];
    assert!(
        matches!(undeclared, [Finding::ErasedUndeclared { erased: 1, declared: 0, .. }]),
        "only the missing declaration is reported: {undeclared:?}"
    );
    world.audit_log.tamper().get_mut(&ids[300]).unwrap().metadata = "[]".into();
    assert_eq!(world.verify().await.count, 1);
    world.audit_log.tamper().insert(ids[300].clone(), original.clone());

    let gone = world.audit_log.tamper().remove(&ids[2]).unwrap();
    assert_eq!(world.verify().await.findings, [Finding::Deleted { sequence: 2, id: ids[2].clone() }]);
    world.audit_log.tamper().insert(ids[2].clone(), gone);

    let mut forged = entry(&mut world, 3);
    forged.id = "aud_forged".into();
    world.audit_log.tamper().insert(forged.id.clone(), forged);
    assert_eq!(world.verify().await.findings, [Finding::Inserted { id: "aud_forged".into() }]);
    world.audit_log.tamper().remove("aud_forged");

    // Two entries swapped, each under the other's id.
    let (one, other) = (entry(&mut world, 10), entry(&mut world, 600));
    world.audit_log.tamper().insert(ids[10].clone(), other);
    world.audit_log.tamper().insert(ids[600].clone(), one);
    assert_eq!(
        world.verify().await.findings,
        [
            Finding::Moved { sequence: 10, id: ids[10].clone(), sealed_at: 600 },
            Finding::Moved { sequence: 600, id: ids[600].clone(), sealed_at: 10 },
        ]
    );
}

#[tokio::test]
async fn tiles_have_the_hashes_of_the_signed_log() {
    let mut world = World::new();
    world.append(600).await;
    world.seal().await;
    let (keys, leaves) = (world.checkpoint_keys(), world.leaves().await);
    let groups = [mth(&leaves[..256]), mth(&leaves[256..512])];
    for (level, path, expected) in [
        ("0", "001", &leaves[256..512]),
        ("0", "002.p/88", &leaves[512..]),
        ("0", "002.p/87", &leaves[512..599]),
        ("1", "000.p/2", &groups),
    ] {
        let made = tile(&mut world.audit_log, &keys, Tile::parse(level, path).unwrap()).await.unwrap();
        assert_eq!(made, expected.concat(), "{level} {path}");
    }
    for (level, path) in [("0", "002"), ("0", "002.p/89"), ("1", "000.p/3"), ("1", "000"), ("2", "000.p/1")] {
        let made = tile(&mut world.audit_log, &keys, Tile::parse(level, path).unwrap()).await;
        assert!(matches!(made, Err(ProofError::NoTile)), "{level} {path}");
    }
    // The hashes of purged entries are gone, those of their groups remain.
    world.retain(Some(7)).await;
    world.advance(8 * DAY);
    world.append_sealed(1).await;
    assert_eq!(world.purge().await, 512);
    for (level, path, is_there) in [("0", "001", false), ("0", "002.p/88", true), ("1", "000.p/2", true)] {
        let made = tile(&mut world.audit_log, &keys, Tile::parse(level, path).unwrap()).await;
        assert_eq!(made.is_ok(), is_there, "{level} {path}");
    }
}

#[tokio::test]
async fn replaced_log_is_detected_by_an_external_checkpoint() {
    let mut world = World::new();
    world.append(40).await;
    world.seal().await;
    let note = world.audit_log.checkpoint().unwrap().to_owned();
    let known = Checkpoint::verified(&note, &world.checkpoint_keys()).unwrap();
    world.append(300).await;
    world.seal().await;
    let tenant = world.ctx.tenant.clone();
    let found = world.verify_against(vec![known.clone()]).await;
    assert_eq!((found.count, found.checkpoints), (0, 3));

    // A different log, signed with the same key. It is consistent in itself.
    let mut other = World::new();
    other.ctx.tenant = tenant.clone();
    other.ctx.actor = Actor::scim("sct_2");
    other.append(340).await;
    other.seal().await;
    let found = other.verify_against(vec![known.clone()]).await;
    assert_eq!(found.findings, [Finding::Forked { size: 40 }]);
    let mut shorter = World::new();
    shorter.ctx.tenant = tenant.clone();
    shorter.append(30).await;
    shorter.seal().await;
    let found = shorter.verify_against(vec![known]).await;
    assert_eq!(found.findings, [Finding::RolledBack { size: 40 }]);
    // Signatures of another key prove nothing.
    let strangers = CheckpointKeys::derive(&masters(&[9])).of(tenant.as_str());
    let keys = VerifyKeys { checkpoints: &strangers, entries: None, retired: &[] };
    let found = verify(&mut shorter.audit_log, tenant.as_str(), keys, Vec::new()).await.unwrap();
    let not_signed = Finding::NotSigned { statement: "the start of MACs".into() };
    assert_eq!(found.findings, [not_signed, Finding::Unsigned { size: 30 }]);
}

#[tokio::test]
async fn log_verifies_after_a_rotation_of_the_master_key() {
    let mut world = World::new();
    world.append(3).await;
    world.seal().await;
    let both = masters(&[8, 7]);
    world.keys = CheckpointKeys::derive(&both);
    world.entries.adopt(&EntryKeys::derive(&both));
    world.append(3).await;
    assert_eq!((world.seal().await, world.verify().await.count), (3, 0));
    // Without the older key, entries of its time become findings unless the key is named as retired.
    let (entries, tenant) = (EntryKeys::derive(&masters(&[8])), world.ctx.tenant.clone());
    let checkpoints = world.checkpoint_keys();
    let retired = ["k7".to_owned()];
    for (retired, count) in [(&[][..], 3), (&retired[..], 0)] {
        let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&entries), retired };
        let found = verify(&mut world.audit_log, tenant.as_str(), keys, Vec::new()).await.unwrap();
        assert_eq!(found.count, count, "{found:?}");
        assert_eq!((found.lacks_only_keys(), found.unknown_keys.len()), (count > 0, count.min(1)));
    }
}

#[tokio::test]
async fn proofs_are_made_against_the_newest_signed_checkpoint() {
    let mut world = World::new();
    let keys = world.checkpoint_keys();
    let log = &mut world.audit_log;
    assert!(matches!(newest_checkpoint(log, &keys).await, Err(ProofError::NothingSealed)));
    world.append(5).await;
    world.seal().await;
    world.append(1).await;
    let ids: Vec<_> = world.audit_log.tamper().keys().cloned().collect();
    let log = &mut world.audit_log;
    let newest = newest_checkpoint(log, &keys).await.unwrap();
    assert_eq!((newest.size, newest.sealed_at), (5, world.ctx.now.plus_millis(-1)));
    let proof = prove_inclusion(log, &keys, ids[3].clone()).await.unwrap();
    assert_eq!((proof.sequence, proof.size, proof.checkpoint), (3, 5, newest.note));
    assert!(proof.ip_salt.is_some() && proof.ip_commitment.is_none());
    let unsealed = prove_inclusion(log, &keys, ids[5].clone()).await;
    assert!(matches!(unsealed, Err(ProofError::NotSealed)));
    assert!(matches!(prove_inclusion(log, &keys, "aud_x".into()).await, Err(ProofError::NoEntry)));
    let proof = prove_consistency(log, &keys, 2, None).await.unwrap();
    assert_eq!((proof.from, proof.to), (2, 5));
    for (from, to) in [(3, Some(2)), (2, Some(6))] {
        assert!(matches!(prove_consistency(log, &keys, from, to).await, Err(ProofError::Sizes(5))));
    }
    assert!(matches!(newest_checkpoint(log, &[]).await, Err(ProofError::Checkpoint(NoteError::UnknownKey))));
}
