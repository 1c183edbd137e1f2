//! Estimates the work of evaluating a filter on one resource.

use super::{Filter, Operand, Operator};
use crate::schema::AttrPath;

/// The attributes whose values stores index.
const INDEXED: [&str; 3] = ["emails", "groups", "members"];

impl Filter {
    /// Returns the number of comparisons with each value of a multi-valued attribute.
    pub(super) fn value_terms(&self) -> usize {
        self.value_terms_of(false)
    }

    fn value_terms_of(&self, negated: bool) -> usize {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().map(|filter| filter.value_terms_of(negated)).sum(),
            Self::Not(filter) => filter.value_terms_of(!negated),
            Self::Any { path, filter } if path.attribute.multi_valued => filter.terms(),
            Self::Any { .. } => 0,
            Self::Compare { path, operator, operand: Operand::Text(_) }
                if is_indexed(path) && *operator == if negated { Operator::Ne } else { Operator::Eq } =>
            {
                0
            }
            Self::Compare { path, .. } => usize::from(path.attribute.multi_valued),
            // `emails pr` tests the resource once; `emails.type pr` tests each value.
            Self::Present(path) => usize::from(path.attribute.multi_valued && path.sub.is_some()),
        }
    }
}

fn is_indexed(path: &AttrPath) -> bool {
    INDEXED.contains(&path.attribute.name) && path.leaf().name == "value"
}
