//! Sessions that were started through sessions of identity providers.

use std::{sync::Arc, time::Duration};

use ::saml_sp::ProviderId;
use kernel::{Ctx, Id, StoreResult, UserId};
use sessions::{Method, NewSession, Session, SessionStore, Standing};
use sign_in::{EndedAtProvider, ProviderSession, ProviderSessionStore};
use store::{Tx, testing::Kind};
use tokio::{sync::Notify, time::timeout};

use crate::support::{on_both, world};

const SUBJECT: [u8; 32] = [1; 32];
const SESSION: [u8; 32] = [2; 32];

async fn open(ctx: &Ctx, tx: &mut Tx, user: &UserId) -> StoreResult<Session> {
    let new = NewSession {
        user: user.clone(),
        device_label: "device".into(),
        location: None,
        standing: Standing::Full,
        methods: vec![Method::Sso],
        signed_in_at: None,
        foreign: None,
        grace: None,
        not_after: None,
    };
    Ok(sessions::open(ctx, tx, new).await?.unwrap())
}

fn at(provider: &ProviderId, session: Option<[u8; 32]>) -> ProviderSession {
    let logout_hint = Some("sealed".into());
    ProviderSession { provider: provider.clone(), subject: SUBJECT, session, logout_hint }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_found_and_revoked_by_their_session_at_the_provider() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let [provider, other] = [0, 1].map(|_| ProviderId::new(&*ctx.env, &ctx.tenant));
            let [ada, bob] = [0, 1].map(|_| UserId::new(&*ctx.env));
            let [first, second] = [open(ctx, tx, &ada).await?, open(ctx, tx, &bob).await?];
            tx.set_provider_session(&first.id, &at(&provider, Some(SESSION))).await?;
            tx.set_provider_session(&second.id, &at(&provider, None)).await?;
            // Another ID keeps the session at the provider.
            let renamed = Id::new(&*ctx.env);
            tx.rename_session(&first.id, &renamed, ctx.now).await?;
            assert_eq!(tx.provider_session(&renamed).await?, Some(at(&provider, Some(SESSION))));
            assert_eq!(tx.provider_session(&first.id).await?, None);

            let one = EndedAtProvider::Session { session: SESSION, subject: Some(SUBJECT) };
            let any = EndedAtProvider::Session { session: SESSION, subject: None };
            let all = EndedAtProvider::Subject(SUBJECT);
            let foreign = EndedAtProvider::Session { session: SESSION, subject: Some([3; 32]) };
            let mut users = vec![ada.clone(), bob.clone()];
            users.sort();
            for (of, ended, wanted) in [
                (&provider, &one, vec![ada.clone()]),
                (&provider, &any, vec![ada.clone()]),
                (&provider, &all, users),
                (&provider, &foreign, Vec::new()),
                (&other, &all, Vec::new()),
            ] {
                assert_eq!(tx.users_at_provider(of, ended).await?, wanted, "{ended:?}");
            }
            let (before, now) = (ctx.now.plus_millis(-1), ctx.now);
            assert_eq!(tx.revoke_at_provider(&provider, &one, now, now).await?, [], "too old");
            let revoked = tx.revoke_at_provider(&provider, &one, before, now).await?;
            assert_eq!(revoked, [(renamed.clone(), ada)]);
            assert_eq!(tx.session(&renamed).await?.unwrap().revoked_at, Some(now));
            assert_eq!(tx.provider_session(&renamed).await?.unwrap().logout_hint, None);
            assert!(tx.revoke_session(&second.id, now).await?);
            assert_eq!(tx.provider_session(&second.id).await?.unwrap().logout_hint, None);
            assert_eq!(tx.users_at_provider(&provider, &all).await?, []);

            assert!(!tx.has_ended(&provider, &SESSION).await?);
            tx.remember_ended(&provider, &SESSION, now).await?;
            tx.remember_ended(&provider, &SESSION, now).await?;
            assert!(tx.has_ended(&provider, &SESSION).await? && !tx.has_ended(&other, &SESSION).await?);
            Ok(())
        };
        world.change(&tenant, work).await.unwrap();
    })
    .await;
}

/// How long a unit of work stays open for another, which should wait for its end.
const OPEN: Duration = Duration::from_millis(300);

/// Two units of work on PostgreSQL that take turns. On SQLite one begins after the end of the other.
#[derive(Clone, Default)]
struct Turns {
    first: Arc<Notify>,
    second: Arc<Notify>,
}

impl Turns {
    /// Lets the second one begin, and waits for it until [`OPEN`] is over.
    async fn pass(&self) {
        self.first.notify_one();
        let _ = timeout(OPEN, self.second.notified()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn end_of_a_session_at_the_provider_finds_the_sign_in_in_progress() {
    let world = world(Kind::Postgres).await;
    let (tenant, turns) = (world.ctx().tenant, Turns::default());
    let provider = ProviderId::new(&*world.ctx().env, &tenant);
    let (of, turn) = (provider.clone(), turns.clone());
    let sign_in = async move |ctx: &Ctx, tx: &mut Tx| {
        assert!(!tx.has_ended(&of, &SESSION).await?);
        let user = UserId::new(&*ctx.env);
        let session = open(ctx, tx, &user).await?;
        tx.set_provider_session(&session.id, &at(&of, Some(SESSION))).await?;
        turn.pass().await;
        Ok(user)
    };
    let turn = turns.clone();
    let end = async move |ctx: &Ctx, tx: &mut Tx| {
        tx.remember_ended(&provider, &SESSION, ctx.now.plus_millis(1000)).await?;
        let at_provider = EndedAtProvider::Session { session: SESSION, subject: None };
        let users = tx.users_at_provider(&provider, &at_provider).await?;
        turn.second.notify_one();
        Ok(users)
    };
    let ending = async {
        turns.first.notified().await;
        world.change(&tenant, end).await
    };
    let (user, users) = tokio::join!(world.change(&tenant, sign_in), ending);
    assert_eq!(users.unwrap(), [user.unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_finds_the_end_of_its_session_at_the_provider_in_progress() {
    let world = world(Kind::Postgres).await;
    let (tenant, turns) = (world.ctx().tenant, Turns::default());
    let provider = ProviderId::new(&*world.ctx().env, &tenant);
    let (of, turn) = (provider.clone(), turns.clone());
    let end = async move |ctx: &Ctx, tx: &mut Tx| {
        tx.remember_ended(&of, &SESSION, ctx.now.plus_millis(1000)).await?;
        turn.pass().await;
        Ok(())
    };
    let turn = turns.clone();
    let sign_in = async move |_: &Ctx, tx: &mut Tx| {
        let found = (tx.has_ended(&provider, &SESSION).await?, tx.has_ended(&provider, &[4; 32]).await?);
        turn.second.notify_one();
        Ok(found)
    };
    let signing_in = async {
        turns.first.notified().await;
        world.change(&tenant, sign_in).await
    };
    let (done, found) = tokio::join!(world.change(&tenant, end), signing_in);
    done.unwrap();
    assert_eq!(found.unwrap(), (true, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn id_tokens_of_unused_sessions_are_deleted() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let provider = ProviderId::new(&*ctx.env, &ctx.tenant);
            let session = open(ctx, tx, &UserId::new(&*ctx.env)).await?;
            tx.set_provider_session(&session.id, &at(&provider, None)).await?;
            let day = 24 * 3_600_000;
            for (days, kept) in [(30, true), (32, false)] {
                tx.purge_expired(ctx.now.plus_millis(days * day)).await?;
                let found = tx.provider_session(&session.id).await?.unwrap();
                assert_eq!(found.logout_hint.is_some(), kept, "after {days} days");
            }
            Ok(())
        };
        world.change(&tenant, work).await.unwrap();
    })
    .await;
}
