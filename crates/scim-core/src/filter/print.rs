//! Prints a filter as text that parses to the same filter.

use std::fmt;

use serde_json::Value;

use super::{Filter, Operand};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(all) => list(f, self, all, " and "),
            Self::Or(all) => list(f, self, all, " or "),
            Self::Not(filter) => write!(f, "not ({filter})"),
            Self::Present(path) => write!(f, "{path} pr"),
            Self::Compare { path, operator, operand } => write!(f, "{path} {} {operand}", operator.as_str()),
            Self::Any { path, filter } => write!(f, "{path}[{filter}]"),
        }
    }
}

impl Filter {
    /// Returns whether the filter needs parentheses inside `outer`.
    fn is_enclosed_in(&self, outer: &Self) -> bool {
        matches!((outer, self), (_, Self::Or(_)) | (Self::And(_), Self::And(_)))
    }

    /// Returns the number of comparisons in the filter.
    pub(crate) fn terms(&self) -> usize {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().map(Self::terms).sum(),
            Self::Not(filter) | Self::Any { filter, .. } => filter.terms(),
            Self::Present(_) | Self::Compare { .. } => 1,
        }
    }

    /// Returns the nesting of parentheses, brackets and `not` in the printed filter.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::And(all) | Self::Or(all) => {
                let one = |inner: &Self| inner.depth() + usize::from(inner.is_enclosed_in(self));
                all.iter().map(one).max().unwrap_or(0)
            }
            Self::Not(filter) | Self::Any { filter, .. } => filter.depth() + 1,
            Self::Present(_) | Self::Compare { .. } => 0,
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, outer: &Filter, all: &[Filter], between: &str) -> fmt::Result {
    for (number, filter) in all.iter().enumerate() {
        if number > 0 {
            f.write_str(between)?;
        }
        if filter.is_enclosed_in(outer) {
            write!(f, "({filter})")?;
        } else {
            write!(f, "{filter}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{}", Value::from(text.written.as_str())),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Time(time) => write!(f, "\"{time}\""),
        }
    }
}
