//! Deserializes JSON bodies. Objects are matched by member name only, and every error begins with the field's path.
//!
//! `serde` would also fill a struct from an array by position. Therefore a body is first parsed into a [`Node`],
//! whose deserializer accepts only objects for structs, at any depth.

use std::{collections::BTreeSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
        value::{MapAccessDeserializer, StrDeserializer, StringDeserializer},
    },
    forward_to_deserialize_any,
};

/// Parses a complete body. The error begins with the path of the field, or with `body`.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let node: Node = serde_json::from_slice(bytes).map_err(|error| format!("body: {error}"))?;
    T::deserialize(node).map_err(|error| error.to_string())
}

/// A JSON value that keeps all members of an object, including repeated ones.
enum Node {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(Node::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Node::Object(object))
    }
}

/// An error in a body and its location.
#[derive(Debug)]
struct Error {
    /// The path from the field to the root.
    path: Vec<Segment>,
    message: String,
}

#[derive(Debug)]
enum Segment {
    Member(String),
    Item(usize),
}

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    fn under(mut self, segment: Segment) -> Self {
        self.path.push(segment);
        self
    }

    fn at(field: &str, message: impl Into<String>) -> Self {
        Self::new(message).under(Segment::Member(field.to_owned()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str("body")?;
        }
        for (depth, segment) in self.path.iter().rev().enumerate() {
            match segment {
                Segment::Item(index) => write!(f, "[{index}]")?,
                Segment::Member(name) if depth == 0 => f.write_str(name)?,
                Segment::Member(name) => write!(f, ".{name}")?,
            }
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        // The name of the type in JSON.
        let found = if found == Unexpected::Unit { Unexpected::Other("null") } else { found };
        Self::new(format!("invalid type: {found}, expected {expected}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::at(field, "is required")
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let known: Vec<_> = expected.iter().map(|name| format!("`{name}`")).collect();
        let known = match known.as_slice() {
            [] => "no fields are allowed".to_owned(),
            [only] => format!("expected {only}"),
            several => format!("expected one of {}", several.join(", ")),
        };
        Self::at(field, format!("unknown field `{field}`, {known}"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::at(field, "must appear only once")
    }
}

impl Node {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Other("null"),
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Unsigned(value) => Unexpected::Unsigned(*value),
            Self::Signed(value) => Unexpected::Signed(*value),
            Self::Float(value) => Unexpected::Float(*value),
            Self::Text(value) => Unexpected::Str(value),
            Self::List(_) => Unexpected::Other("an array"),
            Self::Object(_) => Unexpected::Other("an object"),
        }
    }

    fn mismatch(&self, expected: &str) -> Error {
        de::Error::invalid_type(self.unexpected(), &expected)
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Float(value) => visitor.visit_f64(value),
            Self::Text(value) => visitor.visit_string(value),
            Self::List(items) => visitor.visit_seq(Items { items: items.into_iter(), next: 0 }),
            Self::Object(members) => visitor.visit_map(Members::of(members)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Object(members) => visitor.visit_map(Members::of(members)),
            other => Err(other.mismatch("an object")),
        }
    }

    /// Rejects an array for a struct, which is the reason for this module.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self::Text(name) => {
                let name: StringDeserializer<Error> = name.into_deserializer();
                visitor.visit_enum(name)
            }
            Self::Object(members) => visitor.visit_enum(MapAccessDeserializer::new(Members::of(members))),
            other => Err(other.mismatch("a string")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct identifier ignored_any
    }
}

/// Iterates over the items of an array.
struct Items {
    items: std::vec::IntoIter<Node>,
    next: usize,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(item).map(Some).map_err(|error| error.under(Segment::Item(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// Iterates over the members of an object, rejecting repeated names.
struct Members {
    rest: std::vec::IntoIter<(String, Node)>,
    seen: BTreeSet<String>,
    current: Option<(String, Node)>,
}

impl Members {
    fn of(members: Vec<(String, Node)>) -> Self {
        Self { rest: members.into_iter(), seen: BTreeSet::new(), current: None }
    }
}

impl<'de> MapAccess<'de> for Members {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((name, node)) = self.rest.next() else { return Ok(None) };
        if !self.seen.insert(name.clone()) {
            return Err(Error::at(&name, "must appear only once"));
        }
        let key = StrDeserializer::<Error>::new(&name);
        let key = seed.deserialize(key)?;
        self.current = Some((name, node));
        Ok(Some(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let Some((name, node)) = self.current.take() else {
            return Err(Error::new("a value without a name"));
        };
        seed.deserialize(node).map_err(|error| error.under(Segment::Member(name)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Outer {
        first_name: String,
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
        kind: Option<Kind>,
        free: Option<serde_json::Value>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        count: u8,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    enum Kind {
        One,
    }

    #[test]
    fn objects_are_matched_by_name() {
        let text = r#"{"firstName":"Ada","inner":{"count":1},"list":[{"count":2}],"kind":"ONE","free":[{"a":[1,-1,0.5,null]}]}"#;
        let read: Outer = read(text.as_bytes()).unwrap();
        assert_eq!(read.first_name, "Ada");
        assert_eq!((read.inner, read.kind), (Some(Inner { count: 1 }), Some(Kind::One)));
        assert_eq!(read.list, Some(vec![Inner { count: 2 }]));
        assert_eq!(read.free, Some(serde_json::json!([{ "a": [1, -1, 0.5, null] }])));
    }

    #[test]
    fn errors_begin_with_the_path_of_the_field() {
        for (text, expected) in [
            ("[]", "body: invalid type: an array, expected an object"),
            (r#"["Ada"]"#, "body: invalid type: an array, expected an object"),
            ("1", "body: invalid type: integer `1`, expected an object"),
            ("{}", "firstName: is required"),
            (r#"{"firstName":"Ada","inner":[1]}"#, "inner: invalid type: an array, expected an object"),
            (r#"{"firstName":"Ada","list":[[1]]}"#, "list[0]: invalid type: an array, expected an object"),
            (r#"{"firstName":"Ada","list":[{"count":1},{}]}"#, "list[1].count: is required"),
            (r#"{"firstName":"Ada","inner":{"count":300}}"#, "inner.count: invalid value: integer `300`"),
            (
                r#"{"firstName":"Ada","inner":{"count":1,"x":1}}"#,
                "inner.x: unknown field `x`, expected `count`",
            ),
            (r#"{"firstName":"Ada","inner":{"count":1,"count":2}}"#, "inner.count: must appear only once"),
            (r#"{"firstName":"Ada","free":{"a":{"b":1,"b":2}}}"#, "free.a.b: must appear only once"),
            (r#"{"firstName":"Ada","kind":"TWO"}"#, "kind: unknown variant `TWO`, expected `ONE`"),
            (r#"{"firstName":"Ada","kind":["ONE"]}"#, "kind: invalid type: an array, expected a string"),
            (r#"{"firstName":"Ada"} x"#, "body: trailing characters"),
            (r#"{"firstName":"#, "body: EOF while parsing"),
            ("", "body: EOF while parsing"),
        ] {
            let error = read::<Outer>(text.as_bytes()).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let deep = "[".repeat(100_000);
        assert!(read::<Outer>(deep.as_bytes()).unwrap_err().contains("recursion limit"));
    }
}
