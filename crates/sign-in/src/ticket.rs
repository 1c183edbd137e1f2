//! Tickets: a sign-in between its steps. The client has the text, storage its hash.

use credentials::{Ticket, TicketKind, TicketStore};
use kernel::{Ctx, StoreResult, TenantId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessions::{Method, SessionId};
use tokens::{RawToken, TokenKind};

use crate::error::Error;

/// The text of a ticket, for the client alone.
pub struct TicketText(pub String);

/// What a ticket for a second factor remembers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// What was proved so far.
    pub methods: Vec<Method>,
    /// What authenticators were asked.
    pub pending: Option<credentials::PendingAssertion>,
    /// The session that waits for the factor.
    pub session: Option<SessionId>,
    /// When the session ends at the latest, as the identity provider has said.
    #[serde(default)]
    pub not_after: Option<Timestamp>,
    /// Whether it began with a link. Notices then wait for a sign-in that did not: somebody else may have the link.
    #[serde(default)]
    pub by_link: bool,
}

impl Progress {
    /// A sign-in that begins with these methods.
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

/// The tenant that the text of a ticket names, and the hash that the ticket is found by.
pub fn parse(text: &str) -> Result<(TenantId, [u8; 32]), Error> {
    let raw = RawToken::parse(text).ok().and_then(|raw| raw.of_kind(TokenKind::Ticket));
    let raw = raw.ok_or(Error::TicketInvalid)?;
    Ok((raw.tenant().clone(), *raw.hash().as_bytes()))
}

/// The ticket with this hash and kind if it is live, locked.
pub async fn find<S: TicketStore>(
    store: &mut S,
    hash: &[u8; 32],
    kind: TicketKind,
    now: Timestamp,
) -> Result<Ticket, Error> {
    let ticket = store.ticket(hash).await?.filter(|ticket| ticket.kind == kind && ticket.is_live(now));
    ticket.ok_or(Error::TicketInvalid)
}

/// Uses a ticket up. Of several requests that use it at once, one succeeds.
pub async fn take<S: TicketStore>(store: &mut S, hash: &[u8; 32]) -> Result<(), Error> {
    if store.take_ticket(hash).await? { Ok(()) } else { Err(Error::TicketInvalid) }
}

/// Counts a wrong answer.
pub(crate) async fn count_wrong<S: TicketStore>(store: &mut S, mut ticket: Ticket) -> StoreResult<()> {
    ticket.wrong_answers += 1;
    store.update_ticket(&ticket).await
}
