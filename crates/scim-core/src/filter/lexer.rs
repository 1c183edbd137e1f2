//! Splits filter and path text into tokens, one at a time.

use super::MAX_FILTER;
use crate::Error;

/// A token of a filter or a path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'a> {
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    /// A name, an operator, a number, `true`, `false` or `null`.
    Word(&'a str),
    /// A string, unquoted and unescaped.
    Text(String),
}

/// Reads tokens from a text of at most [`MAX_FILTER`] bytes.
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    length: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self, Error> {
        if text.len() > MAX_FILTER {
            return Err(Error::InvalidFilter(format!("filter: is longer than {MAX_FILTER} bytes")));
        }
        Ok(Self { rest: text, length: text.len() })
    }

    /// Returns the byte offset of the next token.
    pub(crate) fn position(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Returns whether this symbol follows immediately, without a space.
    pub(crate) fn starts_with(&self, symbol: char) -> bool {
        self.rest.starts_with(symbol)
    }

    pub(crate) fn next(&mut self) -> Result<Option<Token<'a>>, Error> {
        self.rest = self.rest.trim_start_matches(is_space);
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let symbol = match first {
            '(' => Token::Open,
            ')' => Token::Close,
            '[' => Token::OpenBracket,
            ']' => Token::CloseBracket,
            '"' => return self.text().map(Some),
            _ => return Ok(Some(self.word())),
        };
        self.rest = self.rest.get(1..).unwrap_or_default();
        Ok(Some(symbol))
    }

    fn word(&mut self) -> Token<'a> {
        let end = self.rest.find(|c: char| is_space(c) || "()[]\"".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Word(word)
    }

    /// Reads a JSON string (RFC 8259 §7).
    fn text(&mut self) -> Result<Token<'a>, Error> {
        let position = self.position();
        let mut escaped = false;
        let end = self.rest.bytes().enumerate().skip(1).find(|(_, byte)| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        let Some((literal, rest)) = end.and_then(|(end, _)| self.rest.split_at_checked(end + 1)) else {
            return Err(Error::InvalidFilter(format!(
                "filter: the string at position {position} is not closed"
            )));
        };
        self.rest = rest;
        match serde_json::from_str::<String>(literal) {
            Ok(text) if text.contains('\0') => Err(Error::InvalidFilter(format!(
                "filter: the string at position {position} contains U+0000"
            ))),
            Ok(text) => Ok(Token::Text(text)),
            Err(_) => Err(Error::InvalidFilter(format!(
                "filter: the string at position {position} is not a valid JSON string"
            ))),
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}
