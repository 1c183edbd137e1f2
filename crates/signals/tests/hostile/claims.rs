//! Tokens whose claims are wrong.

use serde_json::json;
use signals::Reason;

use crate::{
    check_claims,
    transmitter::{AUDIENCE, ISSUER, now, seconds},
    with, without,
};

#[test]
fn malformed_claims_are_refused() {
    check_claims([
        ("exp", Reason::ExpPresent, with("exp", seconds(300))),
        ("exp is null", Reason::ExpPresent, with("exp", json!(null))),
        ("sub", Reason::SubPresent, with("sub", "248289761001")),
        ("sub is null", Reason::SubPresent, with("sub", json!(null))),
        ("iss is missing", Reason::ClaimMissing, without("iss")),
        ("iss is null", Reason::ClaimMissing, with("iss", json!(null))),
        ("iss is an array", Reason::IssuerMalformed, with("iss", json!([ISSUER]))),
        ("iss of another transmitter", Reason::Issuer, with("iss", "https://evil.example/")),
        ("iss without the slash", Reason::Issuer, with("iss", ISSUER.trim_end_matches('/'))),
        ("iss in upper case", Reason::Issuer, with("iss", ISSUER.to_uppercase())),
        ("iss with more after it", Reason::Issuer, with("iss", format!("{ISSUER}a"))),
        ("iss is empty", Reason::Issuer, with("iss", "")),
        ("iss of controls", Reason::Issuer, with("iss", "\u{1b}[2J\n".repeat(1_000))),
        ("aud is missing", Reason::ClaimMissing, without("aud")),
        ("aud is a number", Reason::AudienceMalformed, with("aud", 1)),
        ("aud is an object", Reason::AudienceMalformed, with("aud", json!({ "aud": AUDIENCE }))),
        ("aud has a number", Reason::AudienceMalformed, with("aud", json!([AUDIENCE, 1]))),
        ("aud has an array", Reason::AudienceMalformed, with("aud", json!([[AUDIENCE]]))),
        ("aud has 21 values", Reason::AudienceMalformed, with("aud", vec![AUDIENCE; 21])),
        ("aud is empty", Reason::Audience, with("aud", json!([]))),
        ("aud of another receiver", Reason::Audience, with("aud", "https://sp2.example.com/")),
        ("aud of other receivers", Reason::Audience, with("aud", json!(["a", "b"]))),
        ("aud with more after it", Reason::Audience, with("aud", format!("{AUDIENCE}/"))),
        ("aud as one of a list in a string", Reason::Audience, with("aud", format!("x {AUDIENCE}"))),
        ("jti is missing", Reason::ClaimMissing, without("jti")),
        ("jti is a number", Reason::TokenIdMalformed, with("jti", 7)),
        ("jti is empty", Reason::TokenIdMalformed, with("jti", "")),
        ("jti is too long", Reason::TokenIdMalformed, with("jti", "j".repeat(256))),
        ("jti has a line break", Reason::TokenIdMalformed, with("jti", "a\ntoken")),
        ("jti has an invisible character", Reason::TokenIdMalformed, with("jti", "a\u{200b}token")),
        ("iat is missing", Reason::ClaimMissing, without("iat")),
        ("iat is a string", Reason::IssuedAtMalformed, with("iat", seconds(0).to_string())),
        ("iat is true", Reason::IssuedAtMalformed, with("iat", true)),
        ("iat is negative", Reason::IssuedAtMalformed, with("iat", -1)),
        ("iat is huge", Reason::IssuedAtMalformed, with("iat", 1e300)),
        ("iat in milliseconds", Reason::IssuedAtMalformed, with("iat", now().unix_millis())),
        ("iat in the future", Reason::IssuedInFuture, with("iat", seconds(61))),
        ("iat too long ago", Reason::TooOld, with("iat", seconds(-7 * 86_400 - 1))),
        ("iat of 1970", Reason::TooOld, with("iat", 0)),
        ("nbf in the future", Reason::NotYetValid, with("nbf", seconds(61))),
        ("nbf is a string", Reason::NotYetValid, with("nbf", "0")),
        ("txn is a number", Reason::TransactionMalformed, with("txn", 1)),
        ("txn is empty", Reason::TransactionMalformed, with("txn", "")),
        ("txn is too long", Reason::TransactionMalformed, with("txn", "t".repeat(256))),
        ("toe is a string", Reason::EventTimeMalformed, with("toe", "2026-03-01T12:00:00Z")),
        ("toe in milliseconds", Reason::EventTimeMalformed, with("toe", now().unix_millis())),
        ("toe in the future", Reason::EventInFuture, with("toe", seconds(61))),
    ]);
}
