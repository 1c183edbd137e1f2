//! Recursive-descent parser for the grammar of RFC 7644 §3.4.2.2; `not` binds tighter than `and`, `and` tighter than
//! `or`. Nesting is checked against [`MAX_DEPTH`] and comparisons against [`MAX_TERMS`] before anything is stored, so
//! input cannot exhaust stack or memory.

use kernel::Timestamp;

use super::{Filter, Lexer, MAX_DEPTH, MAX_TERMS, MAX_VALUE_TERMS, Operand, Operator, TextOperand, Token};
use crate::{
    Error, fold,
    schema::{AttrPath, Attribute, ResourceType, Type},
};

/// The attribute names in scope: those of a resource, or the sub-attributes of one value.
#[derive(Clone, Copy)]
enum Names<'k> {
    /// The names of this resource type; names of the other types are known but absent.
    Resource(&'static ResourceType, &'k [&'static ResourceType]),
    Parts(AttrPath),
}

/// The lookahead token, if it has been read.
enum Peeked<'a> {
    Nothing,
    Token(Token<'a>),
    End,
}

pub(crate) struct Parser<'a> {
    lexer: Lexer<'a>,
    peeked: Peeked<'a>,
    terms: usize,
}

impl Filter {
    /// Parses a filter over resources of this kind. Names and operators are case-insensitive.
    pub fn parse(kind: &'static ResourceType, text: &str) -> Result<Self, Error> {
        Self::parse_among(kind, &[], text)
    }

    /// Parses a filter over several resource types for use on one of them. An attribute that only the other types
    /// have is absent (RFC 7644 §3.4.2.1).
    pub fn parse_among(
        kind: &'static ResourceType,
        kinds: &[&'static ResourceType],
        text: &str,
    ) -> Result<Self, Error> {
        let mut parser = Parser::new(text)?;
        let filter = parser.alternatives(Names::Resource(kind, kinds), 0)?;
        match parser.next()? {
            // The filter must stay within the limit when its shorthands are expanded.
            None if filter.depth() > MAX_DEPTH => Err(parser.too_deep()),
            None if filter.value_terms() > MAX_VALUE_TERMS => Err(Error::InvalidFilter(format!(
                "filter: it has more than {MAX_VALUE_TERMS} comparisons with values of multi-valued attributes; \
                 comparisons of only the value with eq, as in emails.value eq \"ada@example.com\", do not count"
            ))),
            None => Ok(filter),
            Some(token) => Err(parser.refuse(&format!("unexpected {}", token_text(&token)))),
        }
    }
}

impl Filter {
    /// Returns the constant result of a comparison whose attribute is absent: always or never.
    fn of_absent(&self) -> Self {
        match self {
            Self::Not(_) | Self::Compare { operator: Operator::Ne, .. } => Self::And(Vec::new()),
            _ => Self::Or(Vec::new()),
        }
    }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self, Error> {
        Ok(Self { lexer: Lexer::new(text)?, peeked: Peeked::Nothing, terms: 0 })
    }

    /// Parses the filter in `path[…]` after the opening bracket, including the closing one.
    pub(crate) fn bracket(&mut self, path: AttrPath) -> Result<Filter, Error> {
        self.inside_brackets(path, 0)
    }

    pub(crate) fn next(&mut self) -> Result<Option<Token<'a>>, Error> {
        match std::mem::replace(&mut self.peeked, Peeked::Nothing) {
            Peeked::Token(token) => Ok(Some(token)),
            Peeked::End => Ok(None),
            Peeked::Nothing => self.lexer.next(),
        }
    }

    /// Returns whether this symbol follows immediately, without a space.
    pub(crate) fn adjoins(&self, symbol: char) -> bool {
        matches!(self.peeked, Peeked::Nothing) && self.lexer.starts_with(symbol)
    }

    pub(crate) fn refuse(&self, what: &str) -> Error {
        Error::InvalidFilter(format!("filter: {what}, before position {}", self.lexer.position()))
    }

    fn peek(&mut self) -> Result<Option<&Token<'a>>, Error> {
        if matches!(self.peeked, Peeked::Nothing) {
            self.peeked = self.lexer.next()?.map_or(Peeked::End, Peeked::Token);
        }
        Ok(match &self.peeked {
            Peeked::Token(token) => Some(token),
            Peeked::Nothing | Peeked::End => None,
        })
    }

    fn alternatives(&mut self, names: Names<'_>, depth: usize) -> Result<Filter, Error> {
        let first = self.conjunction(names, depth)?;
        let mut all = vec![first];
        while self.takes("or")? {
            all.push(self.conjunction(names, depth)?);
        }
        Ok(if all.len() > 1 { Filter::Or(all) } else { all.remove(0) })
    }

    fn conjunction(&mut self, names: Names<'_>, depth: usize) -> Result<Filter, Error> {
        let mut all = vec![self.term(names, depth)?];
        while self.takes("and")? {
            all.push(self.term(names, depth)?);
        }
        Ok(if all.len() > 1 { Filter::And(all) } else { all.remove(0) })
    }

    fn takes(&mut self, word: &str) -> Result<bool, Error> {
        let there = matches!(self.peek()?, Some(Token::Word(given)) if given.eq_ignore_ascii_case(word));
        if there {
            self.next()?;
        }
        Ok(there)
    }

    fn deeper(&self, depth: usize) -> Result<usize, Error> {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(self.too_deep()) }
    }

    fn too_deep(&self) -> Error {
        self.refuse(&format!("it is nested deeper than {MAX_DEPTH} levels"))
    }

    fn term(&mut self, names: Names<'_>, depth: usize) -> Result<Filter, Error> {
        match self.next()? {
            Some(Token::Open) => {
                let filter = self.alternatives(names, self.deeper(depth)?)?;
                self.closes(&Token::Close, ")")?;
                Ok(filter)
            }
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("not") => {
                self.closes(&Token::Open, "( after not")?;
                let filter = self.alternatives(names, self.deeper(depth)?)?;
                self.closes(&Token::Close, ")")?;
                Ok(Filter::Not(Box::new(filter)))
            }
            Some(Token::Word(name)) => self.comparison(names, name, depth),
            Some(token) => Err(self.refuse(&format!("expected an attribute, found {}", token_text(&token)))),
            None => Err(self.refuse("expected an attribute, but the text ends")),
        }
    }

    fn closes(&mut self, expected: &Token<'_>, name: &str) -> Result<(), Error> {
        match self.next()? {
            Some(token) if token == *expected => Ok(()),
            Some(token) => Err(self.refuse(&format!("expected {name}, found {}", token_text(&token)))),
            None => Err(self.refuse(&format!("expected {name}, but the text ends"))),
        }
    }

    fn comparison(&mut self, names: Names<'_>, name: &str, depth: usize) -> Result<Filter, Error> {
        let other = match names {
            Names::Resource(kind, kinds) if kind.resolve(name).is_none() => {
                kinds.iter().find(|other| other.resolve(name).is_some())
            }
            _ => None,
        };
        if let Some(other) = other {
            let understood = self.comparison(Names::Resource(other, &[]), name, depth)?;
            return Ok(understood.of_absent());
        }
        let path = self.path(names, name)?;
        if matches!(self.peek()?, Some(Token::OpenBracket)) {
            return self.value_path(names, path, depth);
        }
        self.compare(path)
    }

    fn path(&self, names: Names<'_>, name: &str) -> Result<AttrPath, Error> {
        let path = match names {
            Names::Resource(kind, _) => kind.resolve(name),
            Names::Parts(of) => Attribute::find(of.attribute.sub_attributes, name).map(AttrPath::part),
        };
        let path = path.filter(AttrPath::is_comparable);
        path.ok_or_else(|| self.refuse(&format!("unknown attribute {name:.80}")))
    }

    /// Parses `path[…]` and an optional `.part operator value` after it.
    fn value_path(&mut self, names: Names<'_>, path: AttrPath, depth: usize) -> Result<Filter, Error> {
        if path.sub.is_some() || path.attribute.kind != Type::Complex || matches!(names, Names::Parts(_)) {
            return Err(self.refuse(&format!("{path} has no sub-attributes to filter by")));
        }
        self.next()?;
        let filter = self.inside_brackets(path, self.deeper(depth)?)?;
        if !self.adjoins('.') {
            return Ok(Filter::Any { path, filter: Box::new(filter) });
        }
        // `emails[type eq "work"].value eq "x"` is not in the RFC's grammar, but clients send it.
        let Some(Token::Word(name)) = self.next()? else {
            return Err(self.refuse("expected the name of a sub-attribute"));
        };
        let part = self.path(Names::Parts(path), name.strip_prefix('.').unwrap_or(name))?;
        let also = self.compare(part)?;
        let any = |also| Filter::Any { path, filter: Box::new(Filter::And(vec![filter, also])) };
        match also {
            Filter::Compare { path, operator: Operator::Ne, operand } => {
                let equal = Filter::Compare { path, operator: Operator::Eq, operand };
                Ok(Filter::Not(Box::new(any(equal))))
            }
            Filter::Not(present) => Ok(Filter::Not(Box::new(any(*present)))),
            other => Ok(any(other)),
        }
    }

    fn inside_brackets(&mut self, path: AttrPath, depth: usize) -> Result<Filter, Error> {
        let filter = self.alternatives(Names::Parts(path), depth)?;
        self.closes(&Token::CloseBracket, "]")?;
        Ok(filter)
    }

    /// Parses the operator and the value after a path.
    fn compare(&mut self, path: AttrPath) -> Result<Filter, Error> {
        self.terms += 1;
        if self.terms > MAX_TERMS {
            return Err(self.refuse(&format!("it has more than {MAX_TERMS} comparisons")));
        }
        let Some(Token::Word(word)) = self.next()? else {
            return Err(self.refuse(&format!("expected an operator after {path}")));
        };
        if word.eq_ignore_ascii_case("pr") {
            return Ok(Filter::Present(path));
        }
        let found = Operator::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(word));
        let Some(operator) = found else {
            return Err(self.refuse(&format!("unknown operator {word:.20}")));
        };
        let value = self.next()?;
        if matches!(value, Some(Token::Word("null"))) {
            return match operator {
                Operator::Eq => Ok(Filter::Not(Box::new(Filter::Present(path)))),
                Operator::Ne => Ok(Filter::Present(path)),
                _ => Err(self.refuse(&format!("null cannot be compared with {word}; use eq or ne"))),
            };
        }
        let path = self.comparable(path)?;
        let operand = self.operand(path.leaf(), operator, value)?;
        Ok(Filter::Compare { path, operator, operand })
    }

    /// Resolves a complex attribute to its `value`: `emails` means `emails.value`.
    fn comparable(&self, path: AttrPath) -> Result<AttrPath, Error> {
        let leaf = path.leaf();
        if leaf.kind != Type::Complex {
            return Ok(path);
        }
        match Attribute::find(leaf.sub_attributes, "value") {
            Some(value) => Ok(AttrPath { sub: Some(value), ..path }),
            None => Err(self.refuse(&format!(
                "{path} has sub-attributes; name one, such as {path}.{}",
                leaf.sub_attributes.first().map_or("value", |sub| sub.name)
            ))),
        }
    }

    fn operand(
        &self,
        attribute: &Attribute,
        operator: Operator,
        value: Option<Token<'_>>,
    ) -> Result<Operand, Error> {
        use Operator::{Co, Eq, Ew, Ne, Sw};
        let name = attribute.name;
        match (attribute.kind, value) {
            (Type::String | Type::Reference, Some(Token::Text(written))) => {
                let key = if attribute.case_exact { written.clone() } else { fold(&written) };
                Ok(Operand::Text(TextOperand { written, key }))
            }
            (Type::Boolean, Some(Token::Word(word))) if matches!(operator, Eq | Ne) => {
                self.boolean(name, word)
            }
            // Entra writes "True".
            (Type::Boolean, Some(Token::Text(text))) if matches!(operator, Eq | Ne) => {
                self.boolean(name, &text)
            }
            (Type::DateTime, Some(Token::Text(text))) if !matches!(operator, Co | Sw | Ew) => {
                match text.parse::<Timestamp>() {
                    // The time zone may move the year out of the four-digit range.
                    Ok(time) if time.to_string().len() == "2026-01-31T09:30:00.000Z".len() => {
                        Ok(Operand::Time(time))
                    }
                    _ => {
                        Err(self
                            .refuse(&format!("compare {name} with a time such as \"2026-01-31T09:30:00Z\"")))
                    }
                }
            }
            (Type::Boolean | Type::DateTime, Some(_)) => {
                Err(self
                    .refuse(&format!("{name} cannot be compared with this value by {}", operator.as_str())))
            }
            (_, Some(_)) => Err(self.refuse(&format!("compare {name} with a string in quotes"))),
            (_, None) => Err(self.refuse("expected a value, but the text ends")),
        }
    }

    fn boolean(&self, name: &str, word: &str) -> Result<Operand, Error> {
        match word {
            _ if word.eq_ignore_ascii_case("true") => Ok(Operand::Bool(true)),
            _ if word.eq_ignore_ascii_case("false") => Ok(Operand::Bool(false)),
            _ => Err(self.refuse(&format!("compare {name} with true or false"))),
        }
    }
}

fn token_text(token: &Token<'_>) -> String {
    match token {
        Token::Open => "(".into(),
        Token::Close => ")".into(),
        Token::OpenBracket => "[".into(),
        Token::CloseBracket => "]".into(),
        Token::Word(word) => format!("{word:.40}"),
        Token::Text(_) => "a string".into(),
    }
}
