//! Decides which refusals get an audit entry and which are only counted, because a caller who is refused repeatedly
//! could fill the audit log.
//!
//! Refusals are counted by kind: code, resource, and the payload members that say what was refused and why
//! ([`KINDS`]). So a kind that is cheap to cause does not hide others. A window of 10 seconds begins with the first
//! refusal of a kind, and up to 20 distinct refusals in it get an entry. If more follow, a closing entry is written
//! at the window's end: the payload of the last suppressed one, with their number in `suppressed`.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use audit::Event;
use credentials::attempts;
use kernel::{Ctx, Timestamp};

/// Length of a window, in milliseconds.
const WINDOW: i64 = 10_000;
/// Maximum number of entries per kind and window, over all addresses.
const MAX_ENTRIES: usize = 20;
/// Maximum number of kinds counted separately. Further kinds are counted by tenant and code.
const MAX_KINDS: usize = 10_000;
/// Maximum number of closing entries that wait to be written.
const MAX_CLOSING: usize = 10_000;
/// The payload members that distinguish kinds.
const KINDS: [&str; 7] = ["step", "reason", "reasons", "surface", "purpose", "credential", "user"];

/// A closing entry with its context.
pub(crate) type ClosingEntry = (Ctx, Event);

/// Recent refusals.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<RefusalWindows>);

#[derive(Default)]
struct RefusalWindows {
    windows: HashMap<String, Window>,
    /// Closing entries of windows that have ended.
    closing: Vec<ClosingEntry>,
    /// Number of closing entries that were dropped because `closing` was full.
    lost: u64,
}

/// The refusals of one kind since its first.
struct Window {
    ends: Timestamp,
    /// The refusals that got an entry, with their origin.
    entered: HashSet<String>,
    suppressed: u64,
    /// The last suppressed refusal.
    last: Option<ClosingEntry>,
}

impl Window {
    fn new(now: Timestamp) -> Self {
        Self { ends: now.plus_millis(WINDOW), entered: HashSet::new(), suppressed: 0, last: None }
    }

    /// A window that ends too far in the future was started before the clock was set back.
    fn has_ended(&self, now: Timestamp) -> bool {
        self.ends <= now || self.ends > now.plus_millis(WINDOW)
    }

    fn close(self) -> Option<ClosingEntry> {
        let (ctx, event) = self.last?;
        Some((ctx, Event { data: with_suppressed(&event.data, self.suppressed), ..event }))
    }
}

impl Refusals {
    /// Returns whether this refusal, of a request from `address`, gets an entry. Otherwise it is counted.
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

    /// Takes the closing entries of ended windows.
    pub(crate) fn drain_ended(&self, now: Timestamp) -> Vec<ClosingEntry> {
        self.take(|window| window.has_ended(now))
    }

    /// Takes the closing entries of all windows, for shutdown.
    pub(crate) fn take_all(&self) -> Vec<ClosingEntry> {
        self.take(|_| true)
    }

    fn take(&self, is_over: impl Fn(&Window) -> bool) -> Vec<ClosingEntry> {
        let mut counted = self.counted();
        if counted.lost > 0 {
            tracing::error!(entries = counted.lost, "lost the counts of some suppressed refusals");
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
    /// Returns the kind of a refusal. When there are too many kinds, this is only tenant and code.
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

/// Adds the number of suppressed refusals to a payload, which is a JSON object.
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
    fn refusals_from_many_addresses_do_not_fill_the_audit_log() {
        let world = World::new();
        let entered = (0..1000).filter(|number| world.is_new(&blocked("ten_1"), *number)).count();
        assert_eq!(entered, MAX_ENTRIES);
        assert!(!world.is_new(&blocked("ten_1"), 0));
        assert!(world.is_new(&blocked("ten_2"), 0), "tenants are counted separately");
        assert!(!world.is_new(&blocked("ten_2"), 0));
    }

    #[test]
    fn kinds_are_independent_and_closed_with_their_count() {
        let world = World::new();
        let entered = (0..100).filter(|number| world.is_new(&refused("MALFORMED"), *number)).count();
        assert_eq!(entered, MAX_ENTRIES);
        assert!(world.is_new(&refused("SIGNATURE_INVALID"), 1));
        assert_eq!(world.ended(), [""; 0], "the window has not ended");
        world.env.advance_millis(WINDOW);
        let [closing] = &world.ended()[..] else { panic!("one closing entry") };
        assert!(closing.contains("MALFORMED") && closing.ends_with(",\"suppressed\":80}"), "{closing}");
        assert!(world.is_new(&refused("MALFORMED"), 0), "the next window has begun");
        assert_eq!(world.ended(), [""; 0]);
    }

    #[test]
    fn counted_refusals_are_not_lost() {
        let world = World::new();
        let suppress = || {
            world.is_new(&refused("MALFORMED"), 1);
            assert!(!world.is_new(&refused("MALFORMED"), 1));
        };
        suppress();
        // The next window of the kind begins before the first one's closing entry is taken.
        world.env.advance_millis(WINDOW);
        suppress();
        assert_eq!(world.ended().len(), 1);
        let rest = world.refusals.take_all();
        assert_eq!(rest.len(), 1);
        for closing in rest {
            world.refusals.put_back(closing);
        }
        assert_eq!((world.ended().len(), world.refusals.take_all().len()), (1, 0));
        // Setting the clock back ends windows that would otherwise never end.
        suppress();
        world.env.advance_millis(-100_000);
        assert_eq!(world.ended().len(), 1);
    }

    #[test]
    fn number_of_kinds_is_limited() {
        let world = World::new();
        for number in 0..MAX_KINDS + 100 {
            world.is_new(&blocked(&format!("ten_{number}")), 1);
        }
        assert!(world.refusals.counted().windows.len() <= MAX_KINDS + 1);
        assert_eq!(world.refusals.take_all().len(), 1, "further kinds are counted together");
    }

    #[test]
    fn count_is_added_to_the_payload() {
        assert_eq!(with_suppressed("{}", 3), "{\"suppressed\":3}");
        assert_eq!(with_suppressed("{\"a\":1}", 3), "{\"a\":1,\"suppressed\":3}");
        // The catalog lists `suppressed` for each event recorded here.
        for code in [
            "ACCOUNT_STEPUP_REFUSED",
            "ACCOUNT_SAML_SIGN_IN_REFUSED",
            "ACCOUNT_OIDC_SIGN_IN_REFUSED",
            "ACCOUNT_OIDC_LOGOUT_REFUSED",
            "ACCOUNT_SAML_LOGOUT_REFUSED",
            "ACCOUNT_NETWORK_POLICY_BLOCKED",
            "ACCOUNT_ATTESTATION_POLICY_BLOCKED",
        ] {
            let spec = audit::events::catalog().specs().iter().find(|spec| spec.code == code).unwrap();
            assert!(spec.schema["properties"]["data"]["properties"]["suppressed"].is_object(), "{code}");
        }
    }
}
