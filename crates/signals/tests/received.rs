//! Tokens that are accepted, and what is read from them.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod transmitter;

use kernel::{Secret, Timestamp};
use oidc_rp::{Algorithm, KeySet};
use serde_json::{Value, json};
use signals::{
    Act, ControlEvent, CredentialChangeType, Envelope, EventType, Expected, LevelDirection, Reason,
    ReceivedEvent, ReceivedSubject, Refusal, RiskLevel, SigningKey, SourceEvent, Status, SubjectFormat,
    verify,
};

use transmitter::{AUDIENCE, ISSUER, SESSION_REVOKED, Transmitter, claims, now, seconds};

const CAEP: &str = "https://schemas.openid.net/secevent/caep/event-type";
const RISC: &str = "https://schemas.openid.net/secevent/risc/event-type";
const SSF: &str = "https://schemas.openid.net/secevent/ssf/event-type";

fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut claims = claims();
    claims[name] = value.into();
    claims
}

fn event(event_type: &str, payload: &Value) -> Value {
    with("events", json!({ event_type: payload }))
}

fn opaque(id: &str) -> ReceivedSubject {
    ReceivedSubject::Opaque(id.to_owned())
}

fn iss_sub(iss: &str, sub: &str) -> ReceivedSubject {
    ReceivedSubject::IssSub { iss: iss.to_owned(), sub: sub.to_owned() }
}

#[test]
fn a_valid_token_is_read() {
    let received = Transmitter::new().receive(&claims()).unwrap();
    assert_eq!((received.jti.as_str(), received.transaction.as_deref()), ("a-token", Some("a-cause")));
    assert_eq!(received.issued_at, now().plus_millis(-5_000));
    assert_eq!(received.happened_at, Some(now().plus_millis(-10_000)));
    assert_eq!(received.remember_until(), received.issued_at.plus_millis(7 * 86_400_000 + 60_000));
    assert_eq!((received.event_type.as_str(), &received.act), (SESSION_REVOKED, &Act::SessionRevoked));
    assert_eq!(received.payload["reason_admin"]["en"], "Policy");
    assert_eq!(received.subject.user(), Some(&iss_sub(ISSUER, "248289761001")));
    assert_eq!(received.subject.session(), Some(&opaque("a-session")));
    assert_eq!(received.subject.member("tenant"), None);
    let debug = format!("{received:?}");
    assert!(debug.contains("a-token") && !debug.contains("248289761001"), "{debug}");
}

#[test]
fn the_algorithms_of_the_connection_and_both_spellings_of_the_type_are_accepted() {
    let transmitter = Transmitter::new();
    for algorithm in
        [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA]
    {
        transmitter.verify(&transmitter.token(algorithm, &claims())).unwrap();
    }
    for header in [
        json!({ "alg": "ES256", "kid": "p256", "typ": "application/secevent+jwt" }),
        json!({ "alg": "ES256", "kid": "p256", "typ": "SecEvent+JWT" }),
        // The only key that fits.
        json!({ "alg": "ES256", "typ": "secevent+jwt" }),
        json!({ "alg": "ES256", "kid": "p256", "typ": "secevent+jwt", "x5t": "unknown", "other": { "a": 1 } }),
    ] {
        let token = transmitter.sign(Algorithm::ES256, &header, claims().to_string().as_bytes());
        assert!(transmitter.verify(&token).is_ok(), "{header}");
    }
}

#[test]
fn claims_are_accepted_up_to_their_limits() {
    let transmitter = Transmitter::new();
    let mut audiences = vec!["another"; 19];
    audiences.push(AUDIENCE);
    for claims in [
        with("aud", json!([AUDIENCE])),
        with("aud", audiences),
        with("jti", "ü".repeat(255)),
        with("txn", "t".repeat(255)),
        with("txn", Value::Null),
        with("iat", seconds(60)),
        with("iat", seconds(-7 * 86_400)),
        with("iat", json!(1_772_366_395.75)),
        with("nbf", seconds(0)),
        with("more", json!({ "of": ["the", "transmitter"] })),
        event(&format!("urn:{}", "x".repeat(496)), &json!({})),
        event(SESSION_REVOKED, &json!({ "event_timestamp": seconds(60), "reason_admin": "a text" })),
    ] {
        let received = transmitter.receive(&claims);
        assert!(received.is_ok(), "{received:?} {claims}");
    }
}

#[test]
fn the_time_of_an_event_is_that_of_the_event_before_that_of_the_token() {
    let transmitter = Transmitter::new();
    let at = |toe: Value, event_timestamp: Value| {
        let mut claims = event(SESSION_REVOKED, &json!({ "event_timestamp": event_timestamp }));
        claims["toe"] = toe;
        transmitter.receive(&claims).unwrap().happened_at.map(Timestamp::unix_millis)
    };
    let millis = now().unix_millis();
    assert_eq!(at(json!(seconds(-90)), json!(seconds(-30))), Some(millis - 30_000));
    assert_eq!(at(json!(seconds(-90)), json!(null)), Some(millis - 90_000));
    assert_eq!(at(json!(null), json!(millis - 1_234)), Some(millis - 1_234));
    assert_eq!(at(json!(null), json!(null)), None);
}

#[test]
fn subjects_of_all_formats_are_read() {
    let transmitter = Transmitter::new();
    let text = str::to_owned;
    let scim = |id, external_id| ReceivedSubject::Scim { uri: text("/Users/1"), id, external_id };
    let email = || ReceivedSubject::Email("ada@example.com".parse().unwrap());
    let jwt = ReceivedSubject::JwtId { iss: text(ISSUER), jti: text("j") };
    let saml = ReceivedSubject::SamlAssertionId { issuer: text(ISSUER), assertion_id: text("_1") };
    let account = ReceivedSubject::Account(text("acct:ada@example.com"));
    let did = ReceivedSubject::Did(text("did:example:123456#key"));
    let phone = ReceivedSubject::PhoneNumber(text("+12065550100"));
    for (subject, read) in [
        (json!({ "format": "iss_sub", "iss": ISSUER, "sub": "1" }), iss_sub(ISSUER, "1")),
        (json!({ "format": "email", "email": "ada@example.com" }), email()),
        (json!({ "format": "account", "uri": "acct:ada@example.com" }), account),
        (json!({ "format": "opaque", "id": "a b", "more": [] }), opaque("a b")),
        (json!({ "format": "phone_number", "phone_number": "+12065550100" }), phone),
        (json!({ "format": "did", "url": "did:example:123456#key" }), did),
        (json!({ "format": "uri", "uri": "urn:x:1" }), ReceivedSubject::Uri(text("urn:x:1"))),
        (json!({ "format": "jwt_id", "iss": ISSUER, "jti": "j" }), jwt),
        (json!({ "format": "saml_assertion_id", "issuer": ISSUER, "assertion_id": "_1" }), saml),
        (json!({ "format": "scim", "uri": "/Users/1" }), scim(None, None)),
        (json!({ "format": "scim", "uri": "/Users/1", "id": "1" }), scim(Some(text("1")), None)),
        (json!({ "format": "scim", "uri": "/Users/1", "externalId": "e" }), scim(None, Some(text("e")))),
        (
            json!({ "format": "ip-addresses", "ip-addresses": [] }),
            ReceivedSubject::Unknown(text("ip-addresses")),
        ),
    ] {
        let received = transmitter.receive(&with("sub_id", subject.clone())).unwrap().subject;
        assert_eq!((&received, received.format()), (&read, subject["format"].as_str().unwrap()));
        assert_eq!((received.user(), received.session()), (Some(&received), None));
        assert_eq!(received.identifiers(), std::slice::from_ref(&received));
    }
    let identifiers =
        json!([{ "format": "email", "email": "ada@example.com" }, { "format": "opaque", "id": "1" }]);
    let user = json!({ "format": "aliases", "identifiers": identifiers });
    for subject in [user.clone(), json!({ "format": "complex", "user": user, "x": { "format": "y" } })] {
        let received = transmitter.receive(&with("sub_id", subject)).unwrap().subject;
        assert_eq!(received.user().unwrap().identifiers(), [email(), opaque("1")]);
    }
    let device = json!({ "format": "complex", "device": { "format": "opaque", "id": "d" } });
    let received = transmitter.receive(&with("sub_id", device)).unwrap().subject;
    assert_eq!((received.user(), received.session(), received.format()), (None, None, "complex"));
    assert_eq!(received.member("device"), Some(&opaque("d")));
}

#[test]
fn subjects_inside_the_event_are_read_as_drafts_wrote_them() {
    let transmitter = Transmitter::new();
    let inside = |subject: &Value, top: Option<&Value>| -> ReceivedSubject {
        let mut claims = event(SESSION_REVOKED, &json!({ "subject": subject }));
        match top {
            Some(top) => claims["sub_id"] = top.clone(),
            None => drop(claims.as_object_mut().unwrap().remove("sub_id")),
        }
        transmitter.receive(&claims).unwrap().subject
    };
    let user = json!({ "format": "iss_sub", "iss": ISSUER, "sub": "1" });
    let reordered = json!({ "sub": "1", "iss": ISSUER, "format": "iss_sub" });
    assert_eq!(inside(&user, None), iss_sub(ISSUER, "1"));
    assert_eq!(inside(&user, Some(&reordered)), iss_sub(ISSUER, "1"));
    assert_eq!(inside(&user, Some(&Value::Null)), iss_sub(ISSUER, "1"));
    assert_eq!(inside(&Value::Null, Some(&user)), iss_sub(ISSUER, "1"));
    let without_format = json!({ "user": user, "session": { "format": "opaque", "id": "s" } });
    let complex = inside(&without_format, None);
    assert_eq!(complex.user(), Some(&iss_sub(ISSUER, "1")));
    assert_eq!(complex.session(), Some(&opaque("s")));
}

#[test]
fn events_are_read_by_their_types() {
    let transmitter = Transmitter::new();
    let text = |text: &str| Some(text.to_owned());
    let change = |change| Act::CredentialChange { credential_type: "password".to_owned(), change };
    let changed = |how: &str| json!({ "credential_type": "password", "change_type": how });
    let level = |previous_level, direction| Act::AssuranceLevelChange {
        namespace: "NIST-AAL".to_owned(),
        current_level: "nist-aal1".to_owned(),
        previous_level,
        direction,
    };
    let level_now = json!({ "namespace": "NIST-AAL", "current_level": "nist-aal1" });
    let mut level_fell = level_now.clone();
    level_fell["previous_level"] = "nist-aal2".into();
    level_fell["change_direction"] = "decrease".into();
    let of_stream = |status, reason| Act::StreamUpdated { status, reason };
    for (base, name, payload, act) in [
        (CAEP, "session-revoked", json!({}), Act::SessionRevoked),
        (CAEP, "credential-change", changed("create"), change(CredentialChangeType::Create)),
        (CAEP, "credential-change", changed("revoke"), change(CredentialChangeType::Revoke)),
        (CAEP, "credential-change", changed("update"), change(CredentialChangeType::Update)),
        (CAEP, "credential-change", changed("delete"), change(CredentialChangeType::Delete)),
        (CAEP, "assurance-level-change", level_now, level(None, None)),
        (
            CAEP,
            "assurance-level-change",
            level_fell,
            level(text("nist-aal2"), Some(LevelDirection::Decrease)),
        ),
        (
            CAEP,
            "risk-level-change",
            json!({ "principal": "USER", "current_level": "HIGH" }),
            Act::RiskLevelChange { principal: "USER".into(), current_level: RiskLevel::High },
        ),
        (
            CAEP,
            "device-compliance-change",
            json!({ "current_status": "not-compliant" }),
            Act::DeviceComplianceChange { is_compliant: false },
        ),
        (CAEP, "token-claims-change", json!({}), Act::Other),
        (RISC, "account-disabled", json!({}), Act::AccountDisabled { reason: None }),
        (
            RISC,
            "account-disabled",
            json!({ "reason": "a\nb" }),
            Act::AccountDisabled { reason: text("a\u{fffd}b") },
        ),
        (RISC, "account-enabled", json!({}), Act::AccountEnabled),
        (RISC, "account-purged", json!({}), Act::AccountPurged),
        (RISC, "identifier-changed", json!({}), Act::IdentifierChanged { new_value: None }),
        (
            RISC,
            "identifier-changed",
            json!({ "new-value": "a@b" }),
            Act::IdentifierChanged { new_value: text("a@b") },
        ),
        (RISC, "sessions-revoked", json!({}), Act::SessionsRevoked),
        (
            RISC,
            "credential-compromise",
            json!({ "credential_type": "pin" }),
            Act::CredentialCompromise { credential_type: "pin".to_owned() },
        ),
        (RISC, "account-credential-change-required", json!({}), Act::Other),
        (SSF, "verification", json!({}), Act::Verification { state: None }),
        (SSF, "verification", json!({ "state": "s" }), Act::Verification { state: text("s") }),
        (SSF, "stream-updated", json!({ "status": "enabled" }), of_stream(Status::Enabled, None)),
        (
            SSF,
            "stream-updated",
            json!({ "status": "paused", "reason": "r" }),
            of_stream(Status::Paused, text("r")),
        ),
        (SSF, "stream-updated", json!({ "status": "disabled" }), of_stream(Status::Disabled, None)),
        (CAEP, "Session-Revoked", json!({}), Act::Other),
    ] {
        let received = transmitter.receive(&event(&format!("{base}/{name}"), &payload)).unwrap();
        assert_eq!(received.act, act, "{name}");
    }
}

#[test]
fn transmitters_learn_only_the_registered_error_code() {
    let transmitter = Transmitter::new();
    let of = |claims: Value| transmitter.receive(&claims).unwrap_err();
    for (refusal, error) in [
        (of(with("iss", "https://evil.example/")), "invalid_issuer"),
        (of(with("aud", "https://sp2.example.com/")), "invalid_audience"),
        (of(with("events", json!({}))), "invalid_request"),
        (of(with("exp", 1)), "invalid_request"),
        (transmitter.verify("").unwrap_err(), "invalid_request"),
        (transmitter.verify(&transmitter.token(Algorithm::RS512, &claims())).unwrap_err(), "invalid_key"),
        (Refusal::new(Reason::NotAuthenticated, ""), "authentication_failed"),
        (Refusal::new(Reason::NotAllowed, ""), "access_denied"),
        (Refusal::new(Reason::StateDiffers, ""), "invalid_state"),
    ] {
        assert_eq!(refusal.set_error(), error, "{refusal}");
    }
    let refused = of(with("iss", "https://evil.example/"));
    assert_eq!(
        refused.to_string(),
        r#"WRONG_ISSUER: iss is "https://evil.example/", not "https://idp.example.com/""#
    );
}

/// Verifies an example of a specification. Some have dates that do not fit together, which are moved to `event_timestamp`.
fn receive_example(transmitter: &Transmitter, example: &Value) -> ReceivedEvent {
    let mut claims = example.clone();
    let event = claims["events"].as_object().unwrap().values().next().unwrap();
    let at = event["event_timestamp"].as_i64().unwrap_or(0).max(claims["iat"].as_i64().unwrap());
    claims["iat"] = at.into();
    let audience = claims["aud"].as_str().or(claims["aud"][0].as_str()).unwrap();
    let now = Timestamp::from_unix_millis(at * 1000);
    let expected = Expected { issuer: claims["iss"].as_str().unwrap(), audience, now };
    verify(&transmitter.token(Algorithm::RS256, &claims), &transmitter.keys, &expected).unwrap()
}

#[test]
fn examples_of_the_specifications_are_accepted() {
    let transmitter = Transmitter::new();
    let read = |examples: &str| -> Vec<ReceivedEvent> {
        let examples: Vec<Value> = serde_json::from_str(examples).unwrap();
        examples.iter().map(|example| receive_example(&transmitter, example)).collect()
    };
    let formats = |received: &[ReceivedEvent]| -> Vec<String> {
        received.iter().map(|one| one.subject.format().to_owned()).collect()
    };
    let ssf = read(include_str!("examples/ssf.json"));
    assert_eq!(
        formats(&ssf),
        ["opaque", "email", "phone_number", "email", "complex", "email", "catalog_item", "opaque", "opaque",]
    );
    let state = Some("VGhpcyBpcyBhbiBleGFtcGxlIHN0YXRlIHZhbHVlLgo=".to_owned());
    assert_eq!(ssf[0].act, Act::Verification { state });
    assert_eq!(ssf[2].act, Act::AccountDisabled { reason: Some("hijacking".to_owned()) });
    let paused = Act::StreamUpdated { status: Status::Paused, reason: Some("Internal error".to_owned()) };
    assert_eq!((&ssf[8].act, &ssf[8].subject), (&paused, &opaque("f67e39a0a4d34d56b3aa1bc4cff0069f")));
    let caep = read(include_str!("examples/caep.json"));
    assert_eq!(
        formats(&caep),
        [
            "opaque",
            "complex",
            "complex",
            "jwt_id",
            "jwt_id",
            "saml_assertion_id",
            "iss_sub",
            "iss_sub",
            "iss_sub",
            "complex",
            "email",
            "email",
            "iss_sub",
        ]
    );
    assert_eq!(caep[1].subject.session(), Some(&opaque("dMTlD|1600802906337.16|16008.16")));
    let user = iss_sub("https://idp.example.com/123456789/", "99beb27c-c1c2-4955-882a-e0dc4996fcbc");
    assert_eq!(caep[1].subject.user(), Some(&user));
    assert_eq!(caep[1].happened_at, Some(Timestamp::from_unix_millis(1_615_304_991_000)));
    let created = CredentialChangeType::Create;
    assert_eq!(
        caep[6].act,
        Act::CredentialChange { credential_type: "fido2-roaming".into(), change: created }
    );
}

#[test]
fn tokens_of_this_transmitter_are_accepted() {
    let private = include_bytes!("../../oidc-rp/src/conformance/rsa-1.p8");
    let key = SigningKey::from_pkcs8(&Secret::new(private.to_vec())).unwrap();
    let keys = KeySet::parse(&json!({ "keys": [key.jwk()] }).to_string()).unwrap();
    let expected = Expected { issuer: ISSUER, audience: AUDIENCE, now: now() };
    let envelope = Envelope { issuer: ISSUER, audience: AUDIENCE, format: SubjectFormat::IssSub };
    for event_type in EventType::ALL {
        let source = SourceEvent {
            jti: "a-token".to_owned(),
            entry: "an-entry".to_owned(),
            event_type,
            at: now(),
            actor: ("USER".to_owned(), "a-user".to_owned()),
            resource: ("user".to_owned(), "a-user".to_owned()),
            data: r#"{"changed":["emails"],"proved":["otp"]}"#.to_owned(),
            email: Some("ada@example.com".to_owned()),
            former_email: Some("ada@example.org".to_owned()),
            new_email: Some("ada@example.com".to_owned()),
        };
        let token = key.sign(&source.claims(&envelope).unwrap()).unwrap();
        let received = verify(&token, &keys, &expected).unwrap();
        assert_eq!(received.event_type, event_type.uri());
        assert_eq!(received.act == Act::Other, event_type.is_scim());
    }
    let verification = ControlEvent::verification(Some("a-state".to_owned()));
    let token = key.sign(&verification.claims(&envelope, ("a-token", "a-stream"), now())).unwrap();
    let received = verify(&token, &keys, &expected).unwrap();
    assert_eq!(received.act, Act::Verification { state: Some("a-state".to_owned()) });
    assert_eq!(received.subject, opaque("a-stream"));
}
