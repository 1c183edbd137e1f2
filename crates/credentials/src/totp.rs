//! Codes of authenticator apps (RFC 6238): SHA-1, six digits, 30 seconds, which every app supports.

use data_encoding::{BASE32_NOPAD, HEXUPPER};
use kernel::{Env, Secret, Timestamp, constant_time_eq};
use qrcode::{EcLevel, QrCode, render::svg};
use totp_lite::{Sha1, totp_custom};

/// Length of a time step in seconds.
const STEP: u64 = 30;
/// Number of digits of a code.
const DIGITS: u32 = 6;
/// Length of a secret in bytes, as RFC 4226 §4 recommends.
const SECRET: usize = 20;
/// Minimum length of a secret in bytes.
const LEAST_SECRET: usize = 16;
/// Number of time steps accepted before and after the current one, for clock drift and slow typing.
const WINDOW: i64 = 1;

/// Generates a secret.
pub fn new_secret(env: &dyn Env) -> Secret<Vec<u8>> {
    let mut bytes = vec![0; SECRET];
    env.fill(&mut bytes);
    Secret::new(bytes)
}

/// Returns the secret in base32, for users who cannot scan the QR code.
pub fn typed(secret: &Secret<Vec<u8>>) -> Secret<String> {
    Secret::new(BASE32_NOPAD.encode(secret.expose()))
}

/// Returns the `otpauth:` URI that the QR code encodes.
pub fn otpauth_uri(secret: &Secret<Vec<u8>>, issuer: &str, account: &str) -> Secret<String> {
    let (issuer, account) = (encoded(issuer), encoded(account));
    let secret = typed(secret);
    Secret::new(format!(
        "otpauth://totp/{issuer}:{account}?secret={}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={STEP}",
        secret.expose()
    ))
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(&HEXUPPER.encode(&[byte]));
        }
    }
    out
}

/// Renders the URI as a QR code: an SVG without scripts or styles, dark on light in either theme.
pub fn qr_svg(uri: &Secret<String>) -> Option<String> {
    let code = QrCode::with_error_correction_level(uri.expose().as_bytes(), EcLevel::M).ok()?;
    let drawn = code.render::<svg::Color<'_>>().min_dimensions(220, 220).build();
    // Drop the XML declaration, so that a page can embed the SVG.
    Some(drawn.split_once("?>").map_or(drawn.as_str(), |(_, svg)| svg).to_owned())
}

/// Returns the time step in which `code` is valid now; `None` if it is invalid or its step is not after `last_step`.
///
/// Takes the same time however the code is wrong. The caller stores the step, so that each code works once. A secret
/// of fewer than 16 bytes (RFC 4226 §4) verifies no code: anybody can compute the codes of an empty secret.
pub fn verify(secret: &Secret<Vec<u8>>, code: &str, now: Timestamp, last_step: i64) -> Option<i64> {
    if secret.expose().len() < LEAST_SECRET {
        return None;
    }
    let typed: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let present = now.unix_millis().div_euclid(1000) / STEP.cast_signed();
    let mut found = None;
    for step in present - WINDOW..=present + WINDOW {
        let seconds = u64::try_from(step).unwrap_or_default() * STEP;
        let expected = Secret::new(totp_custom::<Sha1>(STEP, DIGITS, secret.expose(), seconds));
        if constant_time_eq(expected.expose().as_bytes(), typed.as_bytes()) && step > last_step {
            found = found.or(Some(step));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;
    use totp_lite::totp_custom;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(seconds * 1000)
    }

    #[test]
    fn codes_are_those_of_rfc_6238() {
        let secret = Secret::new(b"12345678901234567890".to_vec());
        // Appendix B, the last six of eight digits.
        for (seconds, code) in
            [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (2_000_000_000, "279037")]
        {
            assert_eq!(verify(&secret, code, at(seconds), -1), Some(seconds / 30));
            assert_eq!(
                verify(&secret, &format!("{} {}", &code[..3], &code[3..]), at(seconds), -1),
                Some(seconds / 30)
            );
        }
    }

    #[test]
    fn an_empty_or_short_secret_verifies_nothing() {
        for bytes in [0, 1, 15] {
            let secret = Secret::new(vec![7; bytes]);
            let code = totp_custom::<Sha1>(30, 6, secret.expose(), 3000 * 30);
            assert_eq!(verify(&secret, &code, at(3000 * 30), -1), None, "{bytes}");
        }
        let shortest = Secret::new(vec![7; 16]);
        let code = totp_custom::<Sha1>(30, 6, shortest.expose(), 3000 * 30);
        assert_eq!(verify(&shortest, &code, at(3000 * 30), -1), Some(3000));
    }

    #[test]
    fn each_step_works_once_and_adjacent_steps_are_accepted() {
        let secret = Secret::new(b"12345678901234567890".to_vec());
        let code = |step: u64| totp_custom::<Sha1>(30, 6, secret.expose(), step * 30);
        let now = at(3000 * 30 + 7);
        assert_eq!(verify(&secret, &code(3000), now, -1), Some(3000));
        assert_eq!(verify(&secret, &code(3000), now, 3000), None, "used");
        assert_eq!(verify(&secret, &code(2999), now, -1), Some(2999));
        assert_eq!(verify(&secret, &code(3001), now, 3000), Some(3001));
        for odd in [code(2998), code(3002), String::new(), "000000000000".into(), "12345".into(), "é".into()]
        {
            assert_eq!(verify(&secret, &odd, now, -1), None, "{odd}");
        }
    }

    #[test]
    fn secrets_have_160_random_bits() {
        let env = ManualEnv::at(at(0));
        let (first, second) = (new_secret(&env), new_secret(&env));
        assert_eq!((first.expose().len(), second.expose().len()), (20, 20));
        assert_ne!(first.expose(), second.expose());
    }

    #[test]
    fn uri_and_qr_code_have_the_expected_form() {
        let secret = Secret::new(b"12345678901234567890".to_vec());
        let uri = otpauth_uri(&secret, "Acme & Söhne", "ada@example.com");
        assert_eq!(
            uri.expose(),
            "otpauth://totp/Acme%20%26%20S%C3%B6hne:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
             &issuer=Acme%20%26%20S%C3%B6hne&algorithm=SHA1&digits=6&period=30"
        );
        let svg = qr_svg(&uri).unwrap();
        assert!(svg.starts_with("<svg") && !svg.contains("script") && !svg.contains("style"));
    }
}
