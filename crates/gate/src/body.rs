//! Request and response bodies.

mod json;

use std::{future::Future, pin::Pin};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse,
    dev::Payload,
    http::{StatusCode, header},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    bodies::receive,
    errors::{Problem, SCIM_JSON, ScimProblem},
    scim_refusals,
};

/// A JSON body as SCIM clients send it: `application/scim+json` or `application/json`.
pub struct ScimJson(pub Value);

impl FromRequest for ScimJson {
    type Error = ScimProblem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ScimProblem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            is_json(&request)?;
            let bytes = receive(&request, payload).await?;
            match serde_json::from_slice(&bytes) {
                Ok(value) => {
                    scim_refusals::note_subject(&request, &value);
                    Ok(Self(value))
                }
                Err(error) => {
                    Err(Problem::invalid_syntax(format!("The body is not valid JSON: {error}")).into())
                }
            }
        })
    }
}

/// A JSON body of the plain API: `application/json`. Unknown fields are rejected.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            is_of(&request, &["application/json"])?;
            read(&receive(&request, payload).await?).map(Self)
        })
    }
}

/// An optional JSON body of the plain API, with a default if it is absent.
pub struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned + Default + 'static> FromRequest for OptionalJson<T> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let has_type = request.headers().contains_key(header::CONTENT_TYPE);
            if has_type {
                is_of(&request, &["application/json"])?;
            }
            let bytes = receive(&request, payload).await?;
            match (bytes.is_empty(), has_type) {
                (true, _) => Ok(Self(T::default())),
                (false, true) => read(&bytes).map(Self),
                (false, false) => Err(Problem::unsupported_media_type("application/json")),
            }
        })
    }
}

/// The fields of an HTML form.
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Returns the value of a field, or `None` if it is absent or repeated.
    pub fn only(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        values.next().filter(|_| values.next().is_none())
    }
}

impl FromRequest for Form {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            is_of(&request, &["application/x-www-form-urlencoded"])?;
            let bytes = receive(&request, payload).await?;
            Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
        })
    }
}

/// A security event token as a body: `application/secevent+jwt` (RFC 8935, section 2.1).
pub struct SecurityEventToken(pub String);

impl FromRequest for SecurityEventToken {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            is_of(&request, &["application/secevent+jwt"])?;
            let bytes = receive(&request, payload).await?;
            // Other bytes are not those of a token, and are refused as such.
            Ok(Self(String::from_utf8_lossy(&bytes).trim_ascii().to_owned()))
        })
    }
}

/// Parses the bytes of a body. The error names the invalid field.
fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    json::read(bytes).map_err(Problem::invalid_request)
}

/// A JSON response with secret or personal data, which must not be cached.
pub fn answer(value: &impl serde::Serialize) -> HttpResponse {
    HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(value)
}

fn is_json(request: &HttpRequest) -> Result<(), Problem> {
    is_of(request, &[SCIM_JSON, "application/json"])
}

fn is_of(request: &HttpRequest, types: &[&str]) -> Result<(), Problem> {
    let sent =
        request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = sent.split(';').next().unwrap_or("").trim();
    if types.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
        Ok(())
    } else {
        Err(Problem::unsupported_media_type(&types.join(" or ")))
    }
}

/// A SCIM response. It contains personal data and must not be cached.
pub fn scim_answer(status: StatusCode, body: &Value) -> HttpResponse {
    scim_text(status, body.to_string())
}

/// Builds a SCIM response from serialized JSON.
pub fn scim_text(status: StatusCode, body: String) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type(SCIM_JSON)
        .body(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::{ResponseError, error::PayloadError, test::TestRequest, web::Bytes};
    use futures_util::{Stream, stream};

    #[tokio::test(start_paused = true)]
    async fn body_that_does_not_arrive_times_out() {
        let request = TestRequest::post().insert_header((header::CONTENT_TYPE, SCIM_JSON)).to_http_request();
        let never: Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>> = Box::pin(stream::pending());
        let mut payload = Payload::from(never);
        let problem = ScimJson::from_request(&request, &mut payload).await.err().unwrap();
        assert_eq!(problem.status_code(), StatusCode::BAD_REQUEST);
        assert!(problem.to_string().contains("did not arrive in time"), "{problem}");
    }
}
