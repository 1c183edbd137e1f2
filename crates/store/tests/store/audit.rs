//! Searches of the audit log have the same results on both databases and in memory.

use std::{sync::Arc, time::Duration};

use audit::{
    AuditStore, Audited, Entry, Event, Exported, Filter, ListedEntry, MemoryAuditLog, Position, Unaudited,
    events::{
        pats::PatRevoked,
        users::{UserDeactivated, UserUpdated},
    },
    find,
    log::{CheckpointKeys, Lease, SealPolicy, seal},
};
use kernel::{Actor, Ctx, Env, StoreError, TenantId, Timestamp};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use scim_core::{User, UserDraft, UserStore};
use serde_json::json;
use store::{ExportOutcome, Tx};
use tokens::NewScimToken;

use crate::{
    saml,
    support::{World, on_both},
};

/// Uses few distinct values, so that filters match and several entries have the same time.
fn entry(env: &Arc<dyn Env>, tenant: &TenantId, (actor, what, about, time): (u8, u8, u8, u8)) -> Entry {
    let actor = match actor {
        0 => Actor::scim("sct_1"),
        number => Actor { id: format!("usr_{number}"), ..Actor::system("x") },
    };
    let ctx = Ctx::new(Arc::clone(env), tenant.clone(), actor);
    let now = Timestamp::from_unix_millis(1_700_000_000_000 + i64::from(time));
    let event = match what {
        0 => Event::new(format!("usr_{about}"), &UserDeactivated {}),
        1 => Event::new(format!("usr_{about}"), &UserUpdated { changed: vec!["Name_100%!Ä".into()] }),
        _ => Event::new(format!("ptk_{about}"), &PatRevoked { user: format!("usr_{about}") }),
    };
    Entry::new(&Ctx { now, ..ctx }, event)
}

fn filters() -> impl Strategy<Value = Filter> {
    let time = || {
        prop::option::of((0..16_i64).prop_map(|time| Timestamp::from_unix_millis(1_700_000_000_000 + time)))
    };
    let text =
        |words: Vec<&'static str>| prop::option::of(prop::sample::select(words).prop_map(str::to_owned));
    let codes =
        ["ACCOUNT_USER_DEACTIVATED", "ACCOUNT_USER_UPDATED", "ACCOUNT_PAT_REVOKED", "ACCOUNT_NOTHING_DONE"];
    let actions = prop::option::of(prop::sample::subsequence(codes.to_vec(), 1..=4));
    (
        text(vec!["sct_1", "usr_1", "usr_2", "usr_9"]),
        actions,
        text(vec!["user", "personalAccessToken", "group"]),
        text(vec!["usr_1", "ptk_1", "usr_9"]),
        text(vec!["name_100%!", "usr_1", "%", "_", "!", "ä", "Ä", "personalaccess", "account_user", "'"]),
        time(),
        time(),
    )
        .prop_map(|(actor, actions, resource_type, resource_id, text, from, to)| Filter {
            actor,
            actions: actions.map(|actions| {
                let mut actions: Vec<_> = actions.into_iter().map(str::to_owned).collect();
                actions.sort_unstable();
                actions
            }),
            resource_type,
            resource_id,
            text,
            from,
            to,
        })
}

async fn appended(world: &World, tenant: &TenantId, entries: Vec<Entry>) {
    let ctx = Ctx { tenant: tenant.clone(), ..world.ctx() };
    let work = async move |_: &Ctx, tx: &mut Tx| {
        tx.append(&entries).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::StepTaken))
    };
    world.store.write(ctx, work).await.unwrap();
}

async fn page(
    world: &World,
    tenant: &TenantId,
    filter: &Filter,
    after: Option<Position>,
    limit: usize,
) -> audit::EntryPage {
    let filter = filter.clone();
    let find = async move |tx: &mut Tx| find(tx, &filter, after, limit).await;
    world.store.read::<_, StoreError>(tenant.clone(), find).await.unwrap()
}

fn ids(entries: &[ListedEntry]) -> Vec<&str> {
    entries.iter().map(|listed| listed.entry.id.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_matches_the_same_entries_page_by_page() {
    on_both(async |world: World| {
        let mut runner = TestRunner::new(Config::default());
        let ctx = world.ctx();
        let (tenant, other) = (ctx.tenant.clone(), TenantId::new(&*ctx.env));
        let of = (0..4_u8, 0..3_u8, 0..4_u8, 0..16_u8);
        let mut entries = |tenant: &TenantId, count: usize| {
            let values = prop::collection::vec(of.clone(), count).new_tree(&mut runner).unwrap().current();
            values.into_iter().map(|value| entry(&ctx.env, tenant, value)).collect::<Vec<_>>()
        };
        let own = entries(&tenant, 300);
        let strangers = entries(&other, 50);
        appended(&world, &tenant, own.clone()).await;
        appended(&world, &other, strangers).await;
        let entry_keys = store::testing::entry_keys();
        let mut memory = MemoryAuditLog::new(entry_keys.clone());
        memory.append(&own).await.unwrap();
        let keys = CheckpointKeys::derive(
            &kernel::MasterKeys::new(vec![("test".to_owned(), kernel::Secret::new(vec![7; 32]))]).unwrap(),
        );
        let lease = Lease { owner: "test".into(), now: ctx.now, until: ctx.now };
        let policy = SealPolicy { checkpoints: &keys, entries: &entry_keys, accepts_missing_macs: false };
        assert_eq!(seal(&mut memory, policy, &tenant, &lease, None).await.unwrap().count, 300);
        let entries = entry_keys.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let policy = SealPolicy { checkpoints: &keys, entries: &entries, accepts_missing_macs: false };
            let count = seal(tx, policy, &ctx.tenant, &lease, None).await?.count;
            Ok::<_, StoreError>(Audited::without(count, Unaudited::Sealed))
        };
        assert_eq!(world.store.write(world.ctx(), work).await.unwrap(), 300);
        for _ in 0..150 {
            let filter = filters().new_tree(&mut runner).unwrap().current();
            let (mut after, mut seen) = (None, 0);
            loop {
                let here = page(&world, &tenant, &filter, after.clone(), 20).await;
                let there = find(&mut memory, &filter, after, 20).await.unwrap();
                assert_eq!(ids(&here.entries), ids(&there.entries), "{filter:?}");
                assert_eq!((&here.next, here.scan_stopped_at), (&there.next, there.scan_stopped_at));
                for (here, there) in here.entries.iter().zip(&there.entries) {
                    assert_eq!(here.entry, there.entry, "read back as it was written");
                }
                seen += here.entries.len();
                after = here.next;
                if after.is_none() {
                    break;
                }
            }
            let all = own.iter().filter(|entry| filter.matches(&entry.stored(&entry_keys).unwrap())).count();
            assert_eq!(seen, all, "{filter:?}");
            // Also in the order of the log.
            let followed = audit::follow(&mut memory, &filter, 7, 30).await.unwrap();
            let there: Vec<_> =
                followed.entries.iter().map(|(at, listed)| (*at, listed.entry.id.clone())).collect();
            let look = async move |tx: &mut Tx| audit::follow(tx, &filter, 7, 30).await;
            let here = world.store.read::<_, StoreError>(tenant.clone(), look).await.unwrap();
            let places: Vec<_> =
                here.entries.iter().map(|(at, listed)| (*at, listed.entry.id.clone())).collect();
            assert_eq!((places, here.next), (there, followed.next));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_complete_while_entries_commit_late() {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let tenant = ctx.tenant.clone();
        let at = |time: u8| entry(&ctx.env, &tenant, (1, 0, 1, time));
        let first: Vec<_> = (0..40).map(|number| at(number * 2)).collect();
        let promised: Vec<_> = first.iter().map(|entry| entry.id.to_string()).collect();
        appended(&world, &tenant, first).await;
        let (mut seen, mut after, mut time) = (Vec::new(), None, 79);
        loop {
            let found = page(&world, &tenant, &Filter::default(), after, 7).await;
            seen.extend(found.entries.iter().map(|listed| listed.entry.id.clone()));
            after = found.next;
            if after.is_none() {
                break;
            }
            // A long transaction commits now, with entries before and after the reader's position.
            appended(&world, &tenant, vec![at(time), at(1), at(200)]).await;
            time -= 2;
        }
        let mut unique = seen.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), seen.len(), "no entry twice");
        assert!(promised.iter().all(|id| seen.contains(id)), "no committed entry is missing");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn export_reads_one_snapshot_up_to_its_limit() {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let tenant = ctx.tenant.clone();
        let some =
            |count: usize| (0..count).map(|_| entry(&ctx.env, &tenant, (1, 0, 1, 5))).collect::<Vec<_>>();
        for _ in 0..4 {
            appended(&world, &tenant, some(650)).await;
        }
        let all = |filter: Filter, most: usize| {
            let (store, tenant) = (&world.store, tenant.clone());
            let (send_outcome, ended) = std::sync::mpsc::channel();
            async move {
                let ended_with = move |ending, rows| send_outcome.send((ending, rows)).unwrap_or_default();
                (
                    store
                        .export(tenant, filter, most, false, Duration::from_mins(1), ended_with)
                        .await
                        .unwrap(),
                    ended,
                )
            }
        };
        let (mut export, ended) = all(Filter::default(), 2_600).await;
        assert!(!export.is_cut);
        let listed =
            |some: Vec<Exported>| some.into_iter().map(|exported| exported.listed).collect::<Vec<_>>();
        let mut seen = listed(export.next().await.unwrap().unwrap());
        // Entries added now are not in the snapshot.
        appended(&world, &tenant, some(50)).await;
        while let Some(more) = export.next().await {
            seen.extend(listed(more.unwrap()));
        }
        let mut unique = ids(&seen);
        unique.sort_unstable();
        unique.dedup();
        assert_eq!((seen.len(), unique.len()), (2_600, 2_600));
        assert_eq!(ended.recv().unwrap(), (ExportOutcome::Completed, 2_600));
        assert!(seen.is_sorted_by(|one, other| one.position() > other.position()));

        let (mut export, _) = all(Filter::default(), 700).await;
        assert!(export.is_cut);
        let mut count = 0;
        while let Some(more) = export.next().await {
            count += more.unwrap().len();
        }
        assert_eq!(count, 700);
        for unmatched in [
            Filter { actor: Some("nobody".into()), ..Filter::default() },
            Filter { actions: Some(Vec::new()), ..Filter::default() },
            Filter { text: Some("nothing of that kind".into()), ..Filter::default() },
        ] {
            let (mut export, ended) = all(unmatched, 10).await;
            assert!(!export.is_cut && export.next().await.is_none());
            assert_eq!(ended.recv().unwrap(), (ExportOutcome::Completed, 0));
        }

        // An unindexed search scans in steps, with and without reaching the limit.
        let text = || Filter {
            text: Some("deactivated".into()),
            from: Some(Timestamp::from_unix_millis(0)),
            ..Filter::default()
        };
        for (most, is_cut) in [(2_650, false), (2_649, true), (10, true)] {
            let (mut export, _) = all(text(), most).await;
            assert_eq!(export.is_cut, is_cut, "{most}");
            let mut seen = Vec::new();
            while let Some(more) = export.next().await {
                seen.extend(listed(more.unwrap()));
            }
            assert_eq!(seen.len(), most);
            assert!(seen.is_sorted_by(|one, other| one.position() > other.position()));
        }

        // A dropped export stops.
        let (export, ended) = all(Filter::default(), 2_650).await;
        drop(export);
        let (ending, rows) = ended.recv().unwrap();
        assert!(ending == ExportOutcome::Abandoned && rows < 2_650, "{ending:?} after {rows}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn export_names_actors_as_searches_do() {
    on_both(async |world: World| {
        let tenant = world.ctx().tenant;
        let provider = saml::provider(&*world.env, &tenant, &[]);
        saml::kept(&world, &provider).await;
        let acted = async |ctx: &Ctx, tx: &mut Tx| {
            let named =
                |name: &str| User::new(ctx, UserDraft::read(&json!({ "userName": name })).unwrap()).unwrap();
            let (ada, bob) = (named("ada"), named("bob"));
            assert!(tx.insert_user(&ada).await? && tx.insert_user(&bob).await?);
            tx.delete_user(&bob, ctx.now).await?;
            let new = NewScimToken { name: "Okta".into(), create_conflict: false, dry_run: false };
            let (token, _) = tokens::mint(ctx, tx, new).await.unwrap();
            Ok::<_, StoreError>((ada.id, bob.id, token.id))
        };
        let (ada, bob, token) = world.change(&tenant, acted).await.unwrap();
        let actors = [
            (Actor::user(&ada), Some("ada")),
            (Actor::user(&bob), None),
            (Actor::scim(token.as_str()), Some("Okta")),
            (Actor::saml(provider.id.as_str()), Some("Entra")),
            (Actor::system("test"), None),
        ];
        let by = |actor: &Actor| {
            let ctx = Ctx { actor: actor.clone(), ..world.ctx() };
            Entry::new(&ctx, Event::new("usr_1", &UserDeactivated {}))
        };
        appended(&world, &tenant, actors.iter().map(|(actor, _)| by(actor)).collect()).await;
        let mut export = world
            .store
            .export(tenant.clone(), Filter::default(), 100, false, Duration::from_mins(1), |_, _| {})
            .await
            .unwrap();
        let mut exported = Vec::new();
        while let Some(more) = export.next().await {
            exported.extend(more.unwrap().into_iter().map(|exported| exported.listed));
        }
        let found = page(&world, &tenant, &Filter::default(), None, 100).await.entries;
        for (actor, name) in &actors {
            let name_in = |listed: &[ListedEntry]| {
                let mut of_actor = listed.iter().filter(|listed| listed.entry.actor_id == actor.id);
                of_actor.next().unwrap().actor_name.clone()
            };
            assert_eq!(name_in(&exported).as_deref(), *name, "{}", actor.id);
            assert_eq!(name_in(&found).as_deref(), *name, "{}", actor.id);
        }
    })
    .await;
}
