#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| attestation::conformance::fuzz::mds(data));
