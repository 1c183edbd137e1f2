//! A user's attributes as stored: a JSON object that is parsed only on access.

use std::{borrow::Cow, sync::OnceLock};

use serde_json::{Map, Value, value::RawValue};

/// The attributes of a user by their canonical names, extensions under their URN.
///
/// Most users are returned unchanged, so the stored text is copied straight into the response.
#[derive(Clone, Default)]
pub struct Attributes {
    map: OnceLock<Map<String, Value>>,
    text: Option<Box<str>>,
}

impl Attributes {
    /// Creates attributes from the text of a JSON object, as returned by [`Attributes::text`].
    pub fn read(text: String) -> Result<Self, serde_json::Error> {
        let checked: &RawValue = serde_json::from_str(&text)?;
        if !checked.get().starts_with('{') {
            return Err(serde::de::Error::custom("not an object"));
        }
        Ok(Self { map: OnceLock::new(), text: Some(text.into_boxed_str()) })
    }

    /// Returns the JSON object as text, without surrounding whitespace.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.text {
            Some(text) => Cow::Borrowed(text.trim()),
            // Serializing a map of JSON values cannot fail.
            None => Cow::Owned(serde_json::to_string(self.map()).unwrap_or_else(|_| "{}".into())),
        }
    }

    /// Returns the attributes as a JSON object.
    pub fn map(&self) -> &Map<String, Value> {
        let parse =
            || self.text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        self.map.get_or_init(parse)
    }

    /// Converts the attributes into an owned JSON object.
    pub fn into_map(self) -> Map<String, Value> {
        self.map();
        self.map.into_inner().unwrap_or_default()
    }

    /// Returns the value of the attribute `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.map().get(name)
    }
}

impl From<Map<String, Value>> for Attributes {
    fn from(map: Map<String, Value>) -> Self {
        Self { map: OnceLock::from(map), text: None }
    }
}

impl PartialEq for Attributes {
    fn eq(&self, other: &Self) -> bool {
        matches!((&self.text, &other.text), (Some(one), Some(other)) if one == other)
            || self.map() == other.map()
    }
}

impl std::fmt::Debug for Attributes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.map().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::Attributes;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn text_and_map_are_the_same_attributes() {
        let title = map(&json!({ "title": "Countess" }));
        let (read, made) =
            (Attributes::read(r#" {"title": "Countess"} "#.into()).unwrap(), Attributes::from(title.clone()));
        assert_eq!(read.text(), r#"{"title": "Countess"}"#);
        assert_eq!(made.text(), r#"{"title":"Countess"}"#);
        assert_eq!((read.get("title"), read.get("active")), (Some(&json!("Countess")), None));
        assert_eq!(read, made);
        assert_eq!(format!("{read:?}"), r#"{"title": String("Countess")}"#);
        assert_eq!(read.into_map(), title);
    }

    #[test]
    fn different_attributes_are_not_equal() {
        let [one, other] =
            ["{\"title\":\"a\"}", "{\"title\":\"b\"}"].map(|text| Attributes::read(text.into()).unwrap());
        assert_ne!(one, other);
        assert_eq!(one, one.clone());
        assert_ne!(Attributes::default(), other);
    }

    #[test]
    fn text_other_than_an_object_is_refused() {
        for text in ["[]", "null", "{", ""] {
            assert!(Attributes::read(text.into()).is_err(), "{text}");
        }
    }
}
