//! SCIM tokens inside your own service: provide a store, then mint, look up and revoke tokens.
//!
//! `cargo run -p gatehouse-tokens --example embed_tokens`

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use kernel::{Actor, Ctx, StoreResult, SystemEnv, TenantId, Timestamp};
use tokens::{NewScimToken, RawToken, ScimToken, ScimTokenId, ScimTokenStore};

/// Stores one tenant's tokens in a map.
#[derive(Default)]
struct Tokens(BTreeMap<ScimTokenId, ScimToken>);

#[async_trait]
impl ScimTokenStore for Tokens {
    async fn insert_scim_token(&mut self, token: &ScimToken) -> StoreResult<()> {
        self.0.insert(token.id.clone(), token.clone());
        Ok(())
    }

    async fn scim_token(&mut self, id: &ScimTokenId) -> StoreResult<Option<ScimToken>> {
        Ok(self.0.get(id).cloned())
    }

    async fn scim_tokens(&mut self) -> StoreResult<Vec<ScimToken>> {
        Ok(self.0.values().rev().filter(|token| token.revoked_at.is_none()).cloned().collect())
    }

    async fn revoke_scim_token(&mut self, id: &ScimTokenId, at: Timestamp) -> StoreResult<bool> {
        let live = self.0.get_mut(id).filter(|token| token.revoked_at.is_none());
        Ok(live.map(|token| token.revoked_at = Some(at)).is_some())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let ctx = Ctx::new(env, tenant, Actor::system("example"));
    let mut store = Tokens::default();

    let new = NewScimToken { name: "Okta".into(), create_conflict: false, dry_run: false };
    let (token, raw) = tokens::mint(&ctx, &mut store, new).await?;
    println!("{} is shown once: {}", token.id, raw.expose());

    // Parse the token first, then look it up by its hash.
    let presented = RawToken::parse(raw.expose())?;
    assert_eq!(presented.tenant(), &ctx.tenant);
    assert!(store.0.values().any(|kept| kept.hash == presented.hash()));

    tokens::revoke(&ctx, &mut store, &token.id).await?;
    assert!(tokens::revoke(&ctx, &mut store, &token.id).await.is_err(), "once");
    println!("revoked");
    Ok(())
}
