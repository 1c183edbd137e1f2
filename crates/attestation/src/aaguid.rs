//! The identifier of an authenticator model (WebAuthn Level 3, section 6.5.1).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The identifier of an authenticator model: 128 bits, written as a UUID (RFC 4122, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aaguid(pub [u8; 16]);

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Aaguid {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .format(Some(utoipa::openapi::SchemaFormat::Custom("uuid".into())))
            .description(Some("An authenticator model (AAGUID): a UUID."))
            .pattern(Some("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Aaguid {
    fn name() -> std::borrow::Cow<'static, str> {
        "AuthenticatorMake".into()
    }
}

/// The text is not a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a UUID such as 73bb0cd4-e502-49b8-9c6f-b59445bf720b")]
pub struct ParseAaguidError;

/// Where the groups of hexadecimal digits after the first begin, in bytes.
const GROUPS: [usize; 4] = [4, 6, 8, 10];

impl FromStr for Aaguid {
    type Err = ParseAaguidError;

    /// Parses groups of 8, 4, 4, 4 and 12 hexadecimal digits in either case. Accepts no other form.
    fn from_str(text: &str) -> Result<Self, ParseAaguidError> {
        let mut bytes = [0; 16];
        let mut digits = text.bytes();
        for (place, byte) in bytes.iter_mut().enumerate() {
            if GROUPS.contains(&place) && digits.next() != Some(b'-') {
                return Err(ParseAaguidError);
            }
            let mut digit = || digits.next().and_then(|digit| char::from(digit).to_digit(16));
            let (Some(high), Some(low)) = (digit(), digit()) else { return Err(ParseAaguidError) };
            *byte = u8::try_from(high * 16 + low).map_err(|_| ParseAaguidError)?;
        }
        if digits.next().is_none() { Ok(Self(bytes)) } else { Err(ParseAaguidError) }
    }
}

impl fmt::Display for Aaguid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if GROUPS.contains(&place) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl Serialize for Aaguid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Aaguid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
