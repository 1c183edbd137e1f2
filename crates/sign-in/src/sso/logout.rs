//! Ends sessions that an identity provider has ended.

use audit::{Audited, Event, events::sign_in::SessionRevoked};
use kernel::Ctx;
use saml_sp::{ProviderId, Subject};

use super::SsoStorage;
use crate::{error::Error, provider_session::EndedAtProvider};

/// Why the sessions ended, in audit entries.
const WHY: &str = "IDENTITY_PROVIDER";
/// How long an ended session of a provider is remembered: longer than a sign-in takes.
pub(super) const REMEMBERED_MILLIS: i64 = 3_600_000;
const DAY_MILLIS: i64 = 24 * 3_600_000;

/// Revokes the sessions that a provider ends, and pending sign-ins of their users. Returns the number of sessions.
pub(super) async fn end_sessions<S: SsoStorage>(
    ctx: &Ctx,
    store: &mut S,
    provider: &ProviderId,
    ended: &EndedAtProvider,
) -> Result<Audited<usize>, Error> {
    let subject = match ended {
        EndedAtProvider::Session { session, subject } => {
            // For a sign-in through this session that has not started ours yet.
            store.remember_ended(provider, session, ctx.now.plus_millis(REMEMBERED_MILLIS)).await?;
            *subject
        }
        EndedAtProvider::Subject(subject) => Some(*subject),
    };
    if let Some(subject) = subject
        && let Some(user) = store.subject_owner(provider, &Subject::from_bytes(subject)).await?
    {
        // Locked before the search for sessions, because a sign-in or an enrolment of the user may change them.
        store.person(&user).await?;
        store.drop_tickets(&user).await?;
    }
    for user in store.users_at_provider(provider, ended).await? {
        store.person(&user).await?;
        store.drop_tickets(&user).await?;
        store.drop_pending(&user).await?;
    }
    let lifetime = store.sign_in_policy().await?.session.absolute_days * DAY_MILLIS;
    let since = ctx.now.plus_millis(-lifetime);
    let revoked = store.revoke_at_provider(provider, ended, since, ctx.now).await?;
    let events: Vec<_> = revoked
        .iter()
        .map(|(session, user)| {
            Event::new(session.as_str(), &SessionRevoked { user: user.to_string(), why: WHY })
        })
        .collect();
    Ok(Audited::of_changes(events.len(), events))
}
