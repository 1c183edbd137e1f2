//! Which passwords are accepted (NIST SP 800-63B §5.1.1).

use crate::WeakPassword;
use kernel::Secret;

use crate::password_hash::{MAX_BYTES, normalised};

/// Characters that a password has at least where it stands alone.
const MIN_ALONE: usize = 15;
/// The same where a second factor is enforced.
const MIN_WITH_FACTOR: usize = 8;

/// Common words and passwords, in lower case, one a line: beside those of zxcvbn, which are mostly English.
const COMMON: &str = include_str!("common.txt");

/// Characters of a password that are estimated: estimating takes longer the longer the text, and what is strong by then
/// does not become weak.
const ESTIMATED: usize = 64;
/// The same of each name.
const NAME: usize = 64;

/// What a new password is checked against.
#[derive(Debug, Clone, Copy, Default)]
pub struct PasswordContext<'a> {
    /// Names that whoever guesses knows: of the person, their address, their tenant.
    pub names: &'a [&'a str],
    /// Whether a second factor is enforced beside it.
    pub factor_enforced: bool,
}

/// What everybody knows this service by.
const PRODUCT: &str = "gatehouse";

/// Characters that a new password needs at least.
pub fn password_min(factor_enforced: bool) -> usize {
    if factor_enforced { MIN_WITH_FACTOR } else { MIN_ALONE }
}

/// Whether a new password is taken: long enough, and not guessed early. No rules about kinds of characters.
///
/// Strength is zxcvbn's estimate, which knows common passwords, words, names, keyboard patterns, repetitions, sequences and
/// dates: 3 of 4 is the least (10⁸ guesses), as OWASP ASVS asks for a check against common passwords and context words.
pub fn check_new_password(
    password: &Secret<String>,
    context: &PasswordContext<'_>,
) -> Result<(), WeakPassword> {
    if password.expose().len() > MAX_BYTES {
        return Err(WeakPassword::Long);
    }
    let normal = normalised(password.expose());
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

/// The names in lower case, whole and in their parts.
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

/// What is wrong and what to do, in zxcvbn's words.
fn advice(feedback: Option<&zxcvbn::feedback::Feedback>) -> String {
    let warning = feedback.and_then(zxcvbn::feedback::Feedback::warning).map(|warning| warning.to_string());
    let suggestion = feedback.and_then(|feedback| feedback.suggestions().first()).map(ToString::to_string);
    let suggestion =
        suggestion.unwrap_or_else(|| "Add another word or two. Uncommon words are better.".to_owned());
    warning.into_iter().chain([suggestion]).collect::<Vec<_>>().join(" ")
}

/// Whether the word makes up most of the text.
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
    fn length_has_two_ends() {
        assert_eq!(check("14 characters!", false), Err(WeakPassword::Short(15)));
        assert_eq!(check("7 chars", true), Err(WeakPassword::Short(8)));
        assert_eq!(check(&"x".repeat(MAX_BYTES + 1), false), Err(WeakPassword::Long));
    }

    #[test]
    fn names_that_a_guesser_knows_are_refused() {
        for own in ["ada.lovelace@example.com1", "adalovelace2026!", "analytical engines"] {
            assert!(
                matches!(check(own, false), Err(WeakPassword::OwnName | WeakPassword::Guessable(_))),
                "{own}"
            );
        }
        assert_eq!(check("gatehouse2026!", true), Err(WeakPassword::OwnName));
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
    fn common_words_are_refused_alone_and_repeated() {
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

    /// Estimating is bounded: the longest password takes no longer than hashing one does.
    #[test]
    fn longest_password_is_checked_in_bounded_time() {
        for text in ["a1b2".repeat(256), "password".repeat(128), "qwer tyui ".repeat(102)] {
            let started = std::time::Instant::now();
            let _either = check(&text, false);
            assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
        }
    }
}
