//! Tickets: a sign-in between two steps. The client has the text, storage only its hash.

use credentials::{Ticket, TicketKind, TicketStore};
use kernel::{Ctx, StoreResult, TenantId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessions::{Method, SessionId};
use tokens::{RawToken, TokenKind};

use crate::{error::Error, provider_session::ProviderSession};

/// The text of a ticket. Only the client keeps it.
pub struct TicketText(pub String);

/// The state of a ticket for a second factor.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The methods proved so far.
    pub methods: Vec<Method>,
    /// The pending WebAuthn challenge.
    pub pending: Option<credentials::PendingAssertion>,
    /// The restricted session that waits for the factor.
    pub session: Option<SessionId>,
    /// When the session ends at the latest, as set by the identity provider.
    #[serde(default)]
    pub not_after: Option<Timestamp>,
    /// The session at the identity provider.
    #[serde(default)]
    pub provider_session: Option<ProviderSession>,
    /// Whether the sign-in began with a link. Its notices wait for another sign-in, because the link may be in other
    /// hands.
    #[serde(default)]
    pub by_link: bool,
    /// The second factor that the request has proved. Not part of a ticket.
    #[serde(skip)]
    pub proved: Option<Method>,
}

impl Progress {
    /// Creates the state of a sign-in that begins with these methods.
    pub fn begun_with(methods: Vec<Method>) -> Self {
        Self { methods, ..Self::default() }
    }

    pub(crate) fn of(ticket: &Ticket) -> Result<Self, Error> {
        serde_json::from_value(ticket.state.clone()).map_err(Error::internal)
    }

    pub(crate) fn to_state(&self) -> Result<Value, Error> {
        serde_json::to_value(self).map_err(Error::internal)
    }
}

/// Issues a ticket in the tenant of `ctx`.
pub async fn issue<S: TicketStore>(
    ctx: &Ctx,
    store: &mut S,
    kind: TicketKind,
    user: &UserId,
    state: Value,
) -> StoreResult<TicketText> {
    let raw = RawToken::mint(&*ctx.env, TokenKind::Ticket, &ctx.tenant);
    let ticket = Ticket::new(*raw.hash().as_bytes(), kind, user.clone(), state, ctx.now);
    store.insert_ticket(&ticket).await?;
    Ok(TicketText(raw.expose().to_owned()))
}

/// Parses a ticket into its tenant and the hash under which it is stored.
pub fn parse(text: &str) -> Result<(TenantId, [u8; 32]), Error> {
    let raw = RawToken::parse(text).ok().and_then(|raw| raw.of_kind(TokenKind::Ticket));
    let raw = raw.ok_or(Error::TicketInvalid)?;
    Ok((raw.tenant().clone(), *raw.hash().as_bytes()))
}

/// Locks and returns the live ticket with this hash and kind.
pub async fn find<S: TicketStore>(
    store: &mut S,
    hash: &[u8; 32],
    kind: TicketKind,
    now: Timestamp,
) -> Result<Ticket, Error> {
    let ticket = store.ticket(hash).await?.filter(|ticket| ticket.kind == kind && ticket.is_live(now));
    ticket.ok_or(Error::TicketInvalid)
}

/// Consumes a ticket. Of concurrent requests with the same ticket, one succeeds.
pub async fn take<S: TicketStore>(store: &mut S, hash: &[u8; 32]) -> Result<(), Error> {
    if store.take_ticket(hash).await? { Ok(()) } else { Err(Error::TicketInvalid) }
}

/// Counts a wrong answer.
pub(crate) async fn count_wrong<S: TicketStore>(store: &mut S, mut ticket: Ticket) -> StoreResult<()> {
    ticket.wrong_answers += 1;
    store.update_ticket(&ticket).await
}
