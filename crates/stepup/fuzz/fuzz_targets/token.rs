#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stepup::conformance::fuzz::token(data));
