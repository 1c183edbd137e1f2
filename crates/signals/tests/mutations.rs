//! Random changes of a valid token: it is refused, or has the same claims.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod transmitter;

use std::sync::LazyLock;

use data_encoding::BASE64URL_NOPAD;
use oidc_rp::Algorithm;
use proptest::{prelude::*, sample::Index};
use signals::{Reason, ReceivedEvent};

use transmitter::{Transmitter, claims};

static TRANSMITTER: LazyLock<Transmitter> = LazyLock::new(Transmitter::new);
static GENUINE: LazyLock<ReceivedEvent> = LazyLock::new(|| TRANSMITTER.receive(&claims()).unwrap());

/// A change at a place of a text.
#[derive(Debug, Clone)]
enum Mutation {
    Insert(char),
    Replace(char),
    Remove(usize),
    Repeat(usize),
    Swap(Index),
}

impl Mutation {
    fn apply(&self, text: &str, place: Index) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        let at = place.index(letters.len());
        let end = |count: usize| (at + count).min(letters.len());
        match *self {
            Self::Insert(letter) => letters.insert(at, letter),
            Self::Replace(letter) => drop(letters.splice(at..=at, [letter])),
            Self::Remove(count) => drop(letters.drain(at..end(count))),
            Self::Repeat(count) => {
                let repeated: Vec<char> = letters.iter().copied().skip(at).take(count).collect();
                drop(letters.splice(at..at, repeated));
            }
            Self::Swap(other) => letters.swap(at, other.index(text.chars().count())),
        }
        letters.into_iter().collect()
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let letter = prop_oneof![
        prop::char::ranges(vec!['A'..='Z', 'a'..='z', '0'..='9'].into()),
        prop::sample::select(vec!['.', '=', '-', '_', '+', '/', '"', '{', '}', '\u{0}', 'é', '\u{202e}']),
    ];
    prop_oneof![
        letter.clone().prop_map(Mutation::Insert),
        letter.prop_map(Mutation::Replace),
        (1..200_usize).prop_map(Mutation::Remove),
        (1..200_usize).prop_map(Mutation::Repeat),
        any::<Index>().prop_map(Mutation::Swap),
    ]
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(vec![
        Algorithm::RS256,
        Algorithm::PS256,
        Algorithm::ES256,
        Algorithm::ES384,
        Algorithm::EdDSA,
    ])
}

proptest! {
    #[test]
    fn a_changed_token_never_verifies_with_other_claims(
        algorithm in algorithm(),
        mutations in prop::collection::vec((mutation(), any::<Index>()), 1..4),
    ) {
        let valid = TRANSMITTER.token(algorithm, &claims());
        let mut token = valid.clone();
        for (mutation, place) in &mutations {
            if !token.is_empty() {
                token = mutation.apply(&token, *place);
            }
        }
        if let Ok(received) = TRANSMITTER.verify(&token) {
            prop_assert_eq!(&received, &*GENUINE);
            // ECDSA has a second valid signature, which such a change does not find.
            prop_assert_eq!(token, valid);
        }
    }

    #[test]
    fn other_claims_with_the_signature_of_a_token_are_refused(
        algorithm in algorithm(),
        (mutation, place) in (mutation(), any::<Index>()),
    ) {
        let (valid, before) = (TRANSMITTER.token(algorithm, &claims()), claims().to_string());
        let after = mutation.apply(&before, place);
        prop_assume!(after != before);
        let mut parts: Vec<_> = valid.split('.').map(str::to_owned).collect();
        if let Some(payload) = parts.get_mut(1) {
            *payload = BASE64URL_NOPAD.encode(after.as_bytes());
        }
        prop_assert_eq!(TRANSMITTER.verify(&parts.join(".")).unwrap_err().reason, Reason::BadSignature);
    }

    #[test]
    fn signed_texts_never_panic_and_are_refused_with_a_short_printable_detail(
        mutations in prop::collection::vec((mutation(), any::<Index>()), 1..6),
    ) {
        let mut payload = claims().to_string();
        for (mutation, place) in &mutations {
            if !payload.is_empty() {
                payload = mutation.apply(&payload, *place);
            }
        }
        let header = serde_json::json!({ "alg": "EdDSA", "kid": "ed25519", "typ": "secevent+jwt" });
        let token = TRANSMITTER.sign(Algorithm::EdDSA, &header, payload.as_bytes());
        if let Err(refusal) = TRANSMITTER.verify(&token) {
            prop_assert!(refusal.detail.chars().count() <= 500);
            let is_unsafe = |c: char| c.is_control() || c == '\u{202e}';
            prop_assert!(!refusal.detail.chars().any(is_unsafe));
        }
    }
}
