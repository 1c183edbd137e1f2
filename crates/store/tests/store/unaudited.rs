//! Changes of sign-in data require an audit entry.

use audit::{Audited, Unaudited};
use credentials::{Factor, FactorData, FactorId, FactorStore, SignInStore};
use kernel::{Ctx, StoreError, StoreResult, UserId};
use store::Tx;

use crate::support::{World, on_both};

/// Runs a unit of work that declares that it changed nothing.
async fn unaudited(
    world: &World,
    work: impl AsyncFnOnce(&Ctx, &mut Tx) -> StoreResult<()> + Send + 'static,
) -> StoreResult<()> {
    let unit = async move |ctx: &Ctx, tx: &mut Tx| {
        work(ctx, tx).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::NothingChanged))
    };
    world.store.write(world.ctx(), unit).await
}

/// Asserts that the unit of work failed for lack of an audit entry.
fn refused(done: &StoreResult<()>) -> bool {
    matches!(done, Err(StoreError::Aborted("it changed rows without an audit entry")))
}

fn totp(world: &World, verified: bool) -> Factor {
    let now = world.env.now();
    Factor {
        id: FactorId::new(&*world.env),
        user: UserId::new(&*world.env),
        name: "Phone".into(),
        created_at: now,
        verified_at: verified.then_some(now),
        last_used_at: None,
        data: FactorData::Totp { sealed: vec![1; 32], last_step: 0 },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn password_change_requires_an_entry() {
    on_both(async |world: World| {
        let user = UserId::new(&*world.env);
        let whose = user.clone();
        let done = unaudited(&world, async move |ctx, tx| tx.set_password(&whose, "$hash", ctx.now).await);
        assert!(refused(&done.await));
        let kept = async move |tx: &mut Tx| tx.password(&user).await;
        assert!(world.store.read(world.ctx().tenant, kept).await.unwrap().is_none(), "rolled back");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn factor_change_requires_an_entry() {
    on_both(async |world: World| {
        let (pending, whole) = (totp(&world, false), totp(&world, true));

        let new = whole.clone();
        let inserted = unaudited(&world, async move |_, tx| tx.insert_factor(&new).await.map(drop)).await;
        assert!(refused(&inserted), "{inserted:?}");

        // An unconfirmed factor cannot be used, so it needs no entry.
        let new = pending.clone();
        unaudited(&world, async move |_, tx| tx.insert_factor(&new).await.map(drop)).await.unwrap();

        let mut confirmed = pending.clone();
        confirmed.verified_at = Some(world.env.now());
        let updated = unaudited(&world, async move |_, tx| tx.update_factor(&confirmed).await).await;
        assert!(refused(&updated), "{updated:?}");

        let factor = pending.clone();
        let used =
            unaudited(&world, async move |ctx, tx| tx.use_step(&factor, 7, ctx.now).await.map(drop)).await;
        assert!(refused(&used), "{used:?}");

        let kept = async move |tx: &mut Tx| tx.factors(&pending.user).await;
        let kept = world.store.read(world.ctx().tenant, kept).await.unwrap();
        assert_eq!(kept.iter().filter(|factor| factor.is_verified()).count(), 0, "rolled back");
    })
    .await;
}
