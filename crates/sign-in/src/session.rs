//! Starts the session at the end of a sign-in, or completes one that waits for a factor.

use audit::{Audited, Event, events::sign_in::SessionStarted};
use credentials::{SignInStore, TicketKind};
use directory::Person;
use kernel::Ctx;
use sessions::{Grace, GraceKind, Method, NewSession, Session, Standing};

use crate::{
    account::Account,
    device::Device,
    error::Error,
    events,
    outcome::Outcome,
    passkey_enrolment::BegunRegistration,
    provider_session::ProviderSession,
    state::State,
    store::Storage,
    ticket::{self, Progress},
};

/// A session that a sign-in has started or completed.
pub struct StartedSession {
    /// The stored session.
    pub session: Session,
    /// The user of the session.
    pub person: Person,
    /// Maximum lifetime of the session in days.
    pub absolute_days: i64,
    /// The notice to show to the user: `PASSWORD_RESET` or `FACTORS_RESET`.
    pub notice: Option<String>,
    /// The registration of a passkey that the browser may create without asking. See [`offer`](crate::passkey_enrolment::offer).
    pub passkey_offer: Option<BegunRegistration>,
}

/// Returns the standing of a session in this state.
fn standing(state: State) -> Standing {
    if state.is_complete() { Standing::Full } else { Standing::Owing }
}

/// Starts a session, or completes the one that waits.
pub(crate) async fn start<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    account: Account,
    progress: Progress,
    state: State,
    device: &Device,
) -> Result<Audited<Outcome>, Error> {
    let by_link = progress.by_link;
    let waiting = match &progress.session {
        None => None,
        Some(id) => store.session(id).await?.filter(|session| session.revoked_at.is_none()),
    };
    let was_complete = waiting.as_ref().is_some_and(|session| session.standing == Standing::Full);
    let (session, mut events) = match waiting {
        Some(session) => complete(ctx, store, session, &progress, state).await?,
        None if progress.session.is_some() => return Err(Error::SessionRevoked),
        None => begin(ctx, store, &account.person, progress, state, device).await?,
    };
    let mut notice = None;
    if state.is_complete() && !was_complete {
        events.push(events::signed_in(&session));
        if let Some(origin) = &device.origin {
            events.extend(events::record_origin(ctx, store, &session, origin).await?);
        }
        notice = notice_for(store, &session, by_link).await?;
    }
    let Account { person, policy } = account;
    let absolute_days = policy.session.absolute_days;
    let started = Box::new(StartedSession { session, person, absolute_days, notice, passkey_offer: None });
    if state.is_complete() {
        return Ok(Audited::of_changes(Outcome::SignedIn(started), events));
    }
    let session = &started.session;
    let waits = Progress {
        session: Some(session.id.clone()),
        by_link,
        ..Progress::begun_with(session.methods.clone())
    };
    let ticket = ticket::issue(ctx, store, TicketKind::Factor, &session.user, waits.to_state()?).await?;
    Ok(Audited::of_changes(Outcome::EnrolmentOwed { ticket, started }, events))
}

/// Completes a session that waits. It gets a new id if a second factor was proved or it grants more than before (OWASP ASVS
/// 5.0, 7.2.4).
async fn complete<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    mut session: Session,
    progress: &Progress,
    state: State,
) -> Result<(Session, Vec<Event>), Error> {
    let newly_proved: Vec<_> =
        progress.methods.iter().filter(|method| !session.methods.contains(method)).copied().collect();
    let is_renewed =
        progress.proved.is_some() || !newly_proved.is_empty() || session.standing != standing(state);
    // Only a newly proved method renews the time of sign-in.
    for method in &newly_proved {
        session.proved(*method, ctx.now);
    }
    // A session that a recovery code has completed before gets no second grace.
    if state == State::Grace {
        session.grace = Some(Grace::new(GraceKind::Recovery, ctx.now));
    }
    session.standing = standing(state);
    store.update_session(&session).await?;
    if !is_renewed {
        return Ok((session, Vec::new()));
    }
    let old = sessions::renew(ctx, store, &mut session).await?;
    let proved = if newly_proved.is_empty() { progress.proved.into_iter().collect() } else { newly_proved };
    let renewed = events::session_renewed(&session, &old, &proved);
    Ok((session, vec![renewed]))
}

async fn begin<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    person: &Person,
    progress: Progress,
    state: State,
    device: &Device,
) -> Result<(Session, Vec<Event>), Error> {
    if let Some(ProviderSession { provider, session: Some(session), .. }) = &progress.provider_session
        && store.has_ended(provider, session).await?
    {
        return Err(Error::SessionRevoked);
    }
    let new = NewSession {
        user: person.id.clone(),
        device_label: device.label.clone(),
        location: device.location.clone(),
        standing: standing(state),
        grace: (state == State::Grace).then_some(GraceKind::Recovery),
        methods: progress.methods.clone(),
        signed_in_at: None,
        foreign: None,
        not_after: progress.not_after,
    };
    let opened = sessions::open(ctx, store, new).await?;
    let session =
        opened.ok_or_else(|| Error::internal("the token of the new session belongs to another session"))?;
    if let Some(at_provider) = &progress.provider_session {
        store.set_provider_session(&session.id, at_provider).await?;
    }
    let started = started(&session);
    Ok((session, vec![started]))
}

pub(crate) fn started(session: &Session) -> Event {
    let restricted = session.standing == Standing::Owing;
    Event::new(session.id.as_str(), &SessionStarted { user: session.user.to_string(), restricted })
}

/// Returns the notice to show now. Single sign-on redirects at once, so its users see the notice at a later sign-in.
async fn notice_for<S: SignInStore>(
    store: &mut S,
    session: &Session,
    by_link: bool,
) -> Result<Option<String>, Error> {
    if session.methods[..] == [Method::Sso] {
        Ok(None)
    } else if by_link {
        // Keep the notice for a sign-in that does not come from the link itself.
        Ok(store.notices(&session.user).await?.into_iter().next())
    } else {
        Ok(store.consume_notice(&session.user).await?)
    }
}
