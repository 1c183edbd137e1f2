#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    saml_sp::conformance::fuzz::logout(data);
});
