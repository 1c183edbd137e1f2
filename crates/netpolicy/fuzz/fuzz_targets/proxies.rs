#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| netpolicy::conformance::fuzz::proxies(data));
