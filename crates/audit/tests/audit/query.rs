//! Searches of audit entries.

use std::sync::Arc;

use async_trait::async_trait;
use audit::{
    AuditQueryStore, AuditStore, CODES_BY_INDEX, Entry, Event, Filter, FilterError, ListedEntry, MAX_SCANNED,
    MemoryAuditLog, Order, Position, Search, SearchError, Span, count_days,
    events::{catalog, users::UserDeactivated},
    find, follow,
};
use kernel::{Actor, Ctx, Env, ManualEnv, StoreResult, TenantId, Timestamp};

use crate::support::World;

fn actions(words: &str) -> Option<Vec<String>> {
    Filter::default().with_actions(words, catalog()).unwrap().actions
}

#[test]
fn list_of_codes_and_prefixes_is_expanded() {
    let two = Some(vec!["ACCOUNT_GROUP_CREATED".to_owned(), "ACCOUNT_PAT_REVOKED".to_owned()]);
    assert_eq!(actions("ACCOUNT_PAT_REVOKED, ACCOUNT_GROUP_CREATED,ACCOUNT_PAT_REVOKED"), two);
    let groups =
        ["ACCOUNT_GROUP_CREATED", "ACCOUNT_GROUP_DELETED", "ACCOUNT_GROUP_UPDATED"].map(str::to_owned);
    assert_eq!(actions("ACCOUNT_GROUP_*"), Some(groups.to_vec()));
    assert_eq!(actions("ACCOUNT_GROUP_*,ACCOUNT_GROUP_CREATED"), Some(groups.to_vec()));
    assert_eq!(actions("*"), None, "all codes together are no filter");
    assert_eq!(actions("ACCOUNT_*"), None);
    assert_eq!(actions("service.payroll.sealed,ACCOUNT_*"), None);
    let one = Filter { actions: two.clone(), ..Filter::default() };
    assert_eq!(one.with_actions("*", catalog()), Ok(Filter::default()));
    assert_eq!(actions("NOTHING_*"), Some(Vec::new()), "an unknown prefix finds nothing");
    assert_eq!(actions("service.payroll.sealed"), Some(vec!["service.payroll.sealed".to_owned()]));
    for odd in ["", "A,,B", "ACCOUNT_*_CREATED", "**", "A B", "ä", "*A"] {
        let refused = Filter::default().with_actions(odd, catalog());
        assert!(matches!(refused, Err(FilterError::Action(_))), "{odd}");
    }
    let many: Vec<_> = (0..201).map(|number| format!("A{number}")).collect();
    assert_eq!(Filter::default().with_actions(&many.join(","), catalog()), Err(FilterError::Actions));
    assert_eq!(actions(&many[1..].join(",")).unwrap().len(), 200);
    assert_eq!(Filter::default().with_text(&"x".repeat(201)), Err(FilterError::Text));
    assert_eq!(Filter::default().with_text(&"x".repeat(200)).unwrap().text, Some("x".repeat(200)));
}

#[test]
fn resource_type_is_expanded_to_its_codes() {
    let groups = Filter::default().with_resource_type("group", catalog());
    let codes =
        ["ACCOUNT_GROUP_CREATED", "ACCOUNT_GROUP_DELETED", "ACCOUNT_GROUP_UPDATED"].map(str::to_owned);
    assert_eq!(
        (groups.actions.as_deref(), groups.resource_type.as_deref()),
        (Some(&codes[..]), Some("group"))
    );
    assert!(groups.is_of_few_codes() && !groups.is_indexed());
    let both = Filter::default()
        .with_actions("ACCOUNT_GROUP_CREATED,ACCOUNT_USER_CREATED,OTHER", catalog())
        .unwrap();
    let both = both.with_resource_type("group", catalog()).actions.unwrap();
    assert_eq!(
        both,
        ["ACCOUNT_GROUP_CREATED", "OTHER"],
        "a code outside the catalog may have any resource type"
    );
    assert!(Filter::default().with_resource_type("nothing", catalog()).is_empty());
}

#[tokio::test]
async fn entry_matches_if_all_conditions_do() {
    let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let entry = log_of(1, &env).await.latest(1).await.unwrap().remove(0);
    let (now, any) = (entry.timestamp, Filter::default());
    let action = || Some(vec![entry.action.clone()]);
    for (filter, matches) in [
        (any.clone(), true),
        (Filter { actor: Some("test".into()), ..any.clone() }, true),
        (Filter { actor: Some("other".into()), ..any.clone() }, false),
        (Filter { actions: action(), ..any.clone() }, true),
        (Filter { actions: Some(vec!["OTHER".into()]), ..any.clone() }, false),
        (Filter { resource_type: Some("user".into()), ..any.clone() }, true),
        (Filter { resource_type: Some("group".into()), ..any.clone() }, false),
        (Filter { resource_id: Some("usr_0".into()), ..any.clone() }, true),
        (Filter { resource_id: Some("usr_1".into()), ..any.clone() }, false),
        (Filter { from: Some(now), ..any.clone() }, true),
        (Filter { from: Some(now.plus_millis(1)), ..any.clone() }, false),
        (Filter { to: Some(now.plus_millis(1)), ..any.clone() }, true),
        (Filter { to: Some(now), ..any.clone() }, false),
        (any.clone().with_text("USR_0").unwrap(), true),
        (any.clone().with_text("usr_1").unwrap(), false),
        (Filter { actor: Some("other".into()), actions: action(), ..any.clone() }, false),
    ] {
        assert_eq!(filter.matches(&entry), matches, "{filter:?}");
    }
}

#[test]
fn one_condition_is_answered_by_an_index() {
    let one = || Some(vec!["A".to_owned()]);
    let (actor, resource_id) = (Some("usr_1".to_owned()), Some("usr_2".to_owned()));
    let time = Some("2026-01-01T00:00:00.000Z".parse::<Timestamp>().unwrap());
    let all = Filter {
        actor: actor.clone(),
        actions: one(),
        resource_type: Some("user".into()),
        resource_id: resource_id.clone(),
        text: Some("x".into()),
        from: time,
        to: time,
    };
    let times = Filter { from: time, to: time, ..Filter::default() };
    assert_eq!(all.range(), Filter { resource_id, ..times.clone() });
    let of_actor = Filter { resource_id: None, ..all.clone() };
    assert_eq!(of_actor.range(), Filter { actor, ..times.clone() });
    let of_action = Filter { actor: None, ..of_actor };
    assert_eq!(of_action.range(), Filter { actions: one(), ..times.clone() });
    assert_eq!(Filter { actions: None, ..of_action }.range(), times);
    assert!(times.is_indexed() && !all.is_indexed());

    let codes = |count: usize| Some(vec!["A".to_owned(); count]);
    let few = Filter { actions: codes(CODES_BY_INDEX), ..times };
    assert!(few.is_of_few_codes());
    for more in [
        Filter { actions: codes(CODES_BY_INDEX + 1), ..few.clone() },
        Filter { actions: None, ..few.clone() },
        Filter { actor: Some("usr_1".into()), ..few.clone() },
        Filter { resource_id: Some("usr_1".into()), ..few.clone() },
        Filter { text: Some("x".into()), ..few },
    ] {
        assert!(!more.is_of_few_codes(), "{more:?}");
    }
}

async fn log_of(count: usize, env: &Arc<ManualEnv>) -> MemoryAuditLog {
    let mut log = MemoryAuditLog::new(audit::EntryKeys::derive(
        &kernel::MasterKeys::new(vec![("test".to_owned(), kernel::Secret::new(vec![7; 32]))]).unwrap(),
    ));
    let tenant = TenantId::new(&**env);
    for number in 0..count {
        let ctx = Ctx::new(Arc::clone(env) as Arc<dyn Env>, tenant.clone(), Actor::system("test"));
        let entry = Entry::new(&ctx, Event::new(format!("usr_{number}"), &UserDeactivated {}));
        log.append(&[entry]).await.unwrap();
    }
    log
}

#[tokio::test]
async fn pages_neither_repeat_nor_omit_entries() {
    let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let mut log = log_of(25, &env).await;
    let filter = Filter::default();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let found = find(&mut log, &filter, after, 10).await.unwrap();
        seen.extend(found.entries.into_iter().map(|listed| listed.entry.id));
        // Entries added meanwhile are newer than the page, so they are not on later pages.
        let ctx = Ctx::new(env.clone() as Arc<dyn Env>, TenantId::new(&*env), Actor::system("test"));
        let ctx = Ctx { now: ctx.now.plus_millis(1), ..ctx };
        log.append(&[Entry::new(&ctx, Event::new("usr_x", &UserDeactivated {}))]).await.unwrap();
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    let mut unique = seen.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((seen.len(), unique.len()), (25, 25));
}

#[tokio::test]
async fn text_search_stops_and_continues() {
    let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let mut log = log_of(MAX_SCANNED + 10, &env).await;
    // Search for the oldest entry. All entries have the same time, so they are ordered by id.
    let all = find(&mut log, &Filter::default(), None, MAX_SCANNED + 10).await.unwrap().entries;
    let last = &all.last().unwrap().entry.resource_id;
    let filter = Filter::default().with_text(&format!("{} ", last.to_uppercase())).unwrap();
    let found = find(&mut log, &filter, None, 50).await.unwrap();
    assert!(found.entries.is_empty());
    assert_eq!(found.scan_stopped_at, Some("2026-01-01T00:00:00.000Z".parse::<Timestamp>().unwrap()));
    let stopped: Position = found.next.unwrap();
    assert_eq!(stopped.id, all.get(MAX_SCANNED - 1).unwrap().entry.id);
    let found = find(&mut log, &filter, Some(stopped), 50).await.unwrap();
    let ids: Vec<_> = found.entries.iter().map(|listed| &listed.entry.resource_id).collect();
    assert_eq!((ids, found.next, found.scan_stopped_at), (vec![last], None, None));
    // A full page does not say where the scan stopped.
    let filter = Filter::default().with_text("account_user_deactivated").unwrap();
    let found = find(&mut log, &filter, None, 50).await.unwrap();
    assert_eq!((found.entries.len(), found.scan_stopped_at), (50, None));
    assert!(found.next.is_some());
    assert!(
        find(&mut log, &Filter { actions: Some(Vec::new()), ..Filter::default() }, None, 5)
            .await
            .unwrap()
            .entries
            .is_empty()
    );
}

#[tokio::test]
async fn cursor_continues_its_own_search_only() {
    let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let mut log = log_of(3, &env).await;
    let cursor_of = |page| serde_json::to_value(page).unwrap()["nextCursor"].as_str().map(str::to_owned);
    let newest = |filter, cursor: Option<&str>| Search::new(filter, Order::Newest, cursor);
    let first = newest(Filter::default(), None).unwrap().page(&mut log, 2).await.unwrap();
    let cursor = cursor_of(first).unwrap();
    let last = newest(Filter::default(), Some(&cursor)).unwrap().page(&mut log, 2).await.unwrap();
    assert_eq!(cursor_of(last), None);
    let other = Filter { actor: Some("usr_1".into()), ..Filter::default() };
    assert!(matches!(newest(other, Some(&cursor)), Err(SearchError::Cursor)));
    assert!(matches!(newest(Filter::default(), Some("seq-0")), Err(SearchError::Cursor)));
    let sequence = Search::new(Filter::default(), Order::Sequence, Some("seq-0")).unwrap();
    assert!(sequence.is_indexed());
    let of_text = || Filter { text: Some("x".into()), ..Filter::default() };
    assert!(!Search::new(of_text(), Order::Sequence, None).unwrap().is_indexed());
    assert!(!newest(of_text(), None).unwrap().is_indexed());
    assert!(newest(Filter::default(), None).unwrap().is_indexed());
    let few = Filter { actions: Some(vec!["A".into(), "B".into()]), ..Filter::default() };
    assert!(few.is_of_few_codes() && !few.is_indexed() && newest(few, None).unwrap().is_indexed());
    let page = sequence.page(&mut log, 2).await.unwrap();
    assert_eq!(cursor_of(page).as_deref(), Some("seq-0"), "nothing is sealed yet");
    assert!(matches!(Order::read(Some("oldest")), Err(error) if error.to_string().starts_with("order: ")));
}

#[tokio::test]
async fn entries_in_log_order_say_their_positions() {
    let mut world = World::new();
    world.append(4).await;
    world.seal().await;
    let search = Search::new(Filter::default(), Order::Sequence, Some("seq-1")).unwrap();
    let page = serde_json::to_value(search.page(&mut world.audit_log, 2).await.unwrap()).unwrap();
    let positions = page["entries"].as_array().unwrap().iter().map(|entry| entry["sequence"].as_u64());
    assert_eq!(positions.collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!(page["nextCursor"], "seq-3");
}

/// A log of which each read returns the same entries, and what was read.
struct Scanned {
    size: u64,
    has_time: bool,
    found: Vec<ListedEntry>,
    /// The ranges of positions.
    ranges: Vec<(u64, u64)>,
    /// The requested numbers of entries.
    limits: Vec<usize>,
}

impl Scanned {
    fn new(size: u64, found: Vec<ListedEntry>) -> Self {
        Self { size, has_time: true, found, ranges: Vec::new(), limits: Vec::new() }
    }
}

#[async_trait]
impl AuditQueryStore for Scanned {
    async fn entries(&mut self, _: &Filter, _: Span<'_>, limit: usize) -> StoreResult<Vec<ListedEntry>> {
        self.limits.push(limit);
        Ok(self.found.clone())
    }
    async fn further(&mut self, _: &Filter, _: Option<&Position>, _: usize) -> StoreResult<Option<Position>> {
        Ok(self.found.first().map(ListedEntry::position))
    }
    async fn count(&mut self, _: Option<&str>, _: Timestamp, _: Timestamp, _: usize) -> StoreResult<usize> {
        Ok(0)
    }
    fn has_time(&self) -> bool {
        self.has_time
    }
    async fn sealed_size(&mut self) -> StoreResult<u64> {
        Ok(self.size)
    }
    async fn sealed_entries(
        &mut self,
        _: &Filter,
        from: u64,
        to: u64,
        limit: usize,
    ) -> StoreResult<Vec<(u64, ListedEntry)>> {
        self.ranges.push((from, to));
        self.limits.push(limit);
        Ok(self.found.iter().map(|entry| (from, entry.clone())).collect())
    }
}

#[tokio::test]
async fn each_scan_asks_only_for_what_the_page_lacks() {
    let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
    let mut log = log_of(3, &env).await;
    let all = find(&mut log, &Filter::default(), None, 3).await.unwrap();
    assert_eq!((all.entries.len(), all.next), (3, None), "a full page that is the last");
    let one = all.entries[..1].to_vec();
    let mut log = Scanned::new(60_000, one.clone());
    let page = follow(&mut log, &Filter::default(), 0, 3).await.unwrap();
    assert_eq!((page.entries.len(), page.next, log.limits), (3, 10_001, vec![3, 2, 1]));
    let text = Filter::default().with_text("x").unwrap();
    let mut log = Scanned::new(60_000, one);
    let page = find(&mut log, &text, None, 3).await.unwrap();
    assert_eq!((page.entries.len(), log.limits), (3, vec![4, 3, 2, 1]));
}

#[tokio::test]
async fn page_in_log_order_reads_a_limited_part() {
    let last = 3 + MAX_SCANNED as u64;
    for (from, has_time, ranges, next) in [
        (3, true, 10, last),
        (3, false, 1, 5_003),
        (59_000, true, 1, 60_000),
        (60_000, true, 0, 60_000),
        (60_001, true, 0, 60_001),
    ] {
        let mut log = Scanned { has_time, ..Scanned::new(60_000, Vec::new()) };
        let page = follow(&mut log, &Filter::default(), from, 5).await.unwrap();
        assert_eq!((log.ranges.len(), page.next), (ranges, next), "{from}");
        assert!(log.ranges.iter().all(|(from, to)| to - from <= 5_000), "{:?}", log.ranges);
        assert_eq!((page.size, page.is_ahead), (60_000, from > 60_000));
    }
    let nothing = Filter { actions: Some(Vec::new()), ..Filter::default() };
    let mut log = Scanned::new(60_000, Vec::new());
    let page = follow(&mut log, &nothing, 3, 5).await.unwrap();
    assert_eq!((log.ranges.len(), page.next), (0, 60_000), "a filter that nothing matches");
}

#[tokio::test]
async fn entries_are_counted_by_day() {
    let env = Arc::new(ManualEnv::at("2026-01-01T12:00:00.000Z".parse().unwrap()));
    let mut log = log_of(3, &env).await;
    let days = count_days(&mut log, &[], env.now().plus_millis(24 * 3_600_000), 3).await.unwrap();
    assert_eq!(days.iter().map(|day| day.count).collect::<Vec<_>>(), [0, 3, 0]);
    assert_eq!(days[1].from.to_string(), "2026-01-01T00:00:00.000Z");
    let action = log.latest(1).await.unwrap().remove(0).action;
    for (actions, count) in [(&["OTHER"][..], 0), (&[&*action, "OTHER"], 3)] {
        let days = count_days(&mut log, actions, env.now(), 1).await.unwrap();
        assert_eq!(days[0].count, count);
    }
}
