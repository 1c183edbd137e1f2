//! The subject of a received event (RFC 9493; SSF 1.0, section 3).

use std::{collections::BTreeMap, slice};

use kernel::Email;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    members::{Reader, present},
    refusal::{Reason, Refusal},
    text::is_printable,
};

/// Maximum number of members of a complex subject, and of identifiers of `aliases`.
const MAX_IDENTIFIERS: usize = 20;
/// Maximum length of the name of a format or member, in characters.
const MAX_NAME: usize = 100;

/// Who or what an event is about: one identifier, several for the same user (`aliases`), or a combination (`complex`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ReceivedSubject {
    /// `iss_sub`: a user of an issuer.
    IssSub {
        /// The issuer.
        iss: String,
        /// The issuer's identifier of the user.
        sub: String,
    },
    /// `email`: a user by email address.
    Email(#[serde(serialize_with = "as_text")] Email),
    /// `account`: an account by `acct` URI (RFC 7565).
    Account(String),
    /// `opaque`: an identifier that both sides know.
    Opaque(String),
    /// `phone_number`: a user by telephone number, as the transmitter writes it.
    PhoneNumber(String),
    /// `did`: a decentralized identifier, as a DID URL.
    Did(String),
    /// `uri`: any URI.
    Uri(String),
    /// `jwt_id`: a JWT, such as the ID token of a sign-in.
    JwtId {
        /// The issuer of the JWT.
        iss: String,
        /// The ID of the JWT.
        jti: String,
    },
    /// `saml_assertion_id`: a SAML assertion.
    SamlAssertionId {
        /// The issuer of the assertion.
        issuer: String,
        /// The ID of the assertion.
        assertion_id: String,
    },
    /// `scim`: a resource of a SCIM API (RFC 9967).
    Scim {
        /// Path of the resource, such as `/Users/2819c223`.
        uri: String,
        /// ID of the resource at the transmitter.
        id: Option<String>,
        /// The resource's `externalId`.
        external_id: Option<String>,
    },
    /// `aliases`: several identifiers of the same user, none of which is `aliases` or `complex`.
    Aliases(Vec<Self>),
    /// `complex`: what the event is about is described by all members together, such as `user`, `device`, `session`,
    /// `application`, `tenant`, `org_unit` and `group`. None of them is `complex`.
    Complex(BTreeMap<String, Self>),
    /// Another format, by its name.
    Unknown(String),
}

/// What a subject may consist of at its place.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Form {
    /// One identifier.
    Simple,
    /// One identifier, or aliases.
    Identifier,
    /// Also a combination.
    Any,
}

impl ReceivedSubject {
    /// Returns the identifier of the user: a member of a complex subject, otherwise the subject itself, which may also be
    /// that of something else, such as the session of a revocation.
    pub fn user(&self) -> Option<&Self> {
        match self {
            Self::Complex(members) => members.get("user"),
            identifier => Some(identifier),
        }
    }

    /// Returns the identifier of the session, if the subject is complex and has one.
    pub fn session(&self) -> Option<&Self> {
        self.member("session")
    }

    /// Returns a member of a complex subject.
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Complex(members) => members.get(name),
            _ => None,
        }
    }

    /// Returns the identifiers of `aliases`, otherwise the subject itself.
    pub fn identifiers(&self) -> &[Self] {
        match self {
            Self::Aliases(identifiers) => identifiers,
            identifier => slice::from_ref(identifier),
        }
    }

    /// Returns the name of the format.
    pub fn format(&self) -> &str {
        match self {
            Self::IssSub { .. } => "iss_sub",
            Self::Email(_) => "email",
            Self::Account(_) => "account",
            Self::Opaque(_) => "opaque",
            Self::PhoneNumber(_) => "phone_number",
            Self::Did(_) => "did",
            Self::Uri(_) => "uri",
            Self::JwtId { .. } => "jwt_id",
            Self::SamlAssertionId { .. } => "saml_assertion_id",
            Self::Scim { .. } => "scim",
            Self::Aliases(_) => "aliases",
            Self::Complex(_) => "complex",
            Self::Unknown(format) => format,
        }
    }

    /// Reads the subject of a token, or the one inside its event, where transmitters before CAEP 1.0 and RISC 1.0 write it.
    pub(super) fn read(claims: &Map<String, Value>, event: &Map<String, Value>) -> Result<Self, Refusal> {
        match (present(claims, "sub_id"), present(event, "subject")) {
            (Some(subject), Some(former)) if subject != former => {
                let detail = "sub_id and the event's subject differ";
                Err(Refusal::new(Reason::SubjectsDiffer, detail))
            }
            (Some(subject), _) => Self::read_as("sub_id", subject, Form::Any),
            // In the first drafts, complex subjects had no format.
            (None, Some(Value::Object(members))) if !members.contains_key("format") => {
                Self::read_complex("subject", members)
            }
            (None, Some(subject)) => Self::read_as("subject", subject, Form::Any),
            (None, None) => Err(Refusal::new(Reason::SubjectMissing, "sub_id is missing")),
        }
    }

    fn read_as(place: &str, subject: &Value, form: Form) -> Result<Self, Refusal> {
        let Value::Object(members) = subject else {
            return Err(malformed(format!("{place} is not an object")));
        };
        let reader = Reader { members, reason: Reason::SubjectMalformed, place };
        match reader.text("format")?.as_str() {
            "complex" if form == Form::Any => Self::read_complex(place, members),
            "aliases" if form >= Form::Identifier => Self::read_aliases(place, members),
            format @ ("complex" | "aliases") => {
                Err(malformed(format!("{place} has the format {format}, which is not allowed there")))
            }
            format => Self::read_simple(&reader, format),
        }
    }

    fn read_complex(place: &str, members: &Map<String, Value>) -> Result<Self, Refusal> {
        let mut read = BTreeMap::new();
        for (name, member) in members.iter().filter(|(name, _)| *name != "format") {
            if !is_printable(name, MAX_NAME) {
                return Err(malformed(format!("{place} has a member with an unusable name")));
            }
            read.insert(name.clone(), Self::read_as(&format!("{place}.{name}"), member, Form::Identifier)?);
        }
        if read.is_empty() || read.len() > MAX_IDENTIFIERS {
            return Err(malformed(format!("{place} must have 1 to 20 members besides format")));
        }
        Ok(Self::Complex(read))
    }

    fn read_aliases(place: &str, members: &Map<String, Value>) -> Result<Self, Refusal> {
        match members.get("identifiers") {
            Some(Value::Array(found)) if (1..=MAX_IDENTIFIERS).contains(&found.len()) => {
                let place = format!("an identifier of {place}");
                let read = found.iter().map(|one| Self::read_as(&place, one, Form::Simple));
                Ok(Self::Aliases(read.collect::<Result<_, _>>()?))
            }
            _ => Err(malformed(format!("identifiers in {place} must be an array of 1 to 20 identifiers"))),
        }
    }

    fn read_simple(reader: &Reader<'_>, format: &str) -> Result<Self, Refusal> {
        let text_with = |name: &str, is_sound: fn(&str) -> bool, expected: &str| {
            let text = reader.text(name)?;
            if is_sound(&text) { Ok(text) } else { Err(reader.malformed(name, expected)) }
        };
        Ok(match format {
            "iss_sub" => Self::IssSub { iss: reader.text("iss")?, sub: reader.text("sub")? },
            "email" => {
                let address = reader.text("email")?.parse();
                Self::Email(address.map_err(|_| reader.malformed("email", "an email address"))?)
            }
            "account" => Self::Account(text_with("uri", is_account, "an acct URI")?),
            "opaque" => Self::Opaque(reader.text("id")?),
            "phone_number" => {
                Self::PhoneNumber(text_with("phone_number", is_phone_number, "an international number")?)
            }
            "did" => Self::Did(text_with("url", is_did, "a DID URL")?),
            "uri" => Self::Uri(text_with("uri", is_uri, "a URI")?),
            "jwt_id" => Self::JwtId { iss: reader.text("iss")?, jti: reader.text("jti")? },
            "saml_assertion_id" => Self::SamlAssertionId {
                issuer: reader.text("issuer")?,
                assertion_id: reader.text("assertion_id")?,
            },
            "scim" => Self::Scim {
                uri: reader.text("uri")?,
                id: reader.optional_text("id")?,
                external_id: reader.optional_text("externalId")?,
            },
            format if format.chars().count() <= MAX_NAME => Self::Unknown(format.to_owned()),
            _ => return Err(reader.malformed("format", "at most 100 characters long")),
        })
    }
}

fn as_text<S: Serializer>(email: &Email, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(email)
}

fn malformed(detail: String) -> Refusal {
    Refusal::new(Reason::SubjectMalformed, detail)
}

/// Returns whether the text begins with the scheme of a URI and has no spaces (RFC 3986, section 3).
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme && !rest.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_account(text: &str) -> bool {
    // The scheme of a URI is the same in upper and lower case.
    let account = text.split_once(':').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("acct"));
    let parts = account.and_then(|(_, account)| account.rsplit_once('@'));
    is_uri(text) && parts.is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
}

fn is_did(text: &str) -> bool {
    let parts = text.strip_prefix("did:").and_then(|rest| rest.split_once(':'));
    is_uri(text) && parts.is_some_and(|(method, id)| !method.is_empty() && !id.is_empty())
}

/// E.164, also with the separators that SSF's own example has.
fn is_phone_number(text: &str) -> bool {
    let Some(number) = text.strip_prefix('+') else { return false };
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    (1..=15).contains(&digits)
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.' | b'(' | b')'))
}
