//! Values that must not be printed.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// A secret value: without `Debug` and `Display`, zeroed when dropped, and compared in constant time.
///
/// ```compile_fail
/// println!("{:?}", kernel::Secret::new(String::from("hunter2")));
/// ```
#[derive(Clone)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value. Reviewers search for this name.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize + AsRef<[u8]>> Secret<T> {
    /// Compares two secrets in time that depends only on their length.
    pub fn matches(&self, other: &[u8]) -> bool {
        constant_time_eq(self.0.as_ref(), other)
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Compares two byte strings in time that depends only on their length.
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
