//! A [tower](https://docs.rs/tower) layer that lets only allowed addresses reach a service.

use std::{
    future::{Future, ready},
    net::IpAddr,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    task::{Context, Poll},
};

use http::{Extensions, HeaderMap, Request, Response, StatusCode, header};
use tower_layer::Layer;
use tower_service::Service;

use crate::{Decision, Policy, Proxies, Surface};

/// The body of a refusal. It contains no address.
const BLOCKED: &str = r#"{"error":"The network policy blocks your address. Connect from an allowed address.","code":"NETWORK_POLICY_BLOCKED"}"#;

/// A policy that a layer reads for each request. Clones share it.
#[derive(Debug, Clone)]
pub struct SharedPolicy(Arc<RwLock<Policy>>);

impl SharedPolicy {
    /// Replaces the policy for all requests from now on.
    pub fn replace(&self, policy: Policy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    fn permits(&self, address: Option<IpAddr>) -> bool {
        let policy = self.0.read().unwrap_or_else(PoisonError::into_inner);
        policy.decide(address, Surface::Api, false).decision == Decision::Allow
    }
}

impl From<Policy> for SharedPolicy {
    fn from(policy: Policy) -> Self {
        Self(Arc::new(RwLock::new(policy)))
    }
}

/// Guards a service with the policy for [`Surface::Api`]. Blocked requests receive 403 `NETWORK_POLICY_BLOCKED`, as do
/// requests whose address is unknown.
#[derive(Debug, Clone)]
pub struct NetworkPolicyLayer<F> {
    policy: SharedPolicy,
    proxies: Option<Arc<Proxies>>,
    peer: F,
}

impl<F: Fn(&Extensions) -> Option<IpAddr>> NetworkPolicyLayer<F> {
    /// Guards with this policy. `peer` returns the address of the connection from the extensions of a request.
    pub fn new(policy: impl Into<SharedPolicy>, peer: F) -> Self {
        Self { policy: policy.into(), proxies: None, peer }
    }

    /// Finds the client's address behind these proxies. Without them, forwarding headers are ignored.
    #[must_use]
    pub fn behind(self, proxies: Proxies) -> Self {
        Self { proxies: Some(Arc::new(proxies)), ..self }
    }

    fn permits(&self, extensions: &Extensions, headers: &HeaderMap) -> bool {
        let peer = (self.peer)(extensions);
        self.policy.permits(match &self.proxies {
            None => peer,
            Some(proxies) => {
                let lines = headers.get_all(proxies.header.as_str()).iter();
                proxies.client(peer, lines.map(header::HeaderValue::as_bytes))
            }
        })
    }
}

impl<S, F: Clone> Layer<S> for NetworkPolicyLayer<F> {
    type Service = NetworkPolicyService<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        NetworkPolicyService { inner, guard: self.clone() }
    }
}

/// A service behind a [`NetworkPolicyLayer`].
#[derive(Debug, Clone)]
pub struct NetworkPolicyService<S, F> {
    inner: S,
    guard: NetworkPolicyLayer<F>,
}

impl<S, F, B, R> Service<Request<B>> for NetworkPolicyService<S, F>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    F: Fn(&Extensions) -> Option<IpAddr>,
    R: From<&'static str> + Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if self.guard.permits(request.extensions(), request.headers()) {
            return Box::pin(self.inner.call(request));
        }
        let mut response = Response::new(R::from(BLOCKED));
        *response.status_mut() = StatusCode::FORBIDDEN;
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        Box::pin(ready(Ok(response)))
    }
}
