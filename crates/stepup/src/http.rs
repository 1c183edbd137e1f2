//! Requests and responses of frameworks that use the types of the crate `http`, such as axum and hyper.

use std::sync::Arc;

use ::http::{HeaderMap, Response, StatusCode, header};
use kernel::{Ctx, SigningKeys};

use crate::{Caller, Ceremonies, Consumed, Error, Invalid, Proof, Purpose, Service, check};

/// The header that carries a step-up token.
pub const HEADER: &str = "x-stepup-token";

/// Checks the step-up token of a request. [`Service::consume_request`] also consumes it.
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
    let token = token_of(headers)?.ok_or(Error::Required(*purpose))?;
    Ok(check(ctx, keys, purpose, caller, token)?)
}

/// Returns the step-up token of a request, if there is one.
fn token_of(headers: &HeaderMap) -> Result<Option<&str>, Invalid> {
    let mut sent = headers.get_all(HEADER).iter();
    match (sent.next(), sent.next()) {
        (None, _) => Ok(None),
        (Some(token), None) => Ok(Some(token.to_str().map_err(|_| Invalid::Malformed)?)),
        // Of two tokens, neither counts.
        (Some(_), Some(_)) => Err(Invalid::Malformed),
    }
}

impl<F: Ceremonies> Service<F> {
    /// Checks the token in the header `X-StepUp-Token` and consumes it, as [`Service::consume`] does.
    ///
    /// # Errors
    ///
    /// [`Error::Required`] without a token, [`Error::Invalid`] if it does not authorize this act of this caller.
    pub async fn consume_request(
        &mut self,
        ctx: &Ctx,
        caller: &Caller,
        purpose: &Purpose,
        headers: &HeaderMap,
    ) -> Result<Consumed, Error> {
        self.consume(ctx, caller, purpose, token_of(headers)?).await
    }
}

impl<B: From<String>> From<Error> for Response<B> {
    /// Returns the response with status, JSON body and, for [`Error::Required`], the header `WWW-Authenticate`. If the status
    /// is 500 or more, the error is in the extensions of the response as `Arc<Error>`, for the log.
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
        if error.status() >= 500 {
            response.extensions_mut().insert(Arc::new(error));
        }
        response
    }
}
