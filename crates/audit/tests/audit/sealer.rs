//! Which logs a sealer seals, and what it reports.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use audit::{
    MacProblem,
    log::{AT_ONCE, Lease, SealObserver, SealProgress, SealQueue, Sealer, UnsealedLog},
};
use kernel::{Env, ManualEnv, StoreError, StoreResult, TenantId, Timestamp};

/// Logs with scripted results of sealing. A log without further results has no unsealed entries.
#[derive(Default)]
struct Logs {
    logs: Mutex<BTreeMap<TenantId, Log>>,
    calls: Mutex<Vec<(TenantId, Option<String>)>>,
}

#[derive(Default)]
struct Log {
    lease: Option<(String, Timestamp)>,
    first_at: Option<Timestamp>,
    results: VecDeque<StoreResult<SealProgress>>,
}

#[async_trait]
impl SealQueue for Logs {
    async fn next_unsealed(&self, after: Option<&TenantId>) -> StoreResult<Option<UnsealedLog>> {
        let logs = self.logs.lock().unwrap();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut unsealed = logs.range((from, Bound::Unbounded)).filter(|(_, log)| !log.results.is_empty());
        Ok(unsealed.next().map(|(tenant, log)| UnsealedLog {
            tenant: tenant.clone(),
            first: "aud_1".into(),
            lease: log.lease.clone(),
        }))
    }

    async fn seal(
        &self,
        tenant: &TenantId,
        lease: Lease,
        after: Option<String>,
    ) -> StoreResult<SealProgress> {
        self.calls.lock().unwrap().push((tenant.clone(), after));
        let mut logs = self.logs.lock().unwrap();
        let log = logs.get_mut(tenant).unwrap();
        log.lease = Some((lease.owner, lease.until));
        log.results.pop_front().unwrap()
    }

    async fn entry_time(&self, tenant: &TenantId, _: &str) -> StoreResult<Option<Timestamp>> {
        Ok(self.logs.lock().unwrap()[tenant].first_at)
    }
}

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Seen {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn push(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

impl SealObserver for Seen {
    fn failed(&self, _: Option<&TenantId>, error: &StoreError) {
        self.push(format!("failed: {error}"));
    }
    fn refused(&self, _: &TenantId, entries: usize, first: Option<&(String, MacProblem)>) {
        self.push(format!("refused {entries}, first {}", first.unwrap().0));
    }
    fn unauthenticated(&self, entries: usize) {
        self.push(format!("unauthenticated {entries}"));
    }
    fn waits_long(&self, _: &TenantId, entry: &str, age: i64) {
        self.push(format!("{entry} waits {age}"));
    }
}

struct World {
    env: Arc<ManualEnv>,
    logs: Arc<Logs>,
    seen: Arc<Seen>,
    sealer: Sealer,
}

impl World {
    fn new() -> Self {
        let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let (logs, seen) = (Arc::<Logs>::default(), Arc::<Seen>::default());
        let sealer = Sealer::new(logs.clone(), seen.clone(), env.clone());
        Self { env, logs, seen, sealer }
    }

    fn log(&self, results: Vec<StoreResult<SealProgress>>) -> TenantId {
        let tenant = TenantId::new(&*self.env);
        let log = Log { results: results.into(), ..Log::default() };
        self.logs.logs.lock().unwrap().insert(tenant.clone(), log);
        tenant
    }

    fn change(&self, tenant: &TenantId, change: impl FnOnce(&mut Log)) {
        change(self.logs.logs.lock().unwrap().get_mut(tenant).unwrap());
    }

    fn calls(&self) -> Vec<(TenantId, Option<String>)> {
        std::mem::take(&mut *self.logs.calls.lock().unwrap())
    }
}

fn sealed(count: usize) -> SealProgress {
    SealProgress { count, seen: count, last: Some(format!("aud_{count}")), ..SealProgress::default() }
}

fn refused(count: usize) -> SealProgress {
    let refused = (0..count).map(|number| (format!("aud_{number}"), MacProblem::Missing));
    SealProgress { seen: count, refused: refused.collect(), ..SealProgress::default() }
}

#[tokio::test]
async fn a_long_log_is_sealed_in_several_rounds() {
    let world = World::new();
    let full = || (0..40).map(|_| Ok(sealed(AT_ONCE)));
    let long = world.log(full().chain([Ok(sealed(1))]).collect());
    assert!(world.sealer.round().await, "the round ends before the log");
    let calls = world.calls();
    assert_eq!(calls.len(), 32);
    assert_eq!((&calls[0].1, &calls[1].1), (&None, &Some("aud_1024".to_owned())));
    assert!(!world.sealer.round().await);
    let calls = world.calls();
    assert_eq!((calls.len(), &calls[0]), (9, &(long, Some("aud_1024".to_owned()))));
}

#[tokio::test]
async fn a_log_with_the_lease_of_another_sealer_is_left_out() {
    let world = World::new();
    let [theirs, ours] = [(); 2].map(|()| world.log(vec![Ok(sealed(1))]));
    let until = world.env.now().plus_millis(2_000);
    world.change(&theirs, |log| log.lease = Some(("sea_other".into(), until)));
    assert!(!world.sealer.round().await);
    assert_eq!(world.calls(), [(ours, None)]);
    world.env.advance_millis(2_000);
    world.sealer.round().await;
    assert_eq!(world.calls(), [(theirs.clone(), None)]);
    world.change(&theirs, |log| log.results.push_back(Ok(sealed(1))));
    world.sealer.last_round().await;
    let released = world.logs.logs.lock().unwrap()[&theirs].lease.clone();
    assert_eq!(released.unwrap().1, world.env.now());
}

#[test]
fn a_lease_is_replaced_by_its_owner_after_its_end_or_if_a_wrong_clock_set_it() {
    let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
    let lease = Lease { owner: "sea_one".into(), now, until: now };
    for (until, may_take) in
        [(-1, true), (0, true), (1, false), (60_000, false), (60_001, true), (60_002, true)]
    {
        assert_eq!(lease.may_take("sea_other", now.plus_millis(until)), may_take, "{until}");
    }
    assert!(lease.may_take("sea_one", now.plus_millis(1)));
}

#[tokio::test]
async fn a_round_is_limited_to_10_000_logs() {
    let world = World::new();
    for _ in 0..10_001 {
        world.log(vec![Ok(sealed(1))]);
    }
    for expected in [10_000, 1] {
        world.sealer.round().await;
        assert_eq!(world.calls().len(), expected);
    }
}

#[tokio::test]
async fn a_failure_stops_no_other_log() {
    let world = World::new();
    world.log(vec![Err(StoreError::Aborted("it is broken"))]);
    world.log(vec![Ok(sealed(1))]);
    assert!(!world.sealer.round().await);
    assert_eq!(world.calls().len(), 2);
    assert_eq!(world.seen.take()[0], format!("failed: {}", StoreError::Aborted("it is broken")));
}

#[tokio::test]
async fn refused_entries_are_reported_when_their_number_changes() {
    let world = World::new();
    let tenant = world.log(vec![Ok(refused(2))]);
    let round = async |result: SealProgress| {
        world.change(&tenant, |log| log.results = [Ok(result)].into());
        world.sealer.round().await;
        world.seen.take()
    };
    assert_eq!(round(refused(2)).await, ["refused 2, first aud_0", "unauthenticated 2"]);
    assert_eq!(round(refused(2)).await, ["unauthenticated 2"]);
    assert_eq!(round(refused(3)).await, ["refused 3, first aud_0", "unauthenticated 3"]);
    assert_eq!(round(sealed(1)).await, ["unauthenticated 0"]);
}

#[tokio::test]
async fn an_entry_that_waits_for_a_minute_is_reported_once() {
    let world = World::new();
    let tenant = world.log(vec![Ok(sealed(1))]);
    let (now, far) = (world.env.now(), world.env.now().plus_millis(10_000));
    // Another process keeps the lease without sealing.
    world.change(&tenant, |log| {
        log.lease = Some(("sea_other".into(), far));
        log.first_at = Some(now.plus_millis(-55_000));
    });
    world.sealer.round().await;
    assert_eq!(world.seen.take(), Vec::<String>::new());
    world.env.advance_millis(6_000);
    world.sealer.round().await;
    assert_eq!(world.seen.take(), ["aud_1 waits 61000"]);
    world.sealer.round().await;
    assert_eq!(world.seen.take(), Vec::<String>::new());
}
