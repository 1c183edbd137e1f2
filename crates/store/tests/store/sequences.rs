//! Compares generated sequences of operations with the reference models of the areas, on both databases.
//!
//! `SEQUENCES=10000 cargo test -p store --test store sequences` runs that many of each kind, `SEQUENCES=4000..10000` those
//! with these seeds.

use std::{ops::Range, sync::Arc};

use audit::{Audited, Event, Unaudited, events::users::UserDeactivated};
use directory::{NewPerson, NewTenant, Role, Tenant, TenantStore, Tier};
use kernel::{Ctx, ManualEnv, StoreError, TenantId};
use scim_core::{Answer, Request, Service};
use sign_in::Error;
use store::{Store, Tx};

use crate::support::{World, on_both};

/// Returns the seeds of the sequences to run, and how many steps each has. Without the variable, few long ones.
fn sequences(few: u64, long: usize, short: usize) -> (Range<u64>, usize) {
    #[expect(clippy::disallowed_methods, reason = "a setting of the tests")]
    let Ok(set) = std::env::var("SEQUENCES") else { return (0..few, long) };
    let (first, end) = set.split_once("..").unwrap_or(("0", &set));
    (first.parse().unwrap()..end.parse().unwrap(), short)
}

fn clock() -> Arc<ManualEnv> {
    Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()))
}

/// Creates a tenant.
async fn tenant(world: &World, seed: u64) -> TenantId {
    let new = NewTenant { slug: format!("acme-{seed}"), name: "Acme".into(), tier: Tier::Standard };
    let tenant = Tenant::new(&*world.env, new).unwrap();
    let id = tenant.id.clone();
    world.change(&id, async move |_, tx| tx.insert_tenant(&tenant).await).await.unwrap();
    id
}

struct OnDatabase<'a>(&'a Store);

impl sign_in::conformance::Bench for OnDatabase<'_> {
    type Store = Tx;

    async fn run<T: Send + 'static>(
        &mut self,
        ctx: Ctx,
        work: impl AsyncFnOnce(&Ctx, &mut Tx) -> Result<Audited<T>, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.0.write(ctx, work).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_sign_ins_match_the_model() {
    on_both(async |world: World| {
        let (seeds, steps) = sequences(4, 500, 40);
        for seed in seeds {
            let id = tenant(&world, seed).await;
            let bench = OnDatabase(&world.store);
            Box::pin(sign_in::conformance::sequence(bench, id, clock(), seed, steps)).await;
        }
    })
    .await;
}

/// A request that was refused, whose transaction is rolled back.
enum Refused {
    Answered(Box<Answer>),
    Failed(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl scim_core::conformance::Bench for OnDatabase<'_> {
    async fn answer(&mut self, ctx: Ctx, request: Request<'_>) -> Answer {
        let (method, path) = (request.method.to_owned(), request.path.to_owned());
        let (query, body) = (request.query.to_owned(), request.body.to_vec());
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let request = Request { method: &method, path: &path, query: &query, body: &body };
            let answer = Service::new(scim_core::conformance::BASE, tx).answer(ctx, request).await;
            if answer.status >= 400 {
                return Err(Refused::Answered(Box::new(answer)));
            }
            // Reads need no entry, and changes get one that says nothing about them.
            Ok(match method.as_str() {
                "GET" => Audited::without(answer, Unaudited::StepTaken),
                _ => Audited::new(answer, Event::new("test", &UserDeactivated {})),
            })
        };
        match self.0.write(ctx, work).await {
            Ok(answer) => answer,
            Err(Refused::Answered(answer)) => *answer,
            Err(Refused::Failed(error)) => Answer::error(error.into()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_scim_requests_match_the_model() {
    on_both(async |world: World| {
        let (seeds, steps) = sequences(5, 40, 12);
        for seed in seeds {
            let id = tenant(&world, seed).await;
            let mut bench = OnDatabase(&world.store);
            Box::pin(scim_core::conformance::sequence(&mut bench, &id, &clock(), seed, steps)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_step_ups_match_the_model() {
    on_both(async |world: World| {
        let (seeds, steps) = sequences(10, 60, 40);
        for seed in seeds {
            let id = tenant(&world, seed).await;
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                stepup::conformance::sequence(tx, &ctx.tenant, &clock(), seed, steps).await;
                Ok(())
            };
            world.change(&id, work).await.unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_sessions_match_the_model() {
    on_both(async |world: World| {
        let (seeds, steps) = sequences(10, 60, 40);
        for seed in seeds {
            let id = tenant(&world, seed).await;
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                let mut users = Vec::new();
                for name in ["ada", "bob"] {
                    let email = format!("{name}@example.com").parse().unwrap();
                    let new = NewPerson { email, role: Role::Member, display_name: None };
                    users.push(directory::create_person(ctx, tx, new).await.unwrap().id);
                }
                let users = users.try_into().unwrap();
                sessions::conformance::sequence(tx, &ctx.tenant, users, &clock(), seed, steps).await;
                Ok(())
            };
            world.change(&id, work).await.unwrap();
        }
    })
    .await;
}
