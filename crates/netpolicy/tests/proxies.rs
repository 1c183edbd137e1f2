//! The client's address behind proxies.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use netpolicy::{Proxies, ProxyHeader, conformance::fuzz};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};

fn client(header: ProxyHeader, peer: &str, lines: &[&str]) -> String {
    let trusted = vec!["10.0.0.0/8".parse().unwrap(), "2001:db8:f::/48".parse().unwrap()];
    let lines = lines.iter().map(|line| line.as_bytes());
    let found = Proxies { trusted, header }.client(Some(peer.parse().unwrap()), lines);
    found.map_or("unknown".into(), |ip| ip.to_string())
}

/// How long generated input runs: `FUZZ_SECONDS`, or 0.3 seconds.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}

#[test]
fn x_forwarded_for() {
    let xff = |peer: &str, value: &str| client(ProxyHeader::XForwardedFor, peer, &[value]);
    assert_eq!(xff("192.0.2.9", "203.0.113.1"), "192.0.2.9", "headers of an untrusted peer are ignored");
    assert_eq!(
        xff("::ffff:192.0.2.9", "203.0.113.1"),
        "192.0.2.9",
        "an IPv4-mapped address is an IPv4 address"
    );
    assert_eq!(xff("10.0.0.1", "203.0.113.1"), "203.0.113.1");
    assert_eq!(xff("::ffff:10.0.0.1", "203.0.113.1"), "203.0.113.1");
    assert_eq!(
        xff("10.0.0.1", "198.51.100.7, 203.0.113.1 , 10.9.9.9"),
        "203.0.113.1",
        "the rightmost untrusted address counts"
    );
    assert_eq!(
        xff("10.0.0.1", "nonsense, 203.0.113.1"),
        "203.0.113.1",
        "entries further left are not parsed"
    );
    assert_eq!(xff("10.0.0.1", "203.0.113.1, nonsense"), "unknown");
    assert_eq!(xff("10.0.0.1", "203.0.113.1,"), "unknown");
    assert_eq!(xff("10.0.0.1", "10.0.0.2, 10.0.0.3"), "unknown", "all hops are trusted proxies");
    assert_eq!(xff("10.0.0.1", ""), "unknown");
    assert_eq!(xff("10.0.0.1", "203.0.113.1:5555"), "203.0.113.1");
    assert_eq!(xff("10.0.0.1", "[2001:db8::1]:5555"), "2001:db8::1");
    assert_eq!(xff("2001:db8:f::1", "2001:db8::1"), "2001:db8::1");
    assert_eq!(xff("10.0.0.1", "::ffff:203.0.113.1"), "203.0.113.1");
    for odd in [
        "203.0.113.1:x",
        "203.0.113.1:",
        "203.0.113.1:+80",
        "203.0.113.1:65536",
        "[203.0.113.1]",
        "[::1",
        "::1]",
        "203.0.113.01",
        "fe80::1%eth0",
    ] {
        assert_eq!(xff("10.0.0.1", odd), "unknown", "{odd}");
    }
    assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &[]), "unknown");
    let two = ["198.51.100.7", "203.0.113.1"];
    assert_eq!(
        client(ProxyHeader::XForwardedFor, "10.0.0.1", &two),
        "203.0.113.1",
        "several header lines form one list"
    );
    assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &["203.0.113.1\u{7f}"]), "unknown");
}

#[test]
fn forwarded_header() {
    let forwarded = |value: &str| client(ProxyHeader::Forwarded, "10.0.0.1", &[value]);
    assert_eq!(forwarded("for=203.0.113.1;proto=https"), "203.0.113.1");
    assert_eq!(forwarded("For=\"[2001:db8::1]:4711\""), "2001:db8::1");
    assert_eq!(forwarded("for=198.51.100.7, for=203.0.113.1;by=10.0.0.2, for=10.0.0.9"), "203.0.113.1");
    assert_eq!(
        forwarded("for=203.0.113.1;host=\"a,b;for=6.6.6.6\""),
        "203.0.113.1",
        "a quoted string may contain separators"
    );
    for quoted in [r#"a\"b"#, r"a\\", r#"a\\\"b"#] {
        let list = format!("for=198.51.100.7, for=203.0.113.1;host=\"{quoted}\"");
        assert_eq!(forwarded(&list), "203.0.113.1", "{list}");
    }
    for odd in [
        "for=unknown",
        "for=_hidden",
        "proto=https",
        "for",
        "for=\"203.0.113.1",
        "for=1.1.1.1;for=2.2.2.2",
        "=x;for=203.0.113.1",
        "a@b=x;for=203.0.113.1",
        "by=;for=203.0.113.1",
        "",
    ] {
        assert_eq!(forwarded(odd), "unknown", "{odd}");
    }
}

proptest! {
    #[test]
    fn what_the_proxy_adds_is_what_counts(sent in "[ -~]{0,60}", quoted in any::<bool>()) {
        let added = if quoted { "for=\"203.0.113.7:4711\"" } else { "for=203.0.113.7" };
        let list = format!("{sent}, {added}");
        prop_assert_eq!(client(ProxyHeader::Forwarded, "10.0.0.1", &[&list]), "203.0.113.7");
        let list = format!("{sent}, 203.0.113.7");
        prop_assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &[&list]), "203.0.113.7");
    }

    #[test]
    fn never_panics_and_never_believes_a_stranger(value in "[ -~]{0,80}", forwarded in any::<bool>()) {
        let header = if forwarded { ProxyHeader::Forwarded } else { ProxyHeader::XForwardedFor };
        let _any = client(header, "10.0.0.1", &[&value]);
        prop_assert_eq!(client(header, "192.0.2.9", &[&value]), "192.0.2.9");
    }
}

#[test]
fn corpus_and_its_mutations_satisfy_the_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/proxies");
    let corpus: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(corpus.len() > 10);
    for input in &corpus {
        fuzz::proxies(input);
    }
    let pieces = prop::sample::select(vec![
        ",", ";", "=", "\"", "\\", "[", "]", ":", " ", "\t", "for=", "For=\"", "10.0.0.1", "::1", "unknown",
        "\n", "\0", "é",
    ]);
    let changed = (prop::sample::select(corpus), any::<prop::sample::Index>(), 0..6_usize, pieces).prop_map(
        |(mut input, at, over, piece)| {
            let at = at.index(input.len() + 1);
            let end = (at + over).min(input.len());
            drop(input.splice(at..end, piece.bytes()));
            input
        },
    );
    let (mut runner, begun) = (TestRunner::new(Config::default()), Instant::now());
    while begun.elapsed() < fuzz_time() {
        fuzz::proxies(&changed.new_tree(&mut runner).unwrap().current());
    }
}
