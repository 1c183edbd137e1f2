//! Rules for new passwords (NIST SP 800-63B §5.1.1).

use crate::WeakPassword;
use kernel::Secret;

use crate::password_hash::{MAX_BYTES, normalized_password};

/// Minimum number of characters if the password is the only factor.
const MIN_ALONE: usize = 15;
/// Minimum number of characters if a second factor is enforced.
const MIN_WITH_FACTOR: usize = 8;

/// Common words and passwords in lower case, one per line. They supplement those of zxcvbn, which are mostly English.
const COMMON: &str = include_str!("common.txt");

/// Number of characters whose strength is estimated. Estimating longer texts takes longer, and a strong beginning
/// stays strong.
const ESTIMATED: usize = 64;
/// The same limit for each name.
const NAME: usize = 64;

/// The context that a new password is checked against.
#[derive(Debug, Clone, Copy, Default)]
pub struct PasswordContext<'a> {
    /// Names that an attacker would try: those of the user, the address and the tenant.
    pub names: &'a [&'a str],
    /// Whether a second factor is enforced in addition.
    pub factor_enforced: bool,
}

/// The product name, which every attacker knows.
const PRODUCT: &str = "gatehouse";

/// Returns the minimum number of characters of a new password.
pub fn password_min(factor_enforced: bool) -> usize {
    if factor_enforced { MIN_WITH_FACTOR } else { MIN_ALONE }
}

/// Checks that a new password is long enough and hard to guess. There are no composition rules.
///
/// The strength is zxcvbn's estimate, which covers common passwords, words, names, keyboard patterns, repetitions,
/// sequences and dates. A score of 3 of 4 (10⁸ guesses) is required. OWASP ASVS requires checks against common
/// passwords and context words.
pub fn check_new_password(
    password: &Secret<String>,
    context: &PasswordContext<'_>,
) -> Result<(), WeakPassword> {
    if password.expose().len() > MAX_BYTES {
        return Err(WeakPassword::Long);
    }
    let normal = normalized_password(password.expose());
    let least = password_min(context.factor_enforced);
    if normal.expose().chars().count() < least {
        return Err(WeakPassword::Short(least));
    }
    let names = known_names(context);
    let folded = Secret::new(normal.expose().to_lowercase());
    if names.iter().any(|name| name.chars().count() >= 4 && mostly(folded.expose(), name)) {
        return Err(WeakPassword::OwnName);
    }
    let estimated = Secret::new(normal.expose().chars().take(ESTIMATED).collect::<String>());
    let known: Vec<&str> = names.iter().map(String::as_str).chain(COMMON.lines()).collect();
    let estimate = zxcvbn::zxcvbn(estimated.expose(), &known);
    if estimate.score() >= zxcvbn::Score::Three {
        return Ok(());
    }
    Err(WeakPassword::Guessable(advice(estimate.feedback())))
}

/// Returns the names in lower case, whole and in parts.
fn known_names(context: &PasswordContext<'_>) -> Vec<String> {
    let mut names = vec![PRODUCT.to_owned()];
    for name in context.names {
        let name: String = name.to_lowercase().chars().take(NAME).collect();
        let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| part.chars().count() >= 3);
        names.extend(parts.map(str::to_owned));
        let local = name.split_once('@').map_or(name.as_str(), |(local, _)| local);
        names.push(local.chars().filter(|c| c.is_alphanumeric()).collect());
        names.push(local.to_owned());
        names.push(name);
    }
    names
}

/// Returns zxcvbn's warning and its first suggestion.
fn advice(feedback: Option<&zxcvbn::feedback::Feedback>) -> String {
    let warning = feedback.and_then(zxcvbn::feedback::Feedback::warning).map(|warning| warning.to_string());
    let suggestion = feedback.and_then(|feedback| feedback.suggestions().first()).map(ToString::to_string);
    let suggestion =
        suggestion.unwrap_or_else(|| "Add another word or two. Uncommon words are better.".to_owned());
    warning.into_iter().chain([suggestion]).collect::<Vec<_>>().join(" ")
}

/// Whether the word makes up at least 60% of the text.
fn mostly(text: &str, word: &str) -> bool {
    text.contains(word) && word.chars().count() * 10 >= text.chars().count() * 6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    fn check(text: &str, factor_enforced: bool) -> Result<(), WeakPassword> {
        let names = ["ada.lovelace@example.com", "Ada Lovelace", "Analytical Engines"];
        check_new_password(&said(text), &PasswordContext { names: &names, factor_enforced })
    }

    fn is_guessable(text: &str, factor_enforced: bool) -> bool {
        matches!(check(text, factor_enforced), Err(WeakPassword::Guessable(_)))
    }

    #[test]
    fn long_uncommon_passwords_are_accepted_without_composition_rules() {
        for accepted in [
            "a ship in a bottle",
            "längere Wörter zählen auch",
            "correct horse and more",
            "seven owls read maps",
            "日本語の長いパスワードです。十五文字",
        ] {
            assert_eq!(check(accepted, false), Ok(()), "{accepted}");
        }
        assert_eq!(check("vexq7-lumo", true), Ok(()));
        assert_eq!(check(&"long words ".repeat(90), false), check(&"long words ".repeat(10), false));
    }

    #[test]
    fn too_short_and_too_long_passwords_are_refused() {
        assert_eq!(check("14 characters!", false), Err(WeakPassword::Short(15)));
        assert_eq!(check("7 chars", true), Err(WeakPassword::Short(8)));
        assert_eq!(check(&"x".repeat(MAX_BYTES + 1), false), Err(WeakPassword::Long));
        assert!(is_guessable(&"x".repeat(MAX_BYTES), false));
        assert_eq!(check("seven owls read", false), Ok(()), "15 characters");
    }

    #[test]
    fn passwords_made_of_known_names_are_refused() {
        for own in ["ada.lovelace@example.com1", "adalovelace2026!", "analytical engines"] {
            assert!(
                matches!(check(own, false), Err(WeakPassword::OwnName | WeakPassword::Guessable(_))),
                "{own}"
            );
        }
        assert_eq!(check("gatehouse2026!", true), Err(WeakPassword::OwnName));
        // Parts of names count, and a name within a long password does not matter.
        assert_eq!(check("engines2026", true), Err(WeakPassword::OwnName));
        assert_eq!(check("engines of seven owls", false), Ok(()));
    }

    #[test]
    fn common_passwords_and_patterns_are_refused() {
        for guessable in [
            "Password12345678",
            "qwertyuiopasdfgh",
            "passwordpassword1!",
            "aaaaaaaaaaaaaaaaaaaa",
            "abcdefghijklmnopqrst",
            "1qaz2wsx3edc4rfv",
            "qwertyuiop123456789",
            "iloveyouiloveyou",
            "P@ssw0rdP@ssw0rd",
            "12345678901234567890",
        ] {
            assert!(is_guessable(guessable, false), "{guessable}: {:?}", check(guessable, false));
        }
        assert!(is_guessable("Password1234", true));
    }

    #[test]
    fn single_and_repeated_common_words_are_refused() {
        for common in COMMON.lines().filter(|line| line.chars().count() >= MIN_WITH_FACTOR) {
            for text in [common.to_owned(), format!("{common}1!"), format!("{common}{common}1")] {
                assert!(check(&text, true).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn refusal_says_what_is_wrong_and_what_to_do() {
        let refusal = check("qwertyuiopasdfgh", false).unwrap_err().to_string();
        assert!(
            refusal.starts_with("this password is easy to guess. ") && refusal.ends_with('.'),
            "{refusal}"
        );
    }

    /// The estimate is bounded: it takes no longer for the longest password than hashing.
    #[test]
    fn longest_password_is_checked_in_bounded_time() {
        for text in ["a1b2".repeat(256), "password".repeat(128), "qwer tyui ".repeat(102)] {
            let started = std::time::Instant::now();
            let _either = check(&text, false);
            assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
        }
    }
}
