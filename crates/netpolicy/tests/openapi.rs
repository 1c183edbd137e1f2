//! The patterns of the OpenAPI description accept what the parsers accept.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::net::IpAddr;

use netpolicy::{
    Cidr,
    openapi::{IpAddress, IpRange},
};
use regex::Regex;
use serde_json::{Value, to_value};
use utoipa::PartialSchema;

const ADDRESSES: [&str; 16] = [
    "0.0.0.0",
    "203.0.113.7",
    "255.255.255.255",
    "::",
    "::1",
    "1::",
    "2001:db8::1",
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7::",
    "::2:3:4:5:6:7:8",
    "1:2:3::5:6:7:8",
    "::ffff:192.0.2.1",
    "1:2:3:4:5:6:192.0.2.1",
    "1:2:3:4:5::192.0.2.1",
    "1::6:192.0.2.1",
    "FFFF:ffff::",
];

const NO_ADDRESSES: [&str; 14] = [
    "",
    "256.0.0.1",
    "1.2.3",
    "01.2.3.4",
    "1.2.3.4.5",
    ":",
    ":1",
    "1:",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1::2::3",
    "12345::",
    "g::",
    "1:2:3:4:5:6:7:192.0.2.1",
];

fn schema(of: impl serde::Serialize) -> (Regex, Value) {
    let schema = to_value(of).unwrap();
    (Regex::new(schema["pattern"].as_str().unwrap()).unwrap(), schema)
}

#[test]
fn addresses_match_the_pattern() {
    let (pattern, schema) = schema(IpAddress::schema());
    assert_eq!((&schema["type"], &schema["examples"][0]), (&"string".into(), &"203.0.113.7".into()));
    for text in ADDRESSES.into_iter().chain(NO_ADDRESSES) {
        assert_eq!(pattern.is_match(text), text.parse::<IpAddr>().is_ok(), "{text:?}");
    }
    assert!(!pattern.is_match("::1/128") && !pattern.is_match("192.0.2.0/24"));
}

#[test]
fn ranges_match_the_pattern() {
    let (pattern, schema) = schema(IpRange::schema());
    assert_eq!((&schema["type"], &schema["examples"][1]), (&"string".into(), &"2001:db8::/32".into()));
    for text in ADDRESSES.into_iter().chain(NO_ADDRESSES) {
        for length in
            ["", "/", "/0", "/9", "/24", "/32", "/33", "/99", "/100", "/119", "/128", "/129", "/08", "/-1"]
        {
            let range = format!("{text}{length}");
            // Bits after the prefix are not in the pattern.
            let parsed = range.parse::<Cidr>();
            let is_range = matches!(parsed, Ok(_) | Err(netpolicy::ParseCidrError::HostBits(_)));
            let is_mapped = text.starts_with("::ffff:") && !is_range;
            assert!(is_mapped || pattern.is_match(&range) == is_range, "{range:?}: {parsed:?}");
        }
    }
}
