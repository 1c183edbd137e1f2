//! Measures the cost of a decision, next to a linear scan and a prefix trie. `cargo xtask bench policies` prints it.
//!
//! Prints a line per number of rules: the number, and nanoseconds per decision, linear scan and trie lookup.

use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr},
    time::Instant,
};

use cidr::Ipv4Cidr;
use netpolicy::{Cidr, Mode, Policy, Settings, Surface};
use prefix_trie::PrefixMap;

const ASKED: f64 = 4096.0;

/// A pseudorandom generator that repeats its numbers everywhere (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 32).unwrap_or_default()
    }
}

/// Returns nanoseconds per call: the median of eleven rounds.
fn cost(addresses: &[Ipv4Addr], mut ask: impl FnMut(Ipv4Addr) -> bool) -> f64 {
    let mut rounds: Vec<f64> = (0..11)
        .map(|_| {
            let begun = Instant::now();
            for address in addresses {
                black_box(ask(black_box(*address)));
            }
            begun.elapsed().as_secs_f64() * 1e9 / ASKED
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds.get(5).copied().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let on = Settings { mode: Mode::Allowlist, ..Settings::default() };
    for count in [10_u32, 1_000, 5_000] {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let mut ranges: Vec<Ipv4Cidr> = (0..count)
            .map(|place| {
                let length = 12 + place % 21;
                let mask = u32::MAX << (32 - length);
                Ok(Ipv4Cidr::new((numbers.next() & mask).into(), u8::try_from(length)?)?)
            })
            .collect::<Result<_, Box<dyn std::error::Error>>>()?;
        ranges.sort_unstable();
        ranges.dedup();
        let cidrs = ranges.iter().map(|range| range.to_string().parse()).collect::<Result<Vec<Cidr>, _>>()?;
        let policy = Policy::of_ranges(on, cidrs);
        let trie: PrefixMap<Ipv4Cidr, usize> =
            ranges.iter().enumerate().map(|(place, range)| (*range, place)).collect();
        // Half of the addresses are in a range.
        let asked: Vec<Ipv4Addr> = (0..4096)
            .map(|place| match ranges.get(numbers.next() as usize % ranges.len()) {
                Some(range) if place % 2 == 0 => range.last_address(),
                _ => numbers.next().into(),
            })
            .collect();
        let found = |address: Ipv4Addr| policy.decide(Some(IpAddr::V4(address)), Surface::Api, false).rule;
        let linear = |address: Ipv4Addr| ranges.iter().any(|range| range.contains(&address));
        let prefix = |address: Ipv4Addr| {
            Ipv4Cidr::new(address, 32).ok().and_then(|host| trie.get_lpm(&host)).is_some()
        };
        for address in &asked {
            assert_eq!(found(*address).is_some(), linear(*address), "{address}");
            assert_eq!(found(*address).is_some(), prefix(*address), "{address}");
        }
        let costs =
            [cost(&asked, |address| found(address).is_some()), cost(&asked, linear), cost(&asked, prefix)];
        println!("{count} {:.0} {:.0} {:.0}", costs[0], costs[1], costs[2]);
    }
    Ok(())
}
