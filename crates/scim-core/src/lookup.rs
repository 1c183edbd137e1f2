//! The look-ups that clients make before they create: one attribute `eq` one string.

use crate::{Error, User, fold, schema::USER};

/// A filter that names one user, or very few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// `userName eq "…"`, folded.
    UserName(String),
    /// `externalId eq "…"`, exact.
    ExternalId(String),
    /// `emails.value eq "…"` or `emails eq "…"`, folded.
    Email(String),
}

const SUPPORTED: &str = "supported are userName, externalId and emails.value with eq and a string, \
                         such as: userName eq \"ada@example.com\"";

impl Lookup {
    /// Reads a filter such as `userName eq "ada"`; names of attributes and operator in any case.
    pub fn parse(filter: &str) -> Result<Self, Error> {
        let refuse = |what: String| Err(Error::InvalidFilter(format!("filter: {what}; {SUPPORTED}")));
        let mut words = filter.trim().splitn(3, ' ');
        let (Some(path), Some(operator), Some(value)) = (words.next(), words.next(), words.next()) else {
            return refuse("not of the form attribute operator value".into());
        };
        if !operator.eq_ignore_ascii_case("eq") {
            return refuse(format!("the operator {operator:.20} is not understood"));
        }
        let Ok(value) = serde_json::from_str::<String>(value.trim()) else {
            return refuse("the value is not a JSON string".into());
        };
        if value.contains('\0') {
            return refuse("the value contains the character U+0000".into());
        }
        let prefix = path.get(..USER.id.len()).filter(|start| start.eq_ignore_ascii_case(USER.id));
        let name = match prefix {
            Some(prefix) => path.get(prefix.len()..).and_then(|rest| rest.strip_prefix(':')).unwrap_or(path),
            None => path,
        };
        match name.to_ascii_lowercase().as_str() {
            "username" => Ok(Self::UserName(fold(&value))),
            "externalid" => Ok(Self::ExternalId(value)),
            "emails.value" | "emails" => Ok(Self::Email(fold(&value))),
            _ => refuse(format!("the attribute {path:.80} is not understood")),
        }
    }

    /// Whether it names this user.
    pub fn matches(&self, user: &User) -> bool {
        match self {
            Self::UserName(key) => user.user_name_key() == *key,
            Self::ExternalId(id) => user.external_id.as_ref() == Some(id),
            Self::Email(key) => user.emails().any(|email| fold(email.value) == *key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_are_read_in_any_case() {
        let ada = Lookup::UserName("ada@example.com".into());
        for filter in [
            r#"userName eq "ada@example.com""#,
            r#" username EQ "ADA@example.com" "#,
            r#"urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ada@example.com""#,
            r#"userName eq "\u0061da@example.com""#,
        ] {
            assert_eq!(Lookup::parse(filter).unwrap(), ada, "{filter}");
        }
        assert_eq!(Lookup::parse(r#"externalId eq "X y""#).unwrap(), Lookup::ExternalId("X y".into()));
        assert_eq!(Lookup::parse(r#"emails.value eq "A@b""#).unwrap(), Lookup::Email("a@b".into()));
    }

    #[test]
    fn everything_else_is_refused_with_what_is_supported() {
        for filter in [
            "",
            "userName",
            "userName eq",
            "userName eq ada",
            r#"userName eq "ada"#,
            r#"userName co "ada""#,
            r#"userName eq "ada" or userName eq "bob""#,
            r#"userName eq "\ud800""#,
            r#"userName eq "a\u0000""#,
            r#"title eq "x""#,
            "active eq true",
            r#"urn:ietf:params:scim:schemas:core:2.0:Userétitle eq "x""#,
        ] {
            let error = Lookup::parse(filter).unwrap_err();
            assert!(error.to_string().contains("supported are userName"), "{filter}: {error}");
        }
    }
}
