//! Bindings: how messages travel through the user's browser (SAML bindings, sections 3.4 and 3.5).

use serde::{Deserialize, Serialize};

/// A binding of protocol messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Binding {
    /// A form that the browser posts.
    #[default]
    #[serde(rename = "HTTP-POST")]
    Post,
    /// A URL that the browser is redirected to.
    #[serde(rename = "HTTP-Redirect")]
    Redirect,
}

impl Binding {
    /// Both bindings. Metadata lists services in this order.
    pub(crate) const ALL: [Self; 2] = [Self::Post, Self::Redirect];

    /// Returns the URI that identifies the binding in metadata.
    pub fn uri(self) -> &'static str {
        match self {
            Self::Post => "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
            Self::Redirect => "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
        }
    }

    /// Returns `HTTP-POST` or `HTTP-Redirect`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "HTTP-POST",
            Self::Redirect => "HTTP-Redirect",
        }
    }
}

/// The single logout service of an identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogoutService {
    /// How messages are sent to it.
    pub binding: Binding,
    /// The URL for requests.
    pub location: String,
    /// The URL for responses, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_location: Option<String>,
}

impl LogoutService {
    /// Returns the URL for responses.
    pub fn response_url(&self) -> &str {
        self.response_location.as_deref().unwrap_or(&self.location)
    }
}

/// A message to send through the user's browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// A form to post.
    Form {
        /// The URL to post it to.
        action: String,
        /// Names and values of its fields.
        fields: Vec<(&'static str, String)>,
    },
    /// A URL to redirect to.
    Url(String),
}

impl Outgoing {
    /// Returns the value of a form field; `None` if there is no form.
    pub fn field(&self, name: &str) -> Option<&str> {
        let Self::Form { fields, .. } = self else { return None };
        fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// A message that a browser has brought.
#[derive(Debug, Clone, Copy)]
pub enum Incoming<'a> {
    /// The form field `SAMLRequest` or `SAMLResponse`.
    Field(&'a str),
    /// The query of the URL, as received. Its signature covers the encoded text.
    Query(&'a str),
}
