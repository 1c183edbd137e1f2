#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| scim_core::conformance::fuzz::patch(data));
