//! Evaluates filters on JSON.

use std::cmp::Ordering;

use kernel::Timestamp;
use serde_json::Value;

use super::{Filter, Operand, Operator};
use crate::{fold, schema::AttrPath};

impl Filter {
    /// Returns whether the filter matches a resource as returned to clients, or one value of a complex attribute.
    /// Members must have their canonical names.
    pub fn matches(&self, resource: &Value) -> bool {
        match self {
            Self::And(all) => all.iter().all(|filter| filter.matches(resource)),
            Self::Or(all) => all.iter().any(|filter| filter.matches(resource)),
            Self::Not(filter) => !filter.matches(resource),
            Self::Present(path) => values(resource, path).into_iter().any(is_present),
            Self::Compare { path, operator: Operator::Ne, operand } => {
                !values(resource, path).into_iter().any(|value| compare(path, value, Operator::Eq, operand))
            }
            Self::Compare { path, operator, operand } => {
                values(resource, path).into_iter().any(|value| compare(path, value, *operator, operand))
            }
            Self::Any { path, filter } => {
                values(resource, path).into_iter().any(|value| is_present(value) && filter.matches(value))
            }
        }
    }
}

/// Returns the values at a path: any number for a multi-valued attribute, at most one otherwise.
fn values<'v>(resource: &'v Value, path: &AttrPath) -> Vec<&'v Value> {
    let holder = match path.extension {
        Some(urn) => resource.get(urn),
        None => Some(resource),
    };
    let found = holder.and_then(|holder| holder.get(path.attribute.name));
    let whole: Vec<_> = match found {
        Some(Value::Array(values)) => values.iter().collect(),
        Some(value) => vec![value],
        None => Vec::new(),
    };
    match path.sub {
        Some(sub) => whole.into_iter().filter_map(|value| value.get(sub.name)).collect(),
        None => whole,
    }
}

fn is_present(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}

fn compare(path: &AttrPath, value: &Value, operator: Operator, operand: &Operand) -> bool {
    match (value, operand) {
        (Value::String(text), Operand::Text(operand)) => {
            let key = if path.leaf().case_exact { text.clone() } else { fold(text) };
            text_holds(&key, operator, &operand.key)
        }
        (Value::Bool(value), Operand::Bool(operand)) => operator == Operator::Eq && value == operand,
        (Value::String(text), Operand::Time(operand)) => {
            text.parse::<Timestamp>().is_ok_and(|time| ordered(time.cmp(operand), operator))
        }
        _ => false,
    }
}

fn text_holds(key: &str, operator: Operator, operand: &str) -> bool {
    match operator {
        Operator::Co => key.contains(operand),
        Operator::Sw => key.starts_with(operand),
        Operator::Ew => key.ends_with(operand),
        _ => ordered(key.cmp(operand), operator),
    }
}

fn ordered(ordering: Ordering, operator: Operator) -> bool {
    match operator {
        Operator::Eq => ordering.is_eq(),
        Operator::Ne => ordering.is_ne(),
        Operator::Gt => ordering.is_gt(),
        Operator::Ge => ordering.is_ge(),
        Operator::Lt => ordering.is_lt(),
        Operator::Le => ordering.is_le(),
        Operator::Co | Operator::Sw | Operator::Ew => false,
    }
}
