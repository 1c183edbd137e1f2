//! Decodes the form field: base64 of UTF-8 within a size limit.

use data_encoding::{BASE64, DecodeError, DecodeKind};

use crate::refusal::{Reason, Refusal};

/// Maximum length of the field in characters: the largest that fits into a request body.
pub(crate) const MAX_FIELD: usize = 1024 * 1024;

/// Returns the XML in the form field `name`. Line breaks are allowed (RFC 2045); other non-base64 characters are not.
pub(crate) fn decode(name: &str, field: &str) -> Result<String, Refusal> {
    if field.is_empty() {
        return Err(Refusal::new(Reason::Missing, format!("the form has no {name}")));
    }
    if field.len() > MAX_FIELD {
        return Err(Refusal::new(
            Reason::TooLarge,
            format!("{name} has {} characters; the maximum is {MAX_FIELD}", field.len()),
        ));
    }
    let packed: String = field.lines().collect();
    let bytes = base64(&packed)
        .map_err(|error| Refusal::new(Reason::NotBase64, format!("{name} is not base64: {error}")))?;
    text(name, bytes)
}

/// Returns the bytes of a message as text.
pub(crate) fn text(name: &str, bytes: Vec<u8>) -> Result<String, Refusal> {
    match String::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => {
            Err(Refusal::new(Reason::NotUtf8, format!("{name} contains a NUL character")))
        }
        Ok(text) => Ok(text),
        Err(error) => Err(Refusal::new(Reason::NotUtf8, error.to_string())),
    }
}

/// Decodes one base64 text. The decoder itself would accept several concatenated texts, each with padding.
pub(crate) fn base64(text: &str) -> Result<Vec<u8>, DecodeError> {
    let body = text.find('=').unwrap_or(text.len());
    if text.len() - body > 2 {
        return Err(DecodeError { position: body, kind: DecodeKind::Padding });
    }
    BASE64.decode(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_must_be_base64_of_utf8_within_the_size_limit() {
        let reason = |field: &str| decode("SAMLResponse", field).err().map(|refusal| refusal.reason);
        assert_eq!(decode("SAMLResponse", "PGEv\r\nPg==").unwrap(), "<a/>");
        assert_eq!(reason(""), Some(Reason::Missing));
        assert_eq!(reason(&"A".repeat(MAX_FIELD + 1)), Some(Reason::TooLarge));
        for odd in ["PGEvPg", "PGEvPg=", "PGEv Pg==", "PGEv_g==", "PGEvPh==", "PGEvPg==PGEvPg==", "%3C"] {
            assert_eq!(reason(odd), Some(Reason::NotBase64), "{odd}");
        }
        assert_eq!(reason(&BASE64.encode(b"\xff\xfe<a/>")), Some(Reason::NotUtf8));
        assert_eq!(reason(&BASE64.encode(b"<a>\0</a>")), Some(Reason::NotUtf8));
    }
}
