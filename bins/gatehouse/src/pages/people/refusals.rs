//! The newest refused sign-ins of a user, with the reason and what to do.

use audit::{
    EventData, Filter, ListedEntry,
    events::{policies::NetworkPolicyBlocked, sign_in::SignInFailed},
};
use kernel::UserId;
use serde_json::Value;
use sign_in::Refusal;

use super::super::times::PageTime;

/// A refused sign-in.
pub(super) struct RefusalRow {
    pub(super) why: &'static str,
    pub(super) mend: &'static str,
    pub(super) code: &'static str,
    pub(super) from: Option<String>,
    pub(super) at: PageTime,
}

/// Returns the filters for refused sign-ins of the user.
pub(super) fn filters(user: &UserId) -> [Filter; 2] {
    let id = Some(user.to_string());
    let actions = |code: &str| Some(vec![code.to_owned()]);
    [
        Filter { resource_id: id.clone(), actions: actions(SignInFailed::CODE), ..Filter::default() },
        Filter { actor: id, actions: actions(NetworkPolicyBlocked::CODE), ..Filter::default() },
    ]
}

impl RefusalRow {
    /// Returns `None` if the entry has no known reason.
    pub(super) fn of(ListedEntry { entry, .. }: ListedEntry) -> Option<Self> {
        let refusal = if entry.action == NetworkPolicyBlocked::CODE {
            Refusal::NetworkBlocked
        } else {
            let payload: Value = serde_json::from_str(&entry.metadata).ok()?;
            Refusal::of_code(payload.get("reason")?.as_str()?)?
        };
        Some(Self {
            why: refusal.why(),
            mend: refusal.mend(),
            code: refusal.code(),
            from: entry.ip,
            at: entry.timestamp.into(),
        })
    }
}
