#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    oidc_rp::conformance::fuzz::id_token(data);
});
