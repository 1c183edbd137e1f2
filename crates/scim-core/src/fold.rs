//! Comparison without regard to case.

/// Unicode simple case folding (CaseFolding.txt, status C and S): what `userName` and every attribute
/// that is not case-exact are compared by.
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
