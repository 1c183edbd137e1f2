//! Filters (RFC 7644 §3.4.2.2): read against the attributes of a kind of resource, evaluated on a
//! resource's JSON, printed, or walked by a storage that makes its own query of them.
//!
//! What the RFC leaves open is decided here, for memory and storage alike:
//!
//! - A path without a value compares as absent: every comparison with it is false but `ne`, which is the
//!   negation of `eq`. `eq null` is `not pr`, `ne null` is `pr`.
//! - A comparison with a multi-valued attribute holds when it holds for one value (`ne`: when `eq` holds for
//!   none). `emails` alone means `emails.value`.
//! - `emails[type eq "work"].value eq "x"` is `emails[type eq "work" and value eq "x"]`.
//! - Text is compared by code point, after simple case folding unless the attribute is case-exact; times are
//!   compared in milliseconds, as they are printed.

mod lexer;
mod matches;
mod parser;
mod print;
mod work;

use kernel::Timestamp;

use crate::schema::AttrPath;

pub(crate) use lexer::{Lexer, Token};
pub(crate) use parser::Parser;

/// Bytes of a filter at most.
pub const MAX_FILTER: usize = 64 * 1024;
/// Levels of parentheses, brackets and `not` at most.
pub const MAX_DEPTH: usize = 64;
/// Comparisons at most.
pub const MAX_TERMS: usize = 64;
/// Comparisons at most that are made with each value of a multi-valued attribute. A user has up to 100 values of each
/// of them, so this bounds the work for one user. `eq` with `value` alone is not among them: an index answers it.
pub const MAX_VALUE_TERMS: usize = 16;

/// A filter whose paths are known attributes and whose values fit them.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of two or more. All of none holds always: see [`Filter::parse_among`].
    And(Vec<Filter>),
    /// One of two or more. One of none holds never.
    Or(Vec<Filter>),
    /// Negation: `not (…)`.
    Not(Box<Filter>),
    /// The attribute has a value.
    Present(AttrPath),
    /// The attribute compares with a value.
    Compare {
        /// What is compared.
        path: AttrPath,
        /// Comparison operator.
        operator: Operator,
        /// Value to compare with.
        operand: Operand,
    },
    /// One value of a complex attribute for which a filter over its parts holds.
    Any {
        /// Attribute to compare.
        path: AttrPath,
        /// Over the parts of one value.
        filter: Box<Filter>,
    },
}

/// How an attribute is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal, or absent.
    Ne,
    /// Contains.
    Co,
    /// Starts with.
    Sw,
    /// Ends with.
    Ew,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 9] =
        [Self::Eq, Self::Ne, Self::Co, Self::Sw, Self::Ew, Self::Gt, Self::Ge, Self::Lt, Self::Le];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Co => "co",
            Self::Sw => "sw",
            Self::Ew => "ew",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Lt => "lt",
            Self::Le => "le",
        }
    }
}

/// What an attribute is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A string or a reference.
    Text(TextOperand),
    /// `true` or `false`.
    Bool(bool),
    /// A point in time.
    Time(Timestamp),
}

/// A text, and what it is compared by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOperand {
    /// As it was given.
    pub written: String,
    /// Folded, unless the attribute is case-exact.
    pub key: String,
}
