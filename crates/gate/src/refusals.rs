//! Which refusals get an audit entry of their own, and which are counted: a caller who is refused again and again could fill
//! the audit log.
//!
//! Refusals are counted by kind: code, resource, and the members of the payload that say what was refused and why ([`KINDS`]).
//! So a kind that is cheap to cause hides no other. A window of 10 seconds begins with the first refusal of a kind. In it 20
//! different ones get an entry. When others were left out, a closing entry follows at its end: the payload of the last of
//! them, with their number in `suppressed`.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use audit::Event;
use credentials::attempts;
use kernel::{Ctx, Timestamp};

/// How long refusals of a kind are counted together, in milliseconds.
const WINDOW: i64 = 10_000;
/// How many different refusals of a kind get an entry in a window, from however many addresses.
const MAX_ENTRIES: usize = 20;
/// Kinds that are counted at the same time. Beyond that, those of a tenant and code are counted together.
const MAX_KINDS: usize = 10_000;
/// Closing entries that wait to be written while the database takes none.
const MAX_CLOSING: usize = 10_000;
/// The members of payloads by which kinds differ.
const KINDS: [&str; 7] = ["step", "reason", "reasons", "surface", "purpose", "credential", "user"];

/// A closing entry: as whom, and what.
pub(crate) type ClosingEntry = (Ctx, Event);

/// The refusals of the last seconds.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<RefusalWindows>);

#[derive(Default)]
struct RefusalWindows {
    windows: HashMap<String, Window>,
    /// Of windows that have ended.
    closing: Vec<ClosingEntry>,
    /// Closing entries that found no room in `closing`.
    lost: u64,
}

/// The refusals of one kind since its first.
struct Window {
    ends: Timestamp,
    /// Those that got an entry, as they were and from where.
    entered: HashSet<String>,
    suppressed: u64,
    /// The last one that was left out.
    last: Option<ClosingEntry>,
}

impl Window {
    fn new(now: Timestamp) -> Self {
        Self { ends: now.plus_millis(WINDOW), entered: HashSet::new(), suppressed: 0, last: None }
    }

    /// A window that ends later than one can was begun by a clock that was set back since.
    fn has_ended(&self, now: Timestamp) -> bool {
        self.ends <= now || self.ends > now.plus_millis(WINDOW)
    }

    fn close(self) -> Option<ClosingEntry> {
        let (ctx, event) = self.last?;
        Some((ctx, Event { data: with_suppressed(&event.data, self.suppressed), ..event }))
    }
}

impl Refusals {
    /// Whether this refusal gets an entry, of a request from this address. Otherwise it is counted.
    pub(crate) fn is_new(&self, ctx: &Ctx, event: &Event, address: Option<IpAddr>) -> bool {
        let (now, mut counted) = (ctx.now, self.counted());
        let kind = counted.kind_of(ctx, event);
        if counted.windows.get(&kind).is_some_and(|window| window.has_ended(now)) {
            counted.close(&kind);
        }
        let window = counted.windows.entry(kind).or_insert_with(|| Window::new(now));
        let same = format!("{} {}", attempts::origin(address), event.data);
        if window.entered.len() < MAX_ENTRIES && window.entered.insert(same) {
            return true;
        }
        window.suppressed += 1;
        window.last = Some((ctx.clone(), event.clone()));
        false
    }

    /// Takes the closing entries of the windows that have ended.
    pub(crate) fn drain_ended(&self, now: Timestamp) -> Vec<ClosingEntry> {
        self.take(|window| window.has_ended(now))
    }

    /// Takes the closing entries of all windows: the server ends.
    pub(crate) fn take_all(&self) -> Vec<ClosingEntry> {
        self.take(|_| true)
    }

    fn take(&self, is_over: impl Fn(&Window) -> bool) -> Vec<ClosingEntry> {
        let mut counted = self.counted();
        if counted.lost > 0 {
            tracing::error!(entries = counted.lost, "numbers of suppressed refusals are lost");
            counted.lost = 0;
        }
        let over: Vec<_> = counted.windows.extract_if(|_, window| is_over(window)).collect();
        let mut closing = std::mem::take(&mut counted.closing);
        closing.extend(over.into_iter().filter_map(|(_, window)| window.close()));
        closing
    }

    /// Puts back a closing entry that could not be written.
    pub(crate) fn put_back(&self, closing: ClosingEntry) {
        self.counted().push_closing(closing);
    }

    fn counted(&self) -> MutexGuard<'_, RefusalWindows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RefusalWindows {
    /// The kind of a refusal; one for all of a tenant and code when there are too many.
    fn kind_of(&self, ctx: &Ctx, event: &Event) -> String {
        let data: serde_json::Value = serde_json::from_str(&event.data).unwrap_or_default();
        let mut kind = format!("{} {} {}", ctx.tenant, event.code, event.resource_id);
        for member in KINDS.iter().filter_map(|name| data.get(name)) {
            kind = format!("{kind} {member}");
        }
        if self.windows.len() >= MAX_KINDS && !self.windows.contains_key(&kind) {
            return format!("{} {}", ctx.tenant, event.code);
        }
        kind
    }

    fn close(&mut self, kind: &str) {
        if let Some(closing) = self.windows.remove(kind).and_then(Window::close) {
            self.push_closing(closing);
        }
    }

    fn push_closing(&mut self, closing: ClosingEntry) {
        if self.closing.len() < MAX_CLOSING {
            self.closing.push(closing);
        } else {
            self.lost += 1;
        }
    }
}

/// A payload, which is a JSON object, with the number of refusals that were left out.
fn with_suppressed(data: &str, count: u64) -> String {
    match data.strip_suffix('}') {
        Some("{") => format!("{{\"suppressed\":{count}}}"),
        Some(members) => format!("{members},\"suppressed\":{count}}}"),
        None => data.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::events::{policies::NetworkPolicyBlocked, step_up::StepUpRefused};
    use kernel::{Actor, Env, ManualEnv, TenantId};
    use std::sync::Arc;

    struct World {
        env: Arc<ManualEnv>,
        tenant: TenantId,
        refusals: Refusals,
    }

    impl World {
        fn new() -> Self {
            let env = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
            let tenant = TenantId::new(&*env);
            Self { env, tenant, refusals: Refusals::default() }
        }

        fn is_new(&self, event: &Event, from: u32) -> bool {
            let env = Arc::clone(&self.env) as Arc<dyn Env>;
            let ctx = Ctx::new(env, self.tenant.clone(), Actor::system("test"));
            self.refusals.is_new(&ctx, event, Some(IpAddr::V4(from.into())))
        }

        fn ended(&self) -> Vec<String> {
            self.refusals.drain_ended(self.env.now()).into_iter().map(|(_, event)| event.data).collect()
        }
    }

    fn blocked(tenant: &str) -> Event {
        let data = NetworkPolicyBlocked { surface: "API", credential: "sct_1".into(), suppressed: None };
        Event::new(tenant, &data)
    }

    fn refused(reason: &'static str) -> Event {
        let (user, session, purpose) = ("usr_1".into(), "ses_1".into(), "PAYROLL_SEAL".into());
        Event::new("usr_1", &StepUpRefused { user, session, purpose, reason, suppressed: None })
    }

    #[test]
    fn whoever_comes_from_many_addresses_does_not_fill_the_ledger() {
        let world = World::new();
        let entered = (0..1000).filter(|number| world.is_new(&blocked("ten_1"), *number)).count();
        assert_eq!(entered, MAX_ENTRIES);
        assert!(!world.is_new(&blocked("ten_1"), 0));
        assert!(world.is_new(&blocked("ten_2"), 0), "of another tenant");
        assert!(!world.is_new(&blocked("ten_2"), 0));
    }

    #[test]
    fn a_kind_hides_no_other_and_is_closed_with_its_number() {
        let world = World::new();
        let entered = (0..100).filter(|number| world.is_new(&refused("MALFORMED"), *number)).count();
        assert_eq!(entered, MAX_ENTRIES);
        assert!(world.is_new(&refused("SIGNATURE_INVALID"), 1));
        assert_eq!(world.ended(), [""; 0], "the window goes on");
        world.env.advance_millis(WINDOW);
        let [closing] = &world.ended()[..] else { panic!("one closing entry") };
        assert!(closing.contains("MALFORMED") && closing.ends_with(",\"suppressed\":80}"), "{closing}");
        assert!(world.is_new(&refused("MALFORMED"), 0), "the next window has begun");
        assert_eq!(world.ended(), [""; 0]);
    }

    #[test]
    fn nothing_that_was_counted_is_lost() {
        let world = World::new();
        let suppress = || {
            world.is_new(&refused("MALFORMED"), 1);
            assert!(!world.is_new(&refused("MALFORMED"), 1));
        };
        suppress();
        // The next window of the kind begins before anybody has asked for the first.
        world.env.advance_millis(WINDOW);
        suppress();
        assert_eq!(world.ended().len(), 1);
        let rest = world.refusals.take_all();
        assert_eq!(rest.len(), 1);
        for closing in rest {
            world.refusals.put_back(closing);
        }
        assert_eq!((world.ended().len(), world.refusals.take_all().len()), (1, 0));
        // A clock that is set back ends the windows that it has made endless.
        suppress();
        world.env.advance_millis(-100_000);
        assert_eq!(world.ended().len(), 1);
    }

    #[test]
    fn kinds_are_bounded() {
        let world = World::new();
        for number in 0..MAX_KINDS + 100 {
            world.is_new(&blocked(&format!("ten_{number}")), 1);
        }
        assert!(world.refusals.counted().windows.len() <= MAX_KINDS + 1);
        assert_eq!(world.refusals.take_all().len(), 1, "those beyond are counted together");
    }

    #[test]
    fn the_number_is_a_member_of_the_payload() {
        assert_eq!(with_suppressed("{}", 3), "{\"suppressed\":3}");
        assert_eq!(with_suppressed("{\"a\":1}", 3), "{\"a\":1,\"suppressed\":3}");
        // Of each event that passes here the catalog knows it.
        for code in [
            "ACCOUNT_STEPUP_REFUSED",
            "ACCOUNT_SAML_SIGN_IN_REFUSED",
            "ACCOUNT_NETWORK_POLICY_BLOCKED",
            "ACCOUNT_ATTESTATION_POLICY_BLOCKED",
        ] {
            let spec = audit::events::catalog().specs().iter().find(|spec| spec.code == code).unwrap();
            assert!(spec.schema["properties"]["data"]["properties"]["suppressed"].is_object(), "{code}");
        }
    }
}
