//! A service that only this machine and one network reach: `cargo run -p gatehouse-netpolicy --example allowlist`.
use std::net::SocketAddr;

use axum::{Router, extract::ConnectInfo, routing::get};
use netpolicy::{Policy, tower::NetworkPolicyLayer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::allow_only(["127.0.0.0/8".parse()?, "203.0.113.0/24".parse()?]);
    let layer = NetworkPolicyLayer::new(policy, |extensions| {
        extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.ip())
    });
    let service = Router::new().route("/", get(async || "Hello\n")).layer(layer);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, service.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
