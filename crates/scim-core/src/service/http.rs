//! Requests and responses of frameworks that use the types of the crate `http`, such as axum and hyper.

use http::{Response, StatusCode, header::AUTHORIZATION, request::Parts};

use super::{Answer, BearerToken, Request};

impl<'a> Request<'a> {
    /// Creates a request from its parts and its body. The path is that of the URI, so remove the prefix below which you serve
    /// SCIM, as a nested router does.
    pub fn from_parts(parts: &'a Parts, body: &'a [u8]) -> Self {
        let (method, uri) = (parts.method.as_str(), &parts.uri);
        Self { method, path: uri.path(), query: uri.query().unwrap_or_default(), body }
    }
}

impl BearerToken {
    /// Checks the header `Authorization` of a request, as [`BearerToken::check`] does. Of two headers, neither counts.
    ///
    /// # Errors
    ///
    /// [`Answer::unauthorized`], unless it is this token.
    pub fn check_request(&self, parts: &Parts) -> Result<(), Answer> {
        let mut sent = parts.headers.get_all(AUTHORIZATION).iter();
        let (first, second) = (sent.next(), sent.next());
        self.check(first.filter(|_| second.is_none()).and_then(|value| value.to_str().ok()))
    }
}

impl<B: From<String>> From<Answer> for Response<B> {
    /// Returns the response with its headers. [`Answer::error`] is not in it.
    fn from(answer: Answer) -> Self {
        let mut response = Self::new(answer.text().into());
        *response.status_mut() =
            StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in answer.headers() {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
