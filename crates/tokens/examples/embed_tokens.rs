//! SCIM tokens inside your own service: mint, look up and revoke them. Replace `MemoryTokens` by your own storage.
//!
//! `cargo run -p gatehouse-tokens --example embed_tokens`

use std::sync::Arc;

use tokens::{Actor, Ctx, MemoryTokens, NewScimToken, RawToken, ScimTokenStore, SystemEnv, TenantId};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let ctx = Ctx::new(env, tenant, Actor::system("example"));
    let mut store = MemoryTokens::default();

    let new = NewScimToken { name: "Okta".into(), create_conflict: false, dry_run: false };
    let (token, raw) = tokens::mint(&ctx, &mut store, new).await?;
    println!("{} is shown once: {}", token.id, raw.expose());

    // Parse the token first, then look it up by its hash.
    let presented = RawToken::parse(raw.expose())?;
    assert_eq!(presented.tenant(), &ctx.tenant);
    assert!(store.scim_tokens().await?.iter().any(|kept| kept.hash == presented.hash()));

    tokens::revoke(&ctx, &mut store, &token.id).await?;
    assert!(tokens::revoke(&ctx, &mut store, &token.id).await.is_err(), "once");
    println!("revoked");
    Ok(())
}
