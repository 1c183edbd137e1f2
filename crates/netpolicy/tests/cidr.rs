//! Ranges have a strict syntax and a canonical form.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use netpolicy::{Cidr, ParseCidrError, conformance::fuzz::cidr};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};

/// How long generated input runs: `FUZZ_SECONDS`, or 0.3 seconds.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}

#[test]
fn ranges_have_one_canonical_form() {
    for (text, written) in [
        ("203.0.113.0/24", "203.0.113.0/24"),
        ("203.0.113.7", "203.0.113.7/32"),
        ("203.0.113.7/32", "203.0.113.7/32"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:DB8:0::/48", "2001:db8::/48"),
        ("::1", "::1/128"),
        ("::/0", "::/0"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ("::ffff:192.0.2.1", "192.0.2.1/32"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::/95", "::/95"),
        // The longest text of a range.
        ("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"),
    ] {
        assert_eq!(text.parse::<Cidr>().unwrap().to_string(), written);
    }
}

#[test]
fn malformed_ranges_are_refused() {
    for text in [
        "",
        "/",
        "/8",
        "10.0.0.0/",
        "10.0.0.0/08",
        "10.0.0.0/+8",
        "10.0.0.0/-1",
        "10.0.0.0/33",
        "::/129",
        "10.0.0.0/8 ",
        " 10.0.0.0/8",
        "10.0.0.0 /8",
        "10.0.0.0/8/8",
        "10.0.0/8",
        "010.0.0.0/8",
        "10.0.0.0/8\n",
        "fe80::1%eth0/64",
        "[::1]",
        "example.com",
        "10.0.0.0/255.0.0.0",
        "١٠.0.0.0/8",
        "10.0.0.0/٨",
    ] {
        assert_eq!(text.parse::<Cidr>(), Err(ParseCidrError::Malformed), "{text:?}");
    }
}

#[test]
fn host_bits_are_refused_with_the_correct_range() {
    for (text, written) in [
        ("203.0.113.7/24", "203.0.113.0/24"),
        ("2001:db8::1/32", "2001:db8::/32"),
        ("::ffff:192.0.2.1/120", "192.0.2.0/24"),
        ("1.2.3.4/0", "0.0.0.0/0"),
    ] {
        let error = text.parse::<Cidr>().unwrap_err();
        assert_eq!(error, ParseCidrError::HostBits(written.parse().unwrap()));
        assert!(error.to_string().ends_with(written), "{error}");
    }
}

#[test]
fn ipv4_mapped_addresses_are_ipv4_only() {
    let all: Cidr = "0.0.0.0/0".parse().unwrap();
    assert!(all.contains("192.0.2.1".parse().unwrap()) && all.contains("::ffff:192.0.2.1".parse().unwrap()));
    let other: Cidr = "::/0".parse().unwrap();
    assert!(
        !other.contains("192.0.2.1".parse().unwrap()) && !other.contains("::ffff:192.0.2.1".parse().unwrap())
    );
    assert!(other.contains("2001:db8::1".parse().unwrap()));
}

#[test]
fn corpus_and_its_mutations_satisfy_the_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/cidr");
    let corpus: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(corpus.len() > 15);
    for input in &corpus {
        cidr(input);
    }
    let changed =
        (prop::sample::select(corpus), any::<prop::sample::Index>(), "[0-9a-f:./%+ ]{0,4}", any::<bool>())
            .prop_map(|(mut input, at, more, over)| {
                let at = at.index(input.len() + 1);
                let end = if over { (at + more.len()).min(input.len()) } else { at };
                drop(input.splice(at..end, more.into_bytes()));
                input
            });
    let written = (any::<[u8; 16]>(), 0..130_u8, any::<bool>()).prop_map(|(octets, length, v4)| {
        let text = if v4 {
            format!(
                "{}/{}",
                std::net::Ipv4Addr::from([octets[0], octets[1], octets[2], octets[3]]),
                length % 34
            )
        } else {
            format!("{}/{length}", std::net::Ipv6Addr::from(octets))
        };
        text.into_bytes()
    });
    let input = prop_oneof![changed, written];
    let (mut runner, begun) = (TestRunner::new(Config::default()), Instant::now());
    while begun.elapsed() < fuzz_time() {
        cidr(&input.new_tree(&mut runner).unwrap().current());
    }
}
