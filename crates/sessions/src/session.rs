//! The row of a session.

use std::net::IpAddr;

use kernel::{Id, Kind, Timestamp, UserId};
use serde::{Deserialize, Serialize};

/// Marks ids of sessions.
#[derive(Debug, Clone, Copy)]
pub enum SessionKind {}
impl Kind for SessionKind {
    const PREFIX: &'static str = "ses";
}
/// `ses_…`
pub type SessionId = Id<SessionKind>;

/// "Last seen" is kept to so many minutes, and a session is idle so much later than it says.
pub const SEEN_GRAIN_MINUTES: i64 = 1;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// How long the first steps after a sign-in go without a further proof.
const GRACE_MILLIS: i64 = 15 * 60 * 1000;

/// How far a sign-in has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is complete.
    Full,
    /// A second factor is owed: only signing in, enrolling a factor and signing out are open to it.
    Owing,
}

impl Standing {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Owing => "OWING",
        }
    }

    /// From what is stored.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Full, Self::Owing].into_iter().find(|standing| standing.as_str() == text)
    }
}

/// What a sign-in was proved by; serialised as the values of `amr` (RFC 8176) where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// A password.
    #[serde(rename = "pwd")]
    Password,
    /// A passkey (proof of possession of a key).
    #[serde(rename = "pop")]
    Passkey,
    /// The passkey verified the person too.
    #[serde(rename = "user")]
    UserVerified,
    /// A code of an authenticator app.
    #[serde(rename = "otp")]
    Totp,
    /// A recovery code.
    #[serde(rename = "recovery")]
    RecoveryCode,
    /// A neighbouring Auth.js, or an identity provider.
    #[serde(rename = "sso")]
    Sso,
}

/// Why the holder of a session may do something without a further proof for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GraceKind {
    /// It enrolled the person's first factor: one more, and recovery codes.
    FirstFactor,
    /// It was begun with a recovery code: one factor in, the lost one out.
    Recovery,
}

/// What a grace is good for.
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

/// Leave to go without a further proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    /// Why the grace was granted.
    pub kind: GraceKind,
    /// When the grace began.
    pub since: Timestamp,
    /// What it was used for already.
    pub spent: Vec<GraceAct>,
}

impl Grace {
    /// Creates a grace that begins at `now`.
    pub fn new(kind: GraceKind, now: Timestamp) -> Self {
        Self { kind, since: now, spent: Vec::new() }
    }

    /// Whether it is good for this now.
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

/// One sign-in on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// `ses_…`
    pub id: SessionId,
    /// User who signed in.
    pub user: UserId,
    /// When the row was made.
    pub created_at: Timestamp,
    /// When the person last proved who they are.
    pub signed_in_at: Timestamp,
    /// When it was last used, to [`SEEN_GRAIN_MINUTES`].
    pub last_seen_at: Timestamp,
    /// The address it was last used from.
    pub ip: Option<IpAddr>,
    /// See [`device_label`](crate::device_label).
    pub device_label: String,
    /// `City, Country` where it is known.
    pub location: Option<String>,
    /// How far the sign-in has come.
    pub standing: Standing,
    /// What it was proved by.
    pub methods: Vec<Method>,
    /// What it may do without a further proof for a while.
    pub grace: Option<Grace>,
    /// SHA-256 of the neighbour's token that it stands for.
    pub foreign: Option<[u8; 32]>,
    /// When it is over at the latest, whatever the tenant has set: the identity provider says so.
    pub not_after: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// How long sessions last in a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Minutes without use.
    pub idle_minutes: i64,
    /// Days since the row was made.
    pub absolute_days: i64,
}

impl Lifetime {
    /// Sessions that were last used after the first moment, and began after the second, are not over.
    pub fn since(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        let idle = (self.idle_minutes + SEEN_GRAIN_MINUTES) * 60_000;
        let absolute = self.absolute_days * DAY_MILLIS;
        (now.plus_millis(-idle), now.plus_millis(-absolute))
    }

    /// Whether the session has been idle too long, is too old, or has come to the end that it was given.
    pub fn is_over(&self, session: &Session, now: Timestamp) -> bool {
        let (used, _) = self.since(now);
        session.last_seen_at <= used || session.ends(self.absolute_days) <= now
    }
}

impl Session {
    /// When it is over, however much it is used, where sessions last so many days.
    pub fn ends(&self, absolute_days: i64) -> Timestamp {
        let oldest = self.created_at.plus_millis(absolute_days * DAY_MILLIS);
        self.not_after.map_or(oldest, |end| end.min(oldest))
    }

    /// Whether a second factor was proved on it, or a recovery code in its place.
    pub fn has_second_factor(&self) -> bool {
        let second = [Method::Totp, Method::Passkey, Method::RecoveryCode];
        self.methods.iter().any(|method| second.contains(method))
    }

    /// Whether this may be done without a further proof.
    pub fn has_grace(&self, act: GraceAct, now: Timestamp) -> bool {
        self.grace.as_ref().is_some_and(|grace| grace.allows(act, now))
    }

    /// Uses the grace up for this.
    pub fn consume(&mut self, act: GraceAct) {
        if let Some(grace) = &mut self.grace {
            grace.spent.push(act);
        }
    }

    /// Notes that the person has proved something more just now.
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

    #[test]
    fn a_grace_is_short_and_for_its_own_acts() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let mut grace = Grace::new(GraceKind::Recovery, now);
        assert!(grace.allows(GraceAct::Enrol, now) && grace.allows(GraceAct::Remove, now));
        assert!(!grace.allows(GraceAct::GenerateCodes, now));
        grace.spent.push(GraceAct::Remove);
        assert!(!grace.allows(GraceAct::Remove, now), "once");
        assert!(!grace.allows(GraceAct::Enrol, now.plus_millis(GRACE_MILLIS)));
        let first = Grace::new(GraceKind::FirstFactor, now);
        assert!(first.allows(GraceAct::GenerateCodes, now) && !first.allows(GraceAct::Remove, now));
    }
}
