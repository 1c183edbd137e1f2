//! Requests and responses of frameworks that use the types of the crate `http`, such as axum and hyper.

use ::http::{HeaderMap, Response, StatusCode, header};
use kernel::{Ctx, SigningKeys};

use crate::{Caller, Error, Invalid, Proof, Purpose, check};

/// The header that carries a step-up token.
pub const HEADER: &str = "x-stepup-token";

/// Checks the step-up token of a request.
///
/// # Errors
///
/// [`Error::Required`] without a token, [`Error::Invalid`] if it does not authorize this act of this caller.
pub fn check_request(
    ctx: &Ctx,
    keys: &SigningKeys,
    purpose: &Purpose,
    caller: &Caller,
    headers: &HeaderMap,
) -> Result<Proof, Error> {
    let mut sent = headers.get_all(HEADER).iter();
    let first = sent.next().ok_or(Error::Required(*purpose))?;
    // Of two tokens, neither counts.
    let text = if sent.next().is_none() { first.to_str().ok() } else { None };
    Ok(check(ctx, keys, purpose, caller, text.ok_or(Invalid::Malformed)?)?)
}

impl<B: From<String>> From<Error> for Response<B> {
    /// Returns the response with status, JSON body and, for [`Error::Required`], the header `WWW-Authenticate`.
    fn from(error: Error) -> Self {
        let mut response = Self::new(error.body().to_string().into());
        *response.status_mut() =
            StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
        if let Error::Required(purpose) = &error {
            let challenge = format!("StepUp purpose={}", purpose.name).parse().ok();
            challenge.map(|challenge| headers.insert(header::WWW_AUTHENTICATE, challenge));
        }
        response
    }
}
