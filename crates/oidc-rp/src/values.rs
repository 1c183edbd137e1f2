//! Reads the values of any claim.

use serde_json::Value;

use crate::{claims::Claims, token::UserInfo};

/// Returns the values of a claim: a string, or the strings of an array; empty if there is no such claim. As for
/// [`read_email`](crate::read_email), a claim from the UserInfo endpoint takes precedence over one in the ID token.
pub fn claim_values(claims: &Claims, user_info: Option<&UserInfo>, name: &str) -> Vec<String> {
    let found = user_info.and_then(|found| found.0.get(name)).or_else(|| claims.all.get(name));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match found {
        Some(Value::Array(values)) => values.iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    }
}
