//! [tower](https://docs.rs/tower) services for axum and others: an endpoint that answers requests for step-ups, and a layer
//! that requires one.

use std::{
    convert::Infallible,
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use ::http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kernel::Ctx;
use tokio::sync::Mutex;
use tower_layer::Layer;
use tower_service::Service as TowerService;

use crate::{Caller, Ceremonies, Codes, Consumed, Purpose, Service, error::Error};

/// The largest accepted body of a request to the endpoint, in bytes.
const MAX_BODY: usize = 64 * 1024;

type CallerOf = dyn Fn(&Parts) -> Option<(Ctx, Caller)> + Send + Sync;
type Answering<R, E> = Pin<Box<dyn Future<Output = Result<Response<R>, E>> + Send>>;

/// The step-ups of a program. Clones share them. One request is checked at a time, which suits factors in memory: if yours
/// are in a database, call [`Service`] in a transaction.
pub struct StepUp<F = Codes>(Arc<Shared<F>>);

struct Shared<F> {
    service: Mutex<Service<F>>,
    caller: Box<CallerOf>,
}

impl<F> Clone for StepUp<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: Ceremonies> StepUp<F> {
    /// Shares a service. `caller` authenticates a request and returns its tenant, user, session and address; `None` is
    /// answered with 401 `UNAUTHENTICATED`.
    pub fn new(
        service: Service<F>,
        caller: impl Fn(&Parts) -> Option<(Ctx, Caller)> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared { service: Mutex::new(service), caller: Box::new(caller) }))
    }

    /// Returns a service for `POST …/challenge-options` and `POST …/verify`, as [`Service::answer`] describes them. The last
    /// segment of the path decides. Bodies are `application/json` of at most 64 KiB.
    pub fn endpoint(&self) -> Endpoint<F> {
        Endpoint(self.clone())
    }

    /// Returns a layer that lets a request pass only with a token for this purpose, and consumes it. The request's
    /// extensions then have an `Arc<Consumed>`: a handler that takes it cannot run without the layer. If the operation may fail for another reason, call [`StepUp::consume`] after
    /// you have checked that, so that the user need not step up again.
    pub fn require(&self, purpose: Purpose) -> RequireStepUp<F> {
        RequireStepUp { stepup: self.clone(), purpose }
    }

    /// Checks the token of a request for this purpose, and consumes it.
    ///
    /// # Errors
    ///
    /// [`Error::Unauthenticated`] without a caller, [`Error::Required`] without a token, [`Error::Invalid`] if it does not
    /// authorize this act of this caller.
    pub async fn consume(&self, parts: &Parts, purpose: &Purpose) -> Result<Consumed, Error> {
        let (ctx, caller) = self.caller(parts)?;
        self.0.service.lock().await.consume_request(&ctx, &caller, purpose, &parts.headers).await
    }

    /// Authenticates a request, with the function that [`StepUp::new`] got.
    ///
    /// # Errors
    ///
    /// [`Error::Unauthenticated`] without a caller.
    pub fn caller(&self, parts: &Parts) -> Result<(Ctx, Caller), Error> {
        (self.0.caller)(parts).ok_or(Error::Unauthenticated)
    }

    async fn answer<B: Body>(&self, parts: &Parts, body: B) -> Result<Response<String>, Error>
    where
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if parts.method != Method::POST {
            let mut response = refused(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
            return Ok(response);
        }
        let (mut ctx, caller) = self.caller(parts)?;
        // Another site can make a browser send only other types without asking.
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("application/json") {
            return Ok(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let body = match Limited::new(body, MAX_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Ok(refused(StatusCode::PAYLOAD_TOO_LARGE));
            }
            Err(error) => return Err(Error::Malformed(error.to_string())),
        };
        // A body that arrived slowly keeps no challenge valid.
        ctx.now = ctx.env.now();
        let operation = parts.uri.path().rsplit('/').next().unwrap_or_default();
        let answer = self.0.service.lock().await.answer(&ctx, &caller, operation, &body).await?;
        let mut response = Response::new(answer.to_string());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

/// Returns a response without a body.
fn refused(status: StatusCode) -> Response<String> {
    let mut response = Response::new(String::new());
    *response.status_mut() = status;
    response
}

/// Answers requests for step-ups. See [`StepUp::endpoint`].
pub struct Endpoint<F = Codes>(StepUp<F>);

impl<F> Clone for Endpoint<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F, B> TowerService<Request<B>> for Endpoint<F>
where
    F: Ceremonies + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Answering<String, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let stepup = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            Ok(stepup.answer(&parts, body).await.unwrap_or_else(Response::from))
        })
    }
}

/// Requires a step-up. See [`StepUp::require`].
pub struct RequireStepUp<F = Codes> {
    stepup: StepUp<F>,
    purpose: Purpose,
}

impl<F> Clone for RequireStepUp<F> {
    fn clone(&self) -> Self {
        Self { stepup: self.stepup.clone(), purpose: self.purpose }
    }
}

impl<S, F> Layer<S> for RequireStepUp<F> {
    type Service = GuardedService<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        GuardedService { inner, guard: self.clone() }
    }
}

/// A service behind [`RequireStepUp`].
pub struct GuardedService<S, F = Codes> {
    inner: S,
    guard: RequireStepUp<F>,
}

impl<S: Clone, F> Clone for GuardedService<S, F> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), guard: self.guard.clone() }
    }
}

impl<S, F, B, R> TowerService<Request<B>> for GuardedService<S, F>
where
    S: TowerService<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    F: Ceremonies + 'static,
    B: Send + 'static,
    R: From<String>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Answering<R, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The service that was polled is ready; its clone may not be.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let guard = self.guard.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            match guard.stepup.consume(&parts, &guard.purpose).await {
                Err(error) => Ok(error.into()),
                Ok(consumed) => {
                    parts.extensions.insert(Arc::new(consumed));
                    inner.call(Request::from_parts(parts, body)).await
                }
            }
        })
    }
}
