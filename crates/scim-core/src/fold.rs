//! Case-insensitive comparison.

/// Applies Unicode simple case folding (CaseFolding.txt, status C and S). `userName` and every attribute that is not
/// case-exact are compared by the result.
///
/// ```
/// assert_eq!(scim_core::fold("ÅSA@Example.com"), "åsa@example.com");
/// assert_eq!(scim_core::fold("ΜΆΪΟΣ"), scim_core::fold("μάϊος"));
/// ```
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .map(|c| unicode_case_mapping::case_folded(c).and_then(|to| char::from_u32(to.get())).unwrap_or(c))
        .collect()
}
