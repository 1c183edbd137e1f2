//! Which passwords are accepted (NIST SP 800-63B §5.1.1).

use kernel::Secret;

use crate::password_hash::{MAX_BYTES, normalised};

/// Characters that a password has at least where it stands alone.
const MIN_ALONE: usize = 15;
/// The same where a second factor is enforced.
const MIN_WITH_FACTOR: usize = 8;

/// Passwords that everybody tries, in lower case, one a line.
const BLOCKED: &str = include_str!("blocked.txt");

/// Why a password is not taken: what to do instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Weak {
    /// Too short to stand alone.
    #[error("use at least {0} characters: a few words in a row are fine")]
    Short(usize),
    /// Longer than anybody types.
    #[error("use at most {MAX_BYTES} bytes")]
    Long,
    /// Everybody tries it first.
    #[error("this password is on every attacker's list; choose another")]
    Common,
    /// Made of the person's own address or the product's name.
    #[error("do not use your address or the name of this service as the password")]
    OwnName,
    /// `aaaa…` or `1234…`.
    #[error("do not use one character, or one sequence, over and over")]
    Monotone,
}

/// Characters that a new password needs at least.
pub fn password_min(factor_enforced: bool) -> usize {
    if factor_enforced { MIN_WITH_FACTOR } else { MIN_ALONE }
}

/// Whether a new password is taken. No rules about kinds of characters: length is what counts.
pub fn check_new_password(
    password: &Secret<String>,
    email: Option<&str>,
    factor_enforced: bool,
) -> Result<(), Weak> {
    if password.expose().len() > MAX_BYTES {
        return Err(Weak::Long);
    }
    let normal = normalised(password.expose());
    let least = password_min(factor_enforced);
    if normal.expose().chars().count() < least {
        return Err(Weak::Short(least));
    }
    let folded = Secret::new(normal.expose().to_lowercase());
    let text = folded.expose().as_str();
    if BLOCKED.lines().any(|blocked| repeats(text, blocked)) {
        return Err(Weak::Common);
    }
    let email = email.unwrap_or_default().to_lowercase();
    let local = email.split('@').next().unwrap_or_default();
    if [email.as_str(), local, "gatehouse"].iter().any(|name| name.len() >= 4 && mostly(text, name)) {
        return Err(Weak::OwnName);
    }
    let codes: Vec<u32> = text.chars().map(u32::from).collect();
    let step = |pair: &[u32]| match pair {
        [a, b] => Some(i64::from(*b) - i64::from(*a)),
        _ => None,
    };
    let steps: Vec<_> = codes.windows(2).filter_map(step).collect();
    let same = steps.iter().filter(|step| (-1..=1).contains(*step)).count();
    if same * 10 >= steps.len() * 8 {
        return Err(Weak::Monotone);
    }
    Ok(())
}

/// Whether the text is the word once or over and over, digits and signs at its end aside.
fn repeats(text: &str, word: &str) -> bool {
    if word.is_empty() || !text.starts_with(word) {
        return false;
    }
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(word) {
        rest = after;
    }
    rest.chars().count() <= 4 && !rest.chars().any(char::is_alphabetic)
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

    #[test]
    fn length_counts_and_lists_are_refused() {
        let check =
            |text: &str, factor| check_new_password(&said(text), Some("ada.lovelace@example.com"), factor);
        assert_eq!(check("a ship in a bottle", false), Ok(()));
        assert_eq!(check("längere Wörter zählen auch", false), Ok(()));
        assert_eq!(check("14 characters!", false), Err(Weak::Short(15)));
        assert_eq!(check("tr0mb0ne", true), Ok(()));
        assert_eq!(check("7 chars", true), Err(Weak::Short(8)));
        assert_eq!(check(&"long words ".repeat(90), false), Ok(()));
        assert_eq!(check(&"x".repeat(MAX_BYTES + 1), false), Err(Weak::Long));
        assert_eq!(check("Password1234", true), Err(Weak::Common));
        assert_eq!(check("passwordpassword1!", false), Err(Weak::Common));
        assert_eq!(check("ada.lovelace@example.com1", false), Err(Weak::OwnName));
        assert_eq!(check("gatehouse2026!", true), Err(Weak::OwnName));
        assert_eq!(check("aaaaaaaaaaaaaaaaaaaa", false), Err(Weak::Monotone));
        assert_eq!(check("abcdefghijklmnopqrst", false), Err(Weak::Monotone));
    }
}
