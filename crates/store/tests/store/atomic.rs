//! A unit of work commits completely or not at all, and releases its locks.

use std::{sync::Arc, time::Duration};

use audit::{AuditStore, Audited, Event, Unaudited, events::users::UserDeactivated};
use futures_util::future::join_all;
use kernel::{Ctx, StoreError};
use scim_core::{OnExisting, Query, UserDraft, UserStore, users::CreatedUser};
use serde_json::json;
use store::{
    Store, Tx,
    testing::{Kind, TestDatabase},
};

use crate::support::{World, on_both};

fn draft(user_name: &str) -> UserDraft {
    UserDraft::read(&json!({ "userName": user_name, "emails": [format!("{user_name}@x.example")] })).unwrap()
}

/// Creates a user with its audit entry.
async fn create(store: &Store, ctx: Ctx, user_name: &str) -> Result<CreatedUser, scim_core::Error> {
    let draft = draft(user_name);
    let unit = async move |ctx: &Ctx, tx: &mut Tx| {
        let created = scim_core::users::create(ctx, tx, draft, OnExisting::Answer).await?;
        Ok(match &created {
            CreatedUser::New(user) => {
                let event = Event::new(user.id.as_str(), &UserDeactivated {});
                Audited::new(created, event)
            }
            CreatedUser::Existing(_) => Audited::without(created, Unaudited::NothingChanged),
        })
    };
    store.write(ctx, unit).await
}

/// Counts the tenant's users and audit entries.
async fn counts(world: &World) -> (u64, usize) {
    let count = async |tx: &mut Tx| {
        let users = tx.find_users(&Query::default(), false).await?.total;
        Ok::<_, StoreError>((users, tx.latest(100_000).await?.len()))
    };
    world.store.read(world.ctx().tenant, count).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_creates_of_one_name_create_one_user() {
    on_both(async |world: World| {
        for round in 0..50 {
            let name = format!("ada-{round}");
            let created = join_all((0..64).map(|_| create(&world.store, world.ctx(), &name))).await;
            let new = created.iter().filter(|created| matches!(created, Ok(CreatedUser::New(_)))).count();
            let same =
                created.iter().filter(|created| matches!(created, Ok(CreatedUser::Existing(_)))).count();
            assert_eq!((new, same), (1, 63), "round {round}");
        }
        assert_eq!(counts(&world).await, (50, 50), "one user and one entry each");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_or_panicking_unit_is_rolled_back() {
    on_both(async |world: World| {
        let refuse = async |ctx: &Ctx, tx: &mut Tx| {
            scim_core::users::create(ctx, tx, draft("refused"), OnExisting::Answer).await?;
            Err::<Audited<()>, _>(scim_core::Error::NotFound)
        };
        assert!(matches!(world.store.write(world.ctx(), refuse).await, Err(scim_core::Error::NotFound)));

        let panics = async |ctx: &Ctx, tx: &mut Tx| {
            scim_core::users::create(ctx, tx, draft("panics"), OnExisting::Answer).await?;
            if ctx.request_id.is_none() {
                panic!("test panic");
            }
            Err::<Audited<()>, _>(scim_core::Error::NotFound)
        };
        let aborted = world.store.write(world.ctx(), panics).await;
        assert!(matches!(aborted, Err(scim_core::Error::Store(StoreError::Aborted(_)))), "{aborted:?}");

        assert_eq!(counts(&world).await, (0, 0));
        // No lock remains: the same names can be written at once.
        create(&world.store, world.ctx(), "refused").await.unwrap();
        create(&world.store, world.ctx(), "panics").await.unwrap();
        assert_eq!(counts(&world).await, (2, 2));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn units_next_to_a_failing_one_are_committed() {
    on_both(async |world: World| {
        let units = (0..40).map(|number| {
            let (store, ctx) = (&world.store, world.ctx());
            async move {
                let unit = async move |ctx: &Ctx, tx: &mut Tx| {
                    scim_core::users::create(ctx, tx, draft(&format!("user-{number}")), OnExisting::Answer)
                        .await?;
                    match number % 4 {
                        1 => Err(scim_core::Error::NotFound),
                        2 => panic!("test panic"),
                        _ => Ok(Audited::new((), Event::new("test", &UserDeactivated {}))),
                    }
                };
                store.write(ctx, unit).await.is_ok()
            }
        });
        let kept = join_all(units).await.into_iter().filter(|kept| *kept).count();
        assert_eq!((kept, counts(&world).await.0), (20, 20));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_unit_is_rolled_back_and_releases_locks() {
    on_both(async |world: World| {
        // Suspended in the middle of its transaction, after its insert.
        let parked = Arc::new(tokio::sync::Notify::new());
        let reached = parked.clone();
        let unit = async move |ctx: &Ctx, tx: &mut Tx| {
            scim_core::users::create(ctx, tx, draft("ada"), OnExisting::Answer).await?;
            reached.notify_one();
            std::future::pending::<()>().await;
            Ok::<_, scim_core::Error>(Audited::without((), Unaudited::NothingChanged))
        };
        tokio::select! {
            done = world.store.write(world.ctx(), unit) => {
                // SQLite's writer rejects a unit of work that awaits anything but storage.
                assert_eq!(world.kind, Kind::Sqlite);
                assert!(matches!(done, Err(scim_core::Error::Store(StoreError::Aborted(_)))), "{done:?}");
            }
            () = async { parked.notified().await; tokio::task::yield_now().await }, if world.kind == Kind::Postgres => {}
        }
        // If the cancelled unit still held its lock, this would wait until `lock_timeout`.
        let again = tokio::time::timeout(Duration::from_secs(4), create(&world.store, world.ctx(), "ada")).await;
        assert!(matches!(again, Ok(Ok(CreatedUser::New(_)))), "{again:?}");
        assert_eq!(counts(&world).await, (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_unit_cannot_write() {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let user = scim_core::User::new(&ctx, draft("ada")).unwrap();
        let sneaky = async move |tx: &mut Tx| tx.insert_user(&user).await;
        let refused = world.store.read(ctx.tenant, sneaky).await;
        assert!(matches!(refused, Err(StoreError::Aborted(_))), "{refused:?}");
        assert_eq!(counts(&world).await, (0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn change_declared_as_none_is_refused() {
    on_both(async |world: World| {
        let silent = async |ctx: &Ctx, tx: &mut Tx| {
            scim_core::users::create(ctx, tx, draft("ada"), OnExisting::Answer).await?;
            Ok::<_, scim_core::Error>(Audited::without((), Unaudited::NothingChanged))
        };
        let refused = world.store.write(world.ctx(), silent).await;
        assert!(matches!(refused, Err(scim_core::Error::Store(StoreError::Aborted(_)))), "{refused:?}");
        assert_eq!(counts(&world).await, (0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_during_a_lock_fail_and_later_ones_succeed() {
    let world = crate::support::world(Kind::Sqlite).await;
    let mut other = world.raw_sqlite();
    diesel::connection::SimpleConnection::batch_execute(&mut other, "BEGIN IMMEDIATE").unwrap();
    let start = std::time::Instant::now();
    let names: Vec<_> = (0..20).map(|number| format!("ada-{number}")).collect();
    let refused = join_all(names.iter().map(|name| create(&world.store, world.ctx(), name))).await;
    let unavailable = |done: &Result<CreatedUser, scim_core::Error>| {
        matches!(done, Err(scim_core::Error::Store(StoreError::Unavailable(_))))
    };
    assert!(refused.iter().all(unavailable), "{refused:?}");
    // The first unit waits by itself. Units that arrived meanwhile fail together, at the latest after a second wait.
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    diesel::connection::SimpleConnection::batch_execute(&mut other, "ROLLBACK").unwrap();
    assert!(create(&world.store, world.ctx(), "ada").await.is_ok());
    assert_eq!(counts(&world).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_database_can_be_opened_concurrently() {
    let database = TestDatabase::new(Kind::Sqlite).await;
    let opened: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Store::open(&database.url, 1, store::testing::entry_keys()).map(|_| ())))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(opened.iter().all(Result::is_ok), "{opened:?}");
}
