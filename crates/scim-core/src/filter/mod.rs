//! Filters (RFC 7644 §3.4.2.2): parsed against the attributes of a resource type, evaluated on JSON, printed, or
//! translated by a store into a query of its own.
//!
//! The RFC leaves these points open; memory and storage both follow this definition:
//!
//! - A comparison with an absent value is false, except `ne`, which is the negation of `eq`.
//!   `eq null` is `not pr`, `ne null` is `pr`.
//! - A comparison with a multi-valued attribute matches if it matches one value (`ne`: if `eq` matches
//!   none). A bare `emails` means `emails.value`.
//! - `emails[type eq "work"].value eq "x"` is `emails[type eq "work" and value eq "x"]`.
//! - Text is compared by code point, after simple case folding unless the attribute is case-exact. Times are
//!   compared in milliseconds, the precision in which they are printed.

mod lexer;
mod matches;
mod parser;
mod print;
mod work;

use kernel::Timestamp;

use crate::schema::AttrPath;

pub(crate) use lexer::{Lexer, Token};
pub(crate) use parser::Parser;

/// Maximum length of a filter, in bytes.
pub const MAX_FILTER: usize = 64 * 1024;
/// Maximum nesting of parentheses, brackets and `not`.
pub const MAX_DEPTH: usize = 64;
/// Maximum number of comparisons.
pub const MAX_TERMS: usize = 64;
/// Maximum number of comparisons with each value of a multi-valued attribute. A user has up to 100 values per
/// attribute, so this bounds the work per user. A bare `eq` with `value` does not count, because an index answers it.
pub const MAX_VALUE_TERMS: usize = 16;

/// A filter whose paths are known attributes and whose operands fit them.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All of the filters. An empty list always matches; see [`Filter::parse_among`].
    And(Vec<Filter>),
    /// At least one of the filters. An empty list never matches.
    Or(Vec<Filter>),
    /// Negation: `not (…)`.
    Not(Box<Filter>),
    /// The attribute has a value.
    Present(AttrPath),
    /// The attribute compares with a value.
    Compare {
        /// The attribute to compare.
        path: AttrPath,
        /// Comparison operator.
        operator: Operator,
        /// Value to compare with.
        operand: Operand,
    },
    /// At least one value of a complex attribute matches a filter over its sub-attributes.
    Any {
        /// The complex attribute.
        path: AttrPath,
        /// The filter over the sub-attributes of one value.
        filter: Box<Filter>,
    },
}

impl Filter {
    /// Returns whether the filter refers to the attribute with this name, or to one of its sub-attributes.
    pub fn uses(&self, attribute: &str) -> bool {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().any(|filter| filter.uses(attribute)),
            Self::Not(filter) => filter.uses(attribute),
            Self::Present(path) | Self::Compare { path, .. } | Self::Any { path, .. } => {
                path.attribute.name == attribute
            }
        }
    }
}

/// A comparison operator.
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
    /// Every operator.
    pub const ALL: [Self; 9] =
        [Self::Eq, Self::Ne, Self::Co, Self::Sw, Self::Ew, Self::Gt, Self::Ge, Self::Lt, Self::Le];

    /// Returns the operator's name in filters.
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

/// The value that an attribute is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A string or a reference.
    Text(TextOperand),
    /// `true` or `false`.
    Bool(bool),
    /// A point in time.
    Time(Timestamp),
}

/// A text operand and its comparison key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOperand {
    /// The text as given.
    pub written: String,
    /// The case-folded text, or the text itself if the attribute is case-exact.
    pub key: String,
}
