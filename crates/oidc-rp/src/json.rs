//! Reads JSON objects strictly, so that two parsers cannot disagree about a document.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Maximum nesting of objects and arrays.
const MAX_DEPTH: usize = 8;

/// Parses an object. Fails if it is malformed, nested more than 8 levels deep, or repeats a member anywhere.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let value =
        (&mut parser).deserialize_any(Strict { left: MAX_DEPTH }).map_err(|error| error.to_string())?;
    parser.end().map_err(|error| error.to_string())?;
    match value {
        Value::Object(members) => Ok(members),
        _ => Err("it is not an object".to_owned()),
    }
}

/// Reads a value with at most `left` further levels.
#[derive(Clone, Copy)]
struct Strict {
    left: usize,
}

impl Strict {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let left = self.left.checked_sub(1).ok_or_else(|| E::custom("it is nested too deeply"))?;
        Ok(Self { left })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let (inner, mut values) = (self.inner()?, Vec::new());
        while let Some(value) = sequence.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let (inner, mut members) = (self.inner()?, Map::new());
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(inner)?;
            if members.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the member {name:?} is repeated")));
            }
            members.insert(name, value);
        }
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_as_they_are() {
        let text = br#" {"a":[1,-2,3.5,null,true,"x"],"b":{"c":{}}} "#;
        assert_eq!(Value::Object(object(text).unwrap()), serde_json::from_slice::<Value>(text).unwrap());
    }

    #[test]
    fn ambiguous_and_deep_documents_are_refused() {
        let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        assert!(object(deep(MAX_DEPTH).as_bytes()).is_ok());
        let arrays = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        for (text, error) in [
            (r#"{"a":1,"a":1}"#, "repeated"),
            (r#"{"a":1,"\u0061":2}"#, "repeated"),
            (r#"{"x":[{"a":1,"a":2}]}"#, "repeated"),
            (deep(MAX_DEPTH + 1).as_str(), "nested too deeply"),
            (arrays.as_str(), "nested too deeply"),
            ("[]", "not an object"),
            (r#""text""#, "not an object"),
            ("{} {}", "trailing"),
            (r#"{"a":1,}"#, "trailing comma"),
            (r#"{"a":NaN}"#, "expected"),
            ("", "EOF"),
            ("{\"a\":\"\u{1}\"}", "control character"),
        ] {
            let refused = object(text.as_bytes()).unwrap_err();
            assert!(refused.contains(error), "{refused}");
        }
        assert!(object(b"{\"a\":\"\xff\"}").is_err(), "not UTF-8");
    }
}
