//! The stored session.

use std::net::IpAddr;

use kernel::{Id, Kind, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::device_bound::DeviceBinding;

/// The kind of [`SessionId`].
#[derive(Debug, Clone, Copy)]
pub enum SessionKind {}
impl Kind for SessionKind {
    const PREFIX: &'static str = "ses";
}
/// `ses_…`
pub type SessionId = Id<SessionKind>;

/// Resolution of [`Session::last_seen_at`] in minutes. The idle timeout is extended by it.
pub const SEEN_GRAIN_MINUTES: i64 = 1;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// Duration of a grace in milliseconds.
const GRACE_MILLIS: i64 = 15 * 60 * 1000;

/// How far the sign-in of a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The sign-in is complete.
    Full,
    /// A second factor is missing. The session permits only signing in, enrolling a factor and signing out.
    Owing,
}

impl Standing {
    /// Returns the stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Owing => "OWING",
        }
    }

    /// Parses a stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Full, Self::Owing].into_iter().find(|standing| standing.as_str() == text)
    }
}

/// An authentication method, serialized as in `amr` (RFC 8176) where a value exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// A password.
    #[serde(rename = "pwd")]
    Password,
    /// A passkey (proof of possession of a key).
    #[serde(rename = "pop")]
    Passkey,
    /// User verification by the passkey.
    #[serde(rename = "user")]
    UserVerified,
    /// A code from an authenticator app.
    #[serde(rename = "otp")]
    Totp,
    /// A recovery code.
    #[serde(rename = "recovery")]
    RecoveryCode,
    /// Single sign-on: a neighbouring Auth.js or an identity provider.
    #[serde(rename = "sso")]
    Sso,
}

/// Why a session temporarily permits acts without a step-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GraceKind {
    /// The session enrolled the user's first factor. It permits one more factor and recovery codes.
    FirstFactor,
    /// The session began with a recovery code. It permits enrolling one factor and removing the lost one.
    Recovery,
}

/// An act that a grace permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GraceAct {
    /// Enrolling one factor.
    Enrol,
    /// Removing one factor that was there before.
    Remove,
    /// Generating recovery codes.
    GenerateCodes,
}

/// A temporary permission to act without a step-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    /// The reason for the grace.
    pub kind: GraceKind,
    /// When the grace began.
    pub since: Timestamp,
    /// The acts that it was already used for.
    pub spent: Vec<GraceAct>,
}

impl Grace {
    /// Creates a grace that begins at `now`.
    pub fn new(kind: GraceKind, now: Timestamp) -> Self {
        Self { kind, since: now, spent: Vec::new() }
    }

    /// Whether the grace permits this act now.
    pub fn allows(&self, act: GraceAct, now: Timestamp) -> bool {
        let kind = match (self.kind, act) {
            (GraceKind::FirstFactor, GraceAct::Enrol | GraceAct::GenerateCodes)
            | (GraceKind::Recovery, GraceAct::Enrol | GraceAct::Remove) => true,
            (GraceKind::FirstFactor, GraceAct::Remove) | (GraceKind::Recovery, GraceAct::GenerateCodes) => {
                false
            }
        };
        kind && now < self.since.plus_millis(GRACE_MILLIS) && !self.spent.contains(&act)
    }
}

/// A session: one sign-in on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// `ses_…`
    pub id: SessionId,
    /// User who signed in.
    pub user: UserId,
    /// Creation time.
    pub created_at: Timestamp,
    /// When the user last authenticated.
    pub signed_in_at: Timestamp,
    /// When the session was last used, with a resolution of [`SEEN_GRAIN_MINUTES`].
    pub last_seen_at: Timestamp,
    /// The address it was last used from.
    pub ip: Option<IpAddr>,
    /// See [`device_label`](crate::device_label).
    pub device_label: String,
    /// `City, Country`, if known.
    pub location: Option<String>,
    /// How far the sign-in has come.
    pub standing: Standing,
    /// The methods that the user has authenticated with.
    pub methods: Vec<Method>,
    /// The grace of this session, if it has one.
    pub grace: Option<Grace>,
    /// SHA-256 of the neighbour's token that started this session.
    pub foreign: Option<[u8; 32]>,
    /// When the session ends at the latest, as set by the identity provider.
    pub not_after: Option<Timestamp>,
    /// When the session was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// The key of the browser, if the session is bound to one.
    pub device: Option<DeviceBinding>,
}

/// A tenant's limits for the duration of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Maximum minutes without use.
    pub idle_minutes: i64,
    /// Maximum days since creation.
    pub absolute_days: i64,
}

impl Lifetime {
    /// Returns two times: live sessions were last used after the first and created after the second.
    pub fn since(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let idle = (self.idle_minutes + SEEN_GRAIN_MINUTES) * 60_000;
        let absolute = self.absolute_days * DAY_MILLIS;
        (now.plus_millis(-idle), now.plus_millis(-absolute))
    }

    /// Whether the session is idle, too old, or past its `not_after`.
    pub fn is_over(&self, session: &Session, now: Timestamp) -> bool {
        let (used, _) = self.since(now);
        session.last_seen_at <= used || session.ends(self.absolute_days) <= now
    }
}

impl Session {
    /// Returns when the session ends regardless of use, given the maximum age in days.
    pub fn ends(&self, absolute_days: i64) -> Timestamp {
        let oldest = self.created_at.plus_millis(absolute_days * DAY_MILLIS);
        self.not_after.map_or(oldest, |end| end.min(oldest))
    }

    /// Records a use of the session. An unknown address or place leaves the last known one.
    pub fn record_use(
        &mut self,
        now: Timestamp,
        ip: Option<IpAddr>,
        device_label: String,
        location: Option<String>,
    ) {
        self.last_seen_at = now;
        self.ip = ip.or(self.ip);
        self.device_label = device_label;
        self.location = location.or(self.location.take());
    }

    /// Whether the user proved a second factor or a recovery code.
    pub fn has_second_factor(&self) -> bool {
        let second = [Method::Totp, Method::Passkey, Method::RecoveryCode];
        self.methods.iter().any(|method| second.contains(method))
    }

    /// Whether a grace permits this act without a step-up.
    pub fn has_grace(&self, act: GraceAct, now: Timestamp) -> bool {
        self.grace.as_ref().is_some_and(|grace| grace.allows(act, now))
    }

    /// Marks the grace as used for this act.
    pub fn consume(&mut self, act: GraceAct) {
        if let Some(grace) = &mut self.grace {
            grace.spent.push(act);
        }
    }

    /// Records that the user has just authenticated with a further method.
    pub fn proved(&mut self, method: Method, now: Timestamp) {
        if !self.methods.contains(&method) {
            self.methods.push(method);
        }
        self.signed_in_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(now: Timestamp) -> Session {
        Session {
            id: SessionId::new(&kernel::ManualEnv::at(now)),
            user: UserId::new(&kernel::ManualEnv::at(now)),
            created_at: now,
            signed_in_at: now,
            last_seen_at: now,
            ip: None,
            device_label: "Firefox".into(),
            location: Some("Zürich, Switzerland".into()),
            standing: Standing::Full,
            methods: Vec::new(),
            grace: None,
            foreign: None,
            not_after: None,
            revoked_at: None,
            device: None,
        }
    }

    #[test]
    fn session_ends_by_age_and_by_disuse() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let (limits, session) = (Lifetime { idle_minutes: 30, absolute_days: 2 }, session(now));
        let expected = ["2025-12-31T23:29:00.000Z", "2025-12-30T00:00:00.000Z"].map(|at| at.parse().unwrap());
        assert_eq!(
            <[Timestamp; 2]>::from(limits.since(now)),
            expected,
            "one minute is the resolution of use"
        );
        assert_eq!(session.ends(2).to_string(), "2026-01-03T00:00:00.000Z");
        for (minutes, is_over) in [(31 * 60_000 - 1, false), (31 * 60_000, true)] {
            assert_eq!(limits.is_over(&session, now.plus_millis(minutes)), is_over);
        }
        let used = Session { last_seen_at: session.ends(2), ..session.clone() };
        assert!(
            !limits.is_over(&used, session.ends(2).plus_millis(-1)) && limits.is_over(&used, session.ends(2))
        );
    }

    #[test]
    fn methods_and_acts_are_recorded() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let mut session = session(now);
        assert!(!session.has_second_factor() && !session.has_grace(GraceAct::Enrol, now));
        session.consume(GraceAct::Enrol);
        session.proved(Method::Password, now.plus_millis(1));
        assert_eq!(
            (&session.methods[..], session.signed_in_at),
            (&[Method::Password][..], now.plus_millis(1))
        );
        assert!(!session.has_second_factor(), "a password");
        session.proved(Method::Totp, now.plus_millis(2));
        session.proved(Method::Password, now.plus_millis(3));
        assert_eq!(session.methods, [Method::Password, Method::Totp], "each once");
        assert_eq!((session.has_second_factor(), session.signed_in_at), (true, now.plus_millis(3)));
        for second in [Method::Passkey, Method::RecoveryCode] {
            session.methods = vec![second];
            assert!(session.has_second_factor());
        }
        session.grace = Some(Grace::new(GraceKind::Recovery, now));
        assert!(session.has_grace(GraceAct::Enrol, now) && !session.has_grace(GraceAct::GenerateCodes, now));
        session.consume(GraceAct::Enrol);
        assert!(!session.has_grace(GraceAct::Enrol, now) && session.has_grace(GraceAct::Remove, now));
    }

    #[test]
    fn standings_have_names() {
        for (standing, name) in [(Standing::Full, "FULL"), (Standing::Owing, "OWING")] {
            assert_eq!((standing.as_str(), Standing::parse(name)), (name, Some(standing)));
        }
        assert_eq!(Standing::parse("full"), None);
    }

    #[test]
    fn grace_expires_and_permits_only_its_acts_once() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let mut grace = Grace::new(GraceKind::Recovery, now);
        assert!(grace.allows(GraceAct::Enrol, now) && grace.allows(GraceAct::Remove, now));
        assert!(!grace.allows(GraceAct::GenerateCodes, now));
        grace.spent.push(GraceAct::Remove);
        assert!(!grace.allows(GraceAct::Remove, now), "once");
        assert!(grace.allows(GraceAct::Enrol, now.plus_millis(15 * 60_000 - 1)));
        assert!(!grace.allows(GraceAct::Enrol, now.plus_millis(15 * 60_000)));
        let first = Grace::new(GraceKind::FirstFactor, now);
        assert!(first.allows(GraceAct::GenerateCodes, now) && !first.allows(GraceAct::Remove, now));
    }

    #[test]
    fn use_without_address_keeps_the_last_known_one() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let ip = Some([203, 0, 113, 9].into());
        let mut session = Session { ip, ..session(now) };
        let later = now.plus_millis(1);
        session.record_use(later, None, "Chrome".into(), None);
        assert_eq!((session.last_seen_at, session.ip), (later, ip));
        assert_eq!(session.device_label, "Chrome");
        assert_eq!(session.location.as_deref(), Some("Zürich, Switzerland"));
        session.record_use(later, None, "Chrome".into(), Some("Bern, Switzerland".into()));
        assert_eq!(session.location.as_deref(), Some("Bern, Switzerland"));
    }
}
