//! Sessions inside your own service: provide a store, then start, list and revoke sessions and read the cookie.
//!
//! `cargo run -p gatehouse-sessions --example embed_sessions`

use std::sync::Arc;

use async_trait::async_trait;
use kernel::{Actor, Ctx, Env, StoreResult, SystemEnv, TenantId, Timestamp, UserId};
use serde_json::Map;
use sessions::{
    CookieKeys, CookieName, CookieSecret, Lifetime, Method, NewSession, Session, SessionId, SessionStore,
    Standing, device_label,
};

/// Stores one tenant's sessions in a list.
#[derive(Default)]
struct Sessions(Vec<Session>);

#[async_trait]
impl SessionStore for Sessions {
    async fn insert_session(&mut self, session: &Session) -> StoreResult<bool> {
        let taken = session.foreign.is_some() && self.0.iter().any(|kept| kept.foreign == session.foreign);
        if !taken {
            self.0.push(session.clone());
        }
        Ok(!taken)
    }

    async fn session(&mut self, id: &SessionId) -> StoreResult<Option<Session>> {
        Ok(self.0.iter().find(|kept| kept.id == *id).cloned())
    }

    async fn sessions_of(&mut self, user: &UserId) -> StoreResult<Vec<Session>> {
        Ok(self.0.iter().filter(|kept| kept.user == *user && kept.revoked_at.is_none()).cloned().collect())
    }

    async fn update_session(&mut self, session: &Session) -> StoreResult<()> {
        if let Some(kept) = self.0.iter_mut().find(|kept| kept.id == session.id) {
            kept.clone_from(session);
        }
        Ok(())
    }

    async fn rename_session(&mut self, id: &SessionId, new: &SessionId, _: Timestamp) -> StoreResult<()> {
        for kept in self.0.iter_mut().filter(|kept| kept.id == *id) {
            kept.id = new.clone();
        }
        Ok(())
    }

    async fn revoke_session(&mut self, id: &SessionId, at: Timestamp) -> StoreResult<bool> {
        let live = self.0.iter_mut().find(|kept| kept.id == *id && kept.revoked_at.is_none());
        Ok(live.map(|kept| kept.revoked_at = Some(at)).is_some())
    }

    async fn refused_until(&mut self, _: &UserId) -> StoreResult<Option<Timestamp>> {
        Ok(None)
    }

    async fn refuse_tokens_until(&mut self, _: &UserId, _: Timestamp) -> StoreResult<()> {
        Ok(())
    }

    async fn revoke_sessions(
        &mut self,
        user: &UserId,
        at: Timestamp,
        except: Option<&SessionId>,
    ) -> StoreResult<u64> {
        let mut count = 0;
        for kept in self.0.iter_mut().filter(|kept| kept.user == *user && Some(&kept.id) != except) {
            count += u64::from(kept.revoked_at.replace(at).is_none());
        }
        Ok(count)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let (tenant, user) = (TenantId::new(&*env), UserId::new(&*env));
    let ctx = Ctx::new(Arc::clone(&env), tenant, Actor::user(&user));
    let mut store = Sessions::default();
    let new = NewSession {
        user: user.clone(),
        device_label: device_label("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        location: None,
        standing: Standing::Full,
        methods: vec![Method::Password],
        signed_in_at: None,
        foreign: None,
        grace: None,
        not_after: None,
    };
    let session =
        sessions::open(&ctx, &mut store, new).await?.ok_or("the token of the new session is taken")?;
    println!("{} on {}", session.id, session.device_label);

    // The cookie contains the session id, and the stored row decides.
    let keys = CookieKeys::new(&[CookieSecret::new("a secret of at least 32 characters".to_owned())?]);
    let claims = Map::from_iter([("sid".to_owned(), session.id.as_str().into())]);
    let token = keys.mint(&*env, CookieName::Plain, claims, 3600).ok_or("a secret")?;
    let cookies = [(CookieName::Plain.as_str(), token.as_str())];
    let read = keys.read(&*env, CookieName::Plain, &cookies)?.ok_or("a cookie")?;
    assert_eq!(read.text("sid"), Some(session.id.as_str()));

    let lifetime = Lifetime { idle_minutes: 720, absolute_days: 30 };
    assert_eq!(sessions::list(&ctx, &mut store, &user, lifetime).await?.len(), 1);
    assert!(sessions::revoke(&ctx, &mut store, &user, &session.id).await?);
    assert!(sessions::list(&ctx, &mut store, &user, lifetime).await?.is_empty());
    println!("revoked");
    Ok(())
}
