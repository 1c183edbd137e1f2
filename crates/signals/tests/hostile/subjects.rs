//! Tokens whose subject is wrong.

use serde_json::{Value, json};
use signals::Reason;

use crate::{
    check_claims, event,
    transmitter::{ISSUER, SESSION_REVOKED, claims},
    with, without,
};

#[test]
fn missing_and_contradictory_subjects_are_refused() {
    let user = json!({ "format": "iss_sub", "iss": ISSUER, "sub": "248289761001" });
    let (mut both, mut inside) = (event(SESSION_REVOKED, json!({ "subject": user })), without("sub_id"));
    both["sub_id"] = json!({ "format": "iss_sub", "iss": ISSUER, "sub": "248289761002" });
    let mut more = event(SESSION_REVOKED, json!({ "subject": user }));
    more["sub_id"] = claims()["sub_id"].clone();
    let text = event(SESSION_REVOKED, json!({ "subject": "248289761001" }));
    inside["events"] = json!({ SESSION_REVOKED: { "subject": ["248289761001"] } });
    let mut former = without("sub_id");
    former["events"] =
        json!({ SESSION_REVOKED: { "subject": { "subject_type": "iss-sub", "iss": ISSUER, "sub": "1" } } });
    let mut empty = without("sub_id");
    empty["events"] = json!({ SESSION_REVOKED: { "subject": {} } });
    check_claims([
        ("no subject", Reason::SubjectMissing, without("sub_id")),
        ("subject is null", Reason::SubjectMissing, with("sub_id", json!(null))),
        ("two users", Reason::SubjectsDiffer, both),
        ("a user, and a combination with the same user", Reason::SubjectsDiffer, more),
        ("a combination, and a text", Reason::SubjectsDiffer, text),
        ("an array in the event", Reason::SubjectMalformed, inside),
        ("a subject of the drafts that had no format", Reason::SubjectMalformed, former),
        ("an empty subject in the event", Reason::SubjectMalformed, empty),
    ]);
}

fn check_subjects<const N: usize>(cases: [(&'static str, Value); N]) {
    check_claims(cases.map(|(name, subject)| (name, Reason::SubjectMalformed, with("sub_id", subject))));
}

#[test]
fn identifiers_that_do_not_conform_to_their_format_are_refused() {
    check_subjects([
        ("a string", json!("248289761001")),
        ("an array", json!([{ "format": "opaque", "id": "1" }])),
        ("an empty object", json!({})),
        ("format is missing", json!({ "iss": ISSUER, "sub": "248289761001" })),
        ("format is missing in a combination", json!({ "user": { "format": "opaque", "id": "1" } })),
        ("format is a number", json!({ "format": 1, "id": "1" })),
        ("format is empty", json!({ "format": "", "id": "1" })),
        ("format is too long", json!({ "format": "f".repeat(101) })),
        ("format has a line break", json!({ "format": "opaque\n", "id": "1" })),
        ("iss_sub without sub", json!({ "format": "iss_sub", "iss": ISSUER })),
        ("iss_sub without iss", json!({ "format": "iss_sub", "sub": "1" })),
        ("iss_sub with a number", json!({ "format": "iss_sub", "iss": ISSUER, "sub": 1 })),
        ("iss_sub with null", json!({ "format": "iss_sub", "iss": ISSUER, "sub": null })),
        ("email without address", json!({ "format": "email" })),
        ("email with a name", json!({ "format": "email", "email": "Ada <ada@example.com>" })),
        ("email without domain", json!({ "format": "email", "email": "ada@" })),
        (
            "email with two addresses",
            json!({ "format": "email", "email": "ada@example.com,eve@evil.example" }),
        ),
        ("account of another scheme", json!({ "format": "account", "uri": "mailto:ada@example.com" })),
        ("account without host", json!({ "format": "account", "uri": "acct:ada" })),
        ("account with a space", json!({ "format": "account", "uri": "acct:ada lovelace@example.com" })),
        ("opaque without ID", json!({ "format": "opaque" })),
        ("opaque with an empty ID", json!({ "format": "opaque", "id": "" })),
        ("opaque with a control character", json!({ "format": "opaque", "id": "a\u{0}b" })),
        ("opaque with reversed text", json!({ "format": "opaque", "id": "\u{202e}nimda" })),
        ("opaque that is too long", json!({ "format": "opaque", "id": "x".repeat(1_025) })),
        ("phone number without prefix", json!({ "format": "phone_number", "phone_number": "2065550100" })),
        ("phone number with letters", json!({ "format": "phone_number", "phone_number": "+1 206 CALL NOW" })),
        (
            "phone number that is too long",
            json!({ "format": "phone_number", "phone_number": "+1234567890123456" }),
        ),
        ("DID of another scheme", json!({ "format": "did", "url": "https://example.com/did" })),
        ("DID without ID", json!({ "format": "did", "url": "did:example:" })),
        ("URI without scheme", json!({ "format": "uri", "uri": "//example.com/ada" })),
        ("URI with a space", json!({ "format": "uri", "uri": "https://example.com/a b" })),
        ("jwt_id without jti", json!({ "format": "jwt_id", "iss": ISSUER })),
        ("assertion without ID", json!({ "format": "saml_assertion_id", "issuer": ISSUER })),
        ("SCIM without URI", json!({ "format": "scim", "id": "2819c223" })),
        ("SCIM with a number", json!({ "format": "scim", "uri": "/Users/1", "id": 1 })),
        ("SCIM with an object", json!({ "format": "scim", "uri": "/Users/1", "externalId": {} })),
    ]);
}

#[test]
fn combinations_and_aliases_that_are_nested_or_too_many_are_refused() {
    let id = |id: usize| json!({ "format": "opaque", "id": id.to_string() });
    let aliases = |identifiers: Value| json!({ "format": "aliases", "identifiers": identifiers });
    let many = || (0..21).map(id).collect::<Vec<_>>();
    let mut full = json!({ "format": "complex" });
    for (index, id) in many().into_iter().enumerate() {
        full[format!("member_{index}")] = id;
    }
    check_subjects([
        ("aliases without identifiers", json!({ "format": "aliases" })),
        ("aliases of an object", aliases(id(1))),
        ("empty aliases", aliases(json!([]))),
        ("21 aliases", aliases(many().into())),
        ("aliases of strings", aliases(json!(["ada@example.com"]))),
        ("aliases in aliases", aliases(json!([aliases(json!([id(1)]))]))),
        ("a combination in aliases", aliases(json!([{ "format": "complex", "user": id(1) }]))),
        ("one of the aliases is malformed", aliases(json!([id(1), { "format": "email", "email": "ada" }]))),
        ("an empty combination", json!({ "format": "complex" })),
        ("21 members", full),
        ("a member that is a string", json!({ "format": "complex", "user": "ada@example.com" })),
        ("a member that is null", json!({ "format": "complex", "user": id(1), "device": null })),
        ("a member that is an array", json!({ "format": "complex", "user": [id(1)] })),
        ("a member without format", json!({ "format": "complex", "user": { "id": "1" } })),
        ("a member without a name", json!({ "format": "complex", "": id(1) })),
        ("a member with a line break in its name", json!({ "format": "complex", "user\n": id(1) })),
        (
            "a combination in a combination",
            json!({ "format": "complex", "user": { "format": "complex", "user": id(1) } }),
        ),
        (
            "aliases of a combination in a member",
            json!({ "format": "complex", "user": aliases(json!([{ "format": "complex", "user": id(1) }])) }),
        ),
        (
            "the second member is malformed",
            json!({ "format": "complex", "user": id(1), "session": { "format": "opaque" } }),
        ),
    ]);
}
