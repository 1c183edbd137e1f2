//! The target of an operation (RFC 7644 §3.5.2): `attribute`, `attribute.part`, `attribute[filter]`,
//! `attribute[filter].part`, or a whole extension by its URN.

use std::fmt;

use crate::{
    Error,
    filter::{Filter, Parser, Token},
    schema::{AttrPath, Attribute, ResourceType, Schema, Type},
};

/// The target of an operation; its `Display` form parses to the same target.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// All attributes of an extension.
    Extension(&'static Schema),
    /// An attribute or a sub-attribute.
    Attribute {
        /// Path of the attribute.
        path: AttrPath,
        /// For a multi-valued attribute: selects the values.
        filter: Option<Filter>,
    },
}

impl Target {
    /// Parses a path; `None` if it is well-formed but names an unknown attribute.
    pub fn parse(kind: &'static ResourceType, text: &str) -> Result<Option<Self>, Error> {
        let malformed = |what: &str| Error::InvalidPath(format!("path: {what} in {text:.80}"));
        let unreadable = |error: Error| Error::InvalidPath(format!("path: {error}"));
        let mut parser = Parser::new(text).map_err(unreadable)?;
        let Some(Token::Word(name)) = parser.next().map_err(unreadable)? else {
            return Err(malformed("expected an attribute at the start"));
        };
        if !is_name(name) {
            return Err(malformed("a name consists of letters, digits, -, _ and dots"));
        }
        let extension = kind.extension(name).map(Self::Extension);
        let path = kind.resolve(name);
        if !parser.adjoins('[') {
            return match parser.next()? {
                None => Ok(extension.or_else(|| path.map(|path| Self::Attribute { path, filter: None }))),
                Some(_) => Err(malformed("unexpected text after the attribute")),
            };
        }
        let Some(path) = path else {
            // The filter of an unknown attribute cannot be parsed; only check that the bracket is closed.
            return if text.trim_end().contains(']') { Ok(None) } else { Err(malformed("] is missing")) };
        };
        if path.sub.is_some() || path.attribute.kind != Type::Complex {
            return Err(malformed("only values of complex attributes can be filtered"));
        }
        parser.next()?;
        let filter = Some(parser.bracket(path)?);
        let part = if parser.adjoins('.') { parser.next()? } else { None };
        if parser.next()?.is_some() {
            return Err(malformed("only .name may follow the brackets"));
        }
        let Some(Token::Word(part)) = part else {
            return Ok(Some(Self::Attribute { path, filter }));
        };
        let part = part.strip_prefix('.').unwrap_or(part);
        if !is_name(part) {
            return Err(malformed("expected a name after the dot"));
        }
        let sub = Attribute::find(path.attribute.sub_attributes, part);
        Ok(sub.map(|sub| Self::Attribute { path: AttrPath { sub: Some(sub), ..path }, filter }))
    }
}

/// Returns whether the text has only the characters of names, URNs and `$ref`, and no empty part between dots.
fn is_name(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_$:".contains(&byte))
    };
    text.split('.').all(part)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extension(schema) => f.write_str(schema.id),
            Self::Attribute { path, filter: None } => write!(f, "{path}"),
            Self::Attribute { path, filter: Some(filter) } => {
                write!(f, "{}[{filter}]", path.whole())?;
                path.sub.map_or(Ok(()), |sub| write!(f, ".{}", sub.name))
            }
        }
    }
}
