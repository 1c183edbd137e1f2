//! Connection tests: sign-ins that produce a report instead of a session.

use kernel::{Ctx, Id, Kind, StoreResult, Timestamp, UserId};

use crate::{
    id::ProviderId,
    request::{RequestId, sha256},
    store::{ConnectionTestStore, RequestStore},
    test_report::TestReport,
};

/// Minutes until a test without a response expires.
const TEST_MINUTES: i64 = 15;

/// Marks ids of connection tests.
#[derive(Debug, Clone, Copy)]
pub enum ConnectionTestKind {}
impl Kind for ConnectionTestKind {
    const PREFIX: &'static str = "try";
}
/// `try_…`
pub type ConnectionTestId = Id<ConnectionTestKind>;

/// A connection test.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionTest {
    /// `try_…`
    pub id: ConnectionTestId,
    /// The tested provider.
    pub provider: ProviderId,
    /// The user who started the test.
    pub user: UserId,
    /// When the test was started.
    pub created_at: Timestamp,
    /// When the test stops accepting a response and may be purged.
    pub expires_at: Timestamp,
    /// The result; `None` until there is one.
    pub report: Option<TestReport>,
}

/// The state of a connection test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(as = SamlTestStatus, description = "`WAITING` for a response; `EXPIRED`: none came in time.")
)]
pub enum TestStatus {
    /// It waits for a response.
    Waiting,
    /// The user would have been signed in.
    Passed,
    /// A check failed.
    Failed,
    /// No response came in time.
    Expired,
}

impl ConnectionTest {
    /// Creates a test that waits 15 minutes for a response.
    pub fn new(ctx: &Ctx, provider: ProviderId, user: UserId) -> Self {
        Self {
            id: ConnectionTestId::new(&*ctx.env),
            provider,
            user,
            created_at: ctx.now,
            expires_at: ctx.now.plus_millis(TEST_MINUTES * 60_000),
            report: None,
        }
    }

    /// Returns the state at this time. A test that has a report does not expire.
    pub fn status(&self, now: Timestamp) -> TestStatus {
        match &self.report {
            Some(report) if report.passed => TestStatus::Passed,
            Some(_) => TestStatus::Failed,
            None if now < self.expires_at => TestStatus::Waiting,
            None => TestStatus::Expired,
        }
    }
}

/// Returns the test with this id if it is of this provider and waits for a sign-in.
pub async fn waiting_test(
    store: &mut dyn ConnectionTestStore,
    provider: &ProviderId,
    id: &ConnectionTestId,
    now: Timestamp,
) -> StoreResult<Option<ConnectionTest>> {
    let found = store.connection_test(id).await?;
    Ok(found.filter(|test| test.provider == *provider && test.status(now) == TestStatus::Waiting))
}

/// Finds the test of the request that a response names, if this browser started it. The response may be unverified:
/// the user who started the test in this browser may learn why it was refused.
pub async fn test_of_request(
    store: &mut dyn RequestStore,
    provider: &ProviderId,
    request: &RequestId,
    browser: &str,
    now: Timestamp,
) -> StoreResult<Option<ConnectionTestId>> {
    let found = store.request(request).await?.filter(|request| {
        request.provider == *provider
            && request.browser == sha256(browser.as_bytes())
            && now < request.expires_at
    });
    Ok(found.and_then(|request| request.trial))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        request::{RequestPurpose, begin},
        service::ServiceProvider,
        testing::{World, fields},
    };

    #[tokio::test]
    async fn only_the_browser_that_started_a_test_finds_it() {
        let mut world = World::new();
        let (ctx, certificate) = (world.ctx(), world.certificate(100));
        let new = world.wanted(&["corp.example"], fields(&[&certificate]));
        let provider = crate::create(&ctx, &mut world.store, new).await.unwrap();
        let test = ConnectionTest::new(&ctx, provider.id.clone(), UserId::new(&*world.env));
        world.store.insert_connection_test(&test).await.unwrap();
        let service = ServiceProvider::of("https://gate.example", &provider.id);
        let purpose = RequestPurpose { return_to: "/".into(), trial: Some(test.id.clone()) };
        let begun = begin(&*world.env, &service, &provider, None, purpose).unwrap();
        world.store.insert_request(&begun.request).await.unwrap();
        let (id, browser) = (&begun.request.id, begun.browser.expose().as_str());
        let other = ProviderId::new(&*world.env, &world.tenant);
        let mut store = world.store.clone();
        let found = test_of_request(&mut store, &provider.id, id, browser, ctx.now).await.unwrap();
        assert_eq!(found, Some(test.id));
        let late = begun.request.expires_at;
        for (provider, browser, now) in
            [(&provider.id, "another", ctx.now), (&other, browser, ctx.now), (&provider.id, browser, late)]
        {
            assert_eq!(test_of_request(&mut store, provider, id, browser, now).await.unwrap(), None);
        }
    }

    #[tokio::test]
    async fn a_test_waits_a_quarter_of_an_hour_for_one_response() {
        let mut world = World::new();
        let (ctx, provider) = (world.ctx(), ProviderId::new(&*world.env, &world.tenant));
        let mut test = ConnectionTest::new(&ctx, provider.clone(), UserId::new(&*world.env));
        world.store.insert_connection_test(&test).await.unwrap();
        let end = ctx.now.plus_millis(15 * 60_000);
        assert_eq!((test.status(ctx.now), test.status(end)), (TestStatus::Waiting, TestStatus::Expired));
        let mut store = world.store.clone();
        let found = waiting_test(&mut store, &provider, &test.id, ctx.now).await.unwrap();
        assert_eq!(found.as_ref(), Some(&test));
        assert_eq!(waiting_test(&mut store, &provider, &test.id, end).await.unwrap(), None);
        let other = ProviderId::new(&*world.env, &world.tenant);
        assert_eq!(waiting_test(&mut store, &other, &test.id, ctx.now).await.unwrap(), None);
        let report = TestReport::unanswered(ctx.now);
        assert!(store.report_connection_test(&test.id, &report).await.unwrap());
        assert_eq!(waiting_test(&mut store, &provider, &test.id, ctx.now).await.unwrap(), None);
        test.report = Some(TestReport { passed: true, ..report.clone() });
        assert_eq!(test.status(end), TestStatus::Passed);
        test.report = Some(report);
        assert_eq!(test.status(end), TestStatus::Failed);
    }
}
