//! Sign-ins through an identity provider or a neighbouring service.

use audit::{Audited, Unaudited};
use kernel::{Ctx, Timestamp, UserId};
use sessions::{Method, NewSession, Standing};

use crate::{
    account::{Account, lock_account},
    device::Device,
    error::Error,
    events,
    factor::Verifiers,
    first_factor::{self, AvailableFactors},
    network,
    outcome::Outcome,
    provider_session::ProviderSession,
    session,
    state::{State, Step, check_mode, next},
    store::Storage,
    ticket::Progress,
};

/// Continues for a user whom an identity provider has authenticated. The caller has locked the account in this unit
/// of work. `at_provider` is the session at the provider, if the provider can end it, and `not_after` when it ends.
pub(crate) async fn with_identity_provider<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    account: Account,
    (at_provider, not_after): (Option<ProviderSession>, Option<Timestamp>),
    device: &Device,
) -> Result<Audited<Outcome>, Error> {
    let progress =
        Progress { not_after, provider_session: at_provider, ..Progress::begun_with(vec![Method::Sso]) };
    let step = (State::Anonymous, Step::IdentityProvider);
    first_factor::after(ctx, store, verifiers, account, progress, step, device).await
}

/// A valid cookie of a neighbouring service.
pub struct NeighbourCookie {
    /// The local user.
    pub user: UserId,
    /// When the neighbour issued it.
    pub issued_at: Timestamp,
    /// SHA-256 of the cookie's text. It identifies the session that the cookie starts.
    pub token_hash: [u8; 32],
}

/// Starts the session of a neighbour's cookie. Of concurrent requests with the same cookie, only one starts it.
pub async fn with_neighbour_cookie<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    cookie: NeighbourCookie,
    device: &Device,
) -> Result<Audited<()>, Error> {
    let NeighbourCookie { user, issued_at, token_hash } = cookie;
    // The user may have been disabled or the sign-in mode changed since the cookie was checked.
    let account = lock_account(store, &user).await?;
    if store.refused_until(&user).await?.is_some_and(|until| issued_at <= until) {
        return Err(Error::SessionRevoked);
    }
    let Account { person, policy } = &account;
    check_mode(Step::NeighbourCookie, policy.sign_in_mode, person.break_glass)?;
    network::admit(ctx, store, person).await?;
    let provable = AvailableFactors::load(store, &account, &Progress::default()).await?;
    let state = next(State::Anonymous, Step::NeighbourCookie, &provable.requirements)?;
    let new = NewSession {
        user,
        device_label: device.label.clone(),
        location: device.location.clone(),
        standing: if state.is_complete() { Standing::Full } else { Standing::Owing },
        methods: vec![Method::Sso],
        signed_in_at: Some(issued_at),
        foreign: Some(token_hash),
        grace: None,
        not_after: None,
    };
    let Some(session) = sessions::open(ctx, store, new).await? else {
        return Ok(Audited::without((), Unaudited::NothingChanged));
    };
    let mut events = vec![session::started(&session)];
    if state.is_complete() {
        events.push(events::signed_in(&session));
        if let Some(origin) = &device.origin {
            events.extend(events::record_origin(ctx, store, &session, origin).await?);
        }
    }
    Ok(Audited::of_changes((), events))
}
