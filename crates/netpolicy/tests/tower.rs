//! The tower layer lets only allowed addresses reach a service.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{convert::Infallible, net::IpAddr};

use axum::http::{Request, Response};
use netpolicy::{
    Policy, Proxies, ProxyHeader,
    tower::{NetworkPolicyLayer, SharedPolicy},
};
use tower_layer::Layer;
use tower_service::Service;

/// Answers "inside".
#[derive(Clone)]
struct Inside;

impl Service<Request<()>> for Inside {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        std::future::ready(Ok(Response::new("inside".to_owned())))
    }
}

/// Sends a request from an address, with lines of `X-Forwarded-For`.
async fn send<F>(layer: &NetworkPolicyLayer<F>, peer: Option<&str>, forwarded: &[&str]) -> (u16, String)
where
    F: Fn(&axum::http::Extensions) -> Option<IpAddr> + Clone,
{
    let mut request = Request::new(());
    for line in forwarded {
        request.headers_mut().append("x-forwarded-for", line.parse().unwrap());
    }
    if let Some(peer) = peer {
        request.extensions_mut().insert(peer.parse::<IpAddr>().unwrap());
    }
    let response = layer.layer(Inside).call(request).await.unwrap();
    (response.status().as_u16(), response.into_body())
}

#[tokio::test]
async fn only_allowed_addresses_reach_the_service() {
    let shared = SharedPolicy::from(Policy::allow_only(["203.0.113.0/24".parse().unwrap()]));
    let layer = NetworkPolicyLayer::new(shared.clone(), |extensions| extensions.get::<IpAddr>().copied());
    assert_eq!(send(&layer, Some("203.0.113.7"), &[]).await, (200, "inside".to_owned()));
    let (status, body) = send(&layer, Some("198.51.100.7"), &[]).await;
    assert_eq!(status, 403);
    assert!(body.contains("NETWORK_POLICY_BLOCKED") && !body.contains("198.51.100.7"), "{body}");
    // An unknown address is blocked, and a header proves nothing without trusted proxies.
    assert_eq!(send(&layer, None, &[]).await.0, 403);
    assert_eq!(send(&layer, Some("198.51.100.7"), &["203.0.113.7"]).await.0, 403);

    let proxies =
        Proxies { trusted: vec!["10.0.0.0/8".parse().unwrap()], header: ProxyHeader::XForwardedFor };
    let behind = layer.behind(proxies);
    assert_eq!(send(&behind, Some("10.0.0.1"), &["198.51.100.7, 203.0.113.7"]).await.0, 200);
    assert_eq!(send(&behind, Some("10.0.0.1"), &["203.0.113.7", "198.51.100.7"]).await.0, 403);
    assert_eq!(send(&behind, Some("10.0.0.1"), &[]).await.0, 403);

    shared.replace(Policy::allow_only([]));
    assert_eq!(send(&behind, Some("10.0.0.1"), &["203.0.113.7"]).await.0, 403);
}

/// A service that is never ready.
#[derive(Clone)]
struct Busy;

impl Service<Request<()>> for Busy {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = std::future::Pending<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Pending
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        std::future::pending()
    }
}

#[test]
fn guarded_service_is_ready_when_the_service_is() {
    let layer = NetworkPolicyLayer::new(SharedPolicy::from(Policy::allow_only([])), |_: &_| None);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(layer.layer(Inside).poll_ready(&mut context).is_ready());
    assert!(layer.layer(Busy).poll_ready(&mut context).is_pending());
}

#[test]
fn allow_only_denies_everybody_else() {
    let policy =
        Policy::allow_only(["::ffff:203.0.113.0/120".parse().unwrap(), "2001:db8::/32".parse().unwrap()]);
    for (address, expected) in [
        ("203.0.113.7", true),
        ("::ffff:203.0.113.7", true),
        ("2001:db8::1", true),
        ("203.0.114.7", false),
        ("2001:db9::1", false),
        ("127.0.0.1", false),
    ] {
        assert_eq!(policy.permits(address.parse().unwrap()), expected, "{address}");
    }
    assert!(!Policy::allow_only([]).permits([127, 0, 0, 1].into()));
    assert!(!policy.settings().admin_bypass, "administrators too");
}
