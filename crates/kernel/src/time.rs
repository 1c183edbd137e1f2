//! Points in time in UTC with millisecond precision.

use std::{fmt, str::FromStr};

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time in UTC with millisecond precision; prints as RFC 3339 with `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

/// The text is not an RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write an RFC 3339 time such as 2026-01-31T12:00:00Z ({0})")]
pub struct ParseTimestampError(String);

impl Timestamp {
    /// Converts milliseconds since 1970-01-01T00:00:00Z. Values out of chrono's range become the epoch.
    pub fn from_unix_millis(millis: i64) -> Self {
        Self(DateTime::from_timestamp_millis(millis).unwrap_or_default())
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    pub fn unix_millis(self) -> i64 {
        self.0.timestamp_millis()
    }

    /// Returns the UTC date and time without a zone, as the databases store it.
    pub fn naive(self) -> NaiveDateTime {
        self.0.naive_utc()
    }

    /// Parses an HTTP date (RFC 9110 §5.6.7) such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn from_http_date(text: &str) -> Option<Self> {
        let time = DateTime::parse_from_rfc2822(text).ok()?;
        Some(Self::from_unix_millis(time.timestamp_millis()))
    }

    /// Converts a UTC date and time, truncated to milliseconds.
    pub fn from_naive(naive: NaiveDateTime) -> Self {
        Self::from_unix_millis(naive.and_utc().timestamp_millis())
    }

    /// Adds `millis` to this time. Values out of chrono's range become the epoch.
    #[must_use]
    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_unix_millis(self.unix_millis().saturating_add(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        DateTime::parse_from_rfc3339(text)
            .map(|time| Self::from_unix_millis(time.timestamp_millis()))
            .map_err(|error| ParseTimestampError(error.to_string()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_any_offset_and_prints_utc_with_milliseconds() {
        let time: Timestamp = "2026-03-01T12:00:00.1239+02:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-03-01T10:00:00.123Z");
        assert_eq!(Timestamp::from_naive(time.naive()), time);
        let date = Timestamp::from_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(date.to_string(), "1994-11-06T08:49:37.000Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
