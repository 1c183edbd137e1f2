//! Reads members of claims, subjects and events by their types.

use kernel::Timestamp;
use serde_json::{Map, Value};

use super::{
    refusal::{Reason, Refusal},
    text::is_printable,
};

/// Maximum length of identifiers and names, in characters.
pub(super) const MAX_TEXT: usize = 1024;
/// The largest number of seconds that a date may have: the year 9999.
const MAX_SECONDS: f64 = 253_402_300_799.0;

/// Returns a member; `null` is the same as a missing member.
pub(super) fn present<'m>(members: &'m Map<String, Value>, name: &str) -> Option<&'m Value> {
    members.get(name).filter(|value| !value.is_null())
}

/// Returns a claim that every token has.
pub(super) fn required<'m>(members: &'m Map<String, Value>, name: &str) -> Result<&'m Value, Refusal> {
    let missing = || Refusal::new(Reason::ClaimMissing, format!("{name} is missing"));
    present(members, name).ok_or_else(missing)
}

/// Members that are refused with the same reason.
#[derive(Clone, Copy)]
pub(super) struct Reader<'m> {
    pub(super) members: &'m Map<String, Value>,
    pub(super) reason: Reason,
    /// What the members belong to, for details.
    pub(super) place: &'m str,
}

impl Reader<'_> {
    /// Refuses a member.
    pub(super) fn malformed(&self, name: &str, expected: &str) -> Refusal {
        Refusal::new(self.reason, format!("{name} in {} must be {expected}", self.place))
    }

    /// Returns a string of at most 1,024 printable characters.
    pub(super) fn text(&self, name: &str) -> Result<String, Refusal> {
        let missing = || Refusal::new(self.reason, format!("{name} is missing in {}", self.place));
        self.optional_text(name)?.ok_or_else(missing)
    }

    /// Returns a string of at most 1,024 printable characters, if the member is present.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, Refusal> {
        match present(self.members, name) {
            None => Ok(None),
            Some(Value::String(text)) if is_printable(text, MAX_TEXT) => Ok(Some(text.clone())),
            Some(_) => Err(self.malformed(name, "a string of 1 to 1,024 printable characters")),
        }
    }
}

/// Reads a date: seconds since 1970, possibly with a fraction (RFC 7519, section 2).
pub(super) fn time(value: &Value) -> Option<Timestamp> {
    value.as_f64().filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds)).map(from_seconds)
}

/// Reads the date of an event. Drafts of CAEP before 1.0 count milliseconds, and some transmitters still do. A number of
/// seconds is never that large.
pub(super) fn event_time(value: &Value) -> Option<Timestamp> {
    let number = value.as_f64()?;
    let seconds = if number > MAX_SECONDS { number / 1000.0 } else { number };
    (0.0..=MAX_SECONDS).contains(&seconds).then(|| from_seconds(seconds))
}

#[expect(clippy::cast_possible_truncation, reason = "the callers check the range")]
fn from_seconds(seconds: f64) -> Timestamp {
    Timestamp::from_unix_millis((seconds * 1000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dates_are_seconds_and_those_of_events_may_be_milliseconds() {
        let millis = |time: Option<Timestamp>| time.map(Timestamp::unix_millis);
        assert_eq!(millis(time(&json!(1_615_304_991))), Some(1_615_304_991_000));
        assert_eq!(millis(time(&json!(1_615_304_991.25))), Some(1_615_304_991_250));
        assert_eq!(millis(event_time(&json!(1_615_304_991))), Some(1_615_304_991_000));
        assert_eq!(millis(event_time(&json!(1_615_304_991_643_i64))), Some(1_615_304_991_643));
        assert_eq!(time(&json!(1_615_304_991_643_i64)), None);
        for value in [json!(-1), json!("1615304991"), json!(true), json!(1e300), json!([]), json!(null)] {
            assert_eq!((time(&value), event_time(&value)), (None, None), "{value}");
        }
    }
}
