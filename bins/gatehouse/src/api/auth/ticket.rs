//! Tickets: a sign-in between its steps, in the hand of the client.

use credentials::{Ticket, TicketKind, TicketStore};
use kernel::{Ctx, StoreError, TenantId, UserId};
use serde_json::Value;
use store::Tx;
use tokens::{RawToken, TokenKind};

use gate::errors::{Code, Problem};

/// 401: whatever is wrong with a ticket, the sign-in begins anew.
pub(crate) fn invalid() -> Problem {
    Problem::new(Code::TicketInvalid, "this sign-in has taken too long or was finished already; begin again")
}

/// The text of a new ticket.
pub(crate) struct Minted(pub(crate) String);

/// Makes a ticket of the unit of work's tenant.
pub(crate) async fn mint(
    ctx: &Ctx,
    tx: &mut Tx,
    kind: TicketKind,
    user: &UserId,
    state: Value,
) -> Result<Minted, StoreError> {
    let raw = RawToken::mint(&*ctx.env, TokenKind::Ticket, &ctx.tenant);
    let ticket = Ticket::new(*raw.hash().as_bytes(), kind, user.clone(), state, ctx.now);
    tx.insert_ticket(&ticket).await?;
    Ok(Minted(raw.expose().to_owned()))
}

/// Whose a ticket says it is, and what it is found by.
pub(crate) fn read(text: &str) -> Result<(TenantId, [u8; 32]), Problem> {
    let raw =
        RawToken::parse(text).ok().and_then(|raw| raw.of_kind(TokenKind::Ticket)).ok_or_else(invalid)?;
    Ok((raw.tenant().clone(), *raw.hash().as_bytes()))
}

/// The live ticket of this hash and kind, held until the end of the unit of work.
pub(crate) async fn live(
    ctx: &Ctx,
    tx: &mut Tx,
    hash: &[u8; 32],
    kind: TicketKind,
) -> Result<Ticket, Problem> {
    let ticket = tx.ticket(hash).await?.filter(|ticket| ticket.kind == kind && ticket.is_live(ctx.now));
    ticket.ok_or_else(invalid)
}

/// Counts a wrong answer.
pub(crate) async fn wrong(tx: &mut Tx, mut ticket: Ticket) -> Result<(), StoreError> {
    ticket.wrong_answers += 1;
    tx.update_ticket(&ticket).await
}
