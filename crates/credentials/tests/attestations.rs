//! What the attestation of a new passkey proves, and which ones are refused.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::rc::Rc;

use credentials::{
    Aaguid, Attestation, CeremonyError, Creation, Passkey, Passkeys, Trust, TrustAnchors,
    conformance::{Attests, Authenticator, Maker},
};
use kernel::Timestamp;

const ORIGIN: &str = "https://id.example.com";
const MODEL: [u8; 16] = [7; 16];

/// Trusts this manufacturer for one model.
struct Trusts(Vec<u8>);

impl TrustAnchors for Trusts {
    fn roots(&self, aaguid: Aaguid) -> Vec<Vec<u8>> {
        if aaguid == Aaguid(MODEL) { vec![self.0.clone()] } else { Vec::new() }
    }
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00.000Z".parse().unwrap()
}

fn passkeys() -> Passkeys {
    Passkeys::new("Gatehouse", ORIGIN, &[]).unwrap()
}

/// Returns an authenticator of the model with this attestation.
fn authenticator(attests: Attests) -> Authenticator {
    let mut authenticator = Authenticator::new(ORIGIN);
    authenticator.attests = attests;
    authenticator.aaguid = MODEL;
    authenticator
}

/// Enrols a passkey.
fn enrol(
    authenticator: &mut Authenticator,
    creation: Creation,
    makers: &dyn TrustAnchors,
) -> Result<Passkey, CeremonyError> {
    let relying_party = passkeys();
    let begun = relying_party.begin_registration(b"handle", "ada", "Ada", &[], Attestation::Direct);
    let (options, pending) = begun.unwrap();
    relying_party.finish_registration(&pending, &authenticator.create(&options), creation, makers, now())
}

#[test]
fn attestation_decides_how_far_the_model_is_verified() {
    let (maker, other) = (Rc::new(Maker::of_any_model()), Rc::new(Maker::of_any_model()));
    let expired = Rc::new(Maker::of(None, 2001));
    let by = |maker: &Rc<Maker>| Attests::By(Rc::clone(maker));
    for (attests, root, trust) in [
        (Attests::Nothing, &maker, Trust::Claimed),
        (Attests::Oddly, &maker, Trust::Claimed),
        (Attests::Itself, &maker, Trust::Itself),
        (by(&other), &maker, Trust::Signed),
        (by(&expired), &expired, Trust::Signed),
        (by(&maker), &maker, Trust::Trusted),
    ] {
        let makers = Trusts(root.root_der().to_vec());
        let passkey = enrol(&mut authenticator(attests), Creation::Asked, &makers).unwrap();
        assert_eq!((passkey.trust, passkey.aaguid), (trust, Aaguid(MODEL)));
        // What the attestation contained is not kept.
        assert!(serde_json::to_string(&passkey).unwrap().len() < 2_000);
    }
    // The certificate of the batch itself may be trusted, and a manufacturer is trusted only for its models.
    let makers = Trusts(maker.certificate().to_vec());
    let passkey = enrol(&mut authenticator(by(&maker)), Creation::Asked, &makers).unwrap();
    assert_eq!(passkey.trust, Trust::Trusted);
    let mut unknown = authenticator(by(&maker));
    unknown.aaguid = [8; 16];
    let makers = Trusts(maker.root_der().to_vec());
    assert_eq!(enrol(&mut unknown, Creation::Asked, &makers).unwrap().trust, Trust::Signed);
}

#[test]
fn invalid_attestations_are_refused() {
    let maker = Rc::new(Maker::of_any_model());
    let makers = Trusts(maker.root_der().to_vec());
    let refusal = |attests, aaguid| {
        let mut authenticator = authenticator(attests);
        authenticator.aaguid = aaguid;
        enrol(&mut authenticator, Creation::Asked, &makers).unwrap_err()
    };
    assert!(matches!(refusal(Attests::Falsely, MODEL), CeremonyError::Refused(_)));
    let of_another = Rc::new(Maker::of(Some([9; 16]), 2100));
    assert!(matches!(refusal(Attests::By(of_another), MODEL), CeremonyError::Refused(_)));
    let with_chain = |length| Attests::Repeatedly(Rc::clone(&maker), length);
    assert!(matches!(refusal(with_chain(9), MODEL), CeremonyError::Malformed(_)));
    assert!(enrol(&mut authenticator(with_chain(8)), Creation::Asked, &makers).is_ok());
    // A U2F attestation does not sign the model.
    let u2f = || Attests::U2f(Rc::clone(&maker));
    assert!(matches!(refusal(u2f(), MODEL), CeremonyError::Contradiction(_)));
    let mut old = authenticator(u2f());
    old.aaguid = [0; 16];
    assert_eq!(enrol(&mut old, Creation::Asked, &makers).unwrap().aaguid, Aaguid::NONE);
}

#[test]
fn conditional_creation_needs_no_presence_and_proves_no_model() {
    let maker = Rc::new(Maker::of_any_model());
    let makers = Trusts(maker.root_der().to_vec());
    let absent = || {
        let mut authenticator = authenticator(Attests::By(Rc::clone(&maker)));
        authenticator.asks = false;
        authenticator
    };
    let refused = enrol(&mut absent(), Creation::Asked, &makers).unwrap_err();
    assert!(matches!(refused, CeremonyError::Refused(_)));
    let made = enrol(&mut absent(), Creation::Conditional, &makers).unwrap();
    assert_eq!((made.trust, made.aaguid), (Trust::Claimed, Aaguid(MODEL)));
}

#[test]
fn flags_follow_the_authenticator() {
    let makers = Trusts(Vec::new());
    let mut authenticator = authenticator(Attests::Nothing);
    authenticator.backup_eligible = true;
    authenticator.verifies = false;
    let passkey = enrol(&mut authenticator, Creation::Asked, &makers).unwrap();
    assert!(passkey.backup_eligible() && !passkey.backed_up());
    authenticator.backed_up = true;
    let relying_party = passkeys();
    let (options, pending) = relying_party.begin_assertion(std::slice::from_ref(&passkey)).unwrap();
    assert_eq!(options["userVerification"], "preferred");
    let assertion = credentials::Assertion::read(&authenticator.get(&options)).unwrap();
    let verified = relying_party.finish_assertion(&pending, &assertion, &passkey).unwrap();
    assert!(verified.passkey.backed_up() && !verified.user_verified);
    // Without a second factor before, the authenticator has to verify the user.
    let (options, pending) = relying_party.begin_assertion(&[]).unwrap();
    let assertion = credentials::Assertion::read(&authenticator.get(&options)).unwrap();
    assert!(relying_party.finish_assertion(&pending, &assertion, &passkey).is_err());
}

#[test]
fn models_are_printed_as_uuids() {
    assert_eq!(
        Aaguid([
            0x2f, 0xc0, 0x57, 0x9f, 0x81, 0x13, 0x47, 0xea, 0xb1, 0x16, 0xbb, 0x5a, 0x8d, 0xb9, 0x20, 0x2a
        ])
        .to_string(),
        "2fc0579f-8113-47ea-b116-bb5a8db9202a"
    );
    let names = [Trust::Claimed, Trust::Itself, Trust::Signed, Trust::Trusted].map(Trust::as_str);
    assert_eq!(names, ["claimed", "self", "signed", "trusted"]);
}
