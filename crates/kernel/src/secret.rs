//! Values that must not be printed.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// A secret: no `Debug`, no `Display`, wiped when dropped, compared in constant time.
///
/// ```compile_fail
/// println!("{:?}", kernel::Secret::new(String::from("hunter2")));
/// ```
#[derive(Clone)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Takes a value into custody.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself: the word to look for in a review.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize + AsRef<[u8]>> Secret<T> {
    /// Whether `other` is the same, in time that depends on the length alone.
    pub fn matches(&self, other: &[u8]) -> bool {
        constant_time_eq(self.0.as_ref(), other)
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Compares two byte strings in time that depends on their length alone.
pub fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_whole_values() {
        let secret = Secret::new(String::from("abc"));
        assert!(secret.matches(b"abc"));
        assert!(!secret.matches(b"abd"));
        assert!(!secret.matches(b"ab"));
    }
}
