//! Verifies tokens with the keys of their transmitter, and reads the keys again if they are old or unknown.

use std::sync::Arc;

use audit::{Audited, Event, Unaudited, events::signals::SignalTransmitterUpdated};
use gate::errors::Problem;
use kernel::Ctx;
use oidc_rp::KeySet;
use signals::{KeysRead, Reason, ReceivedEvent, Refusal, TransmitterStore as _};
use store::Tx;

use super::sender::Sender;
use crate::ssf_client;

/// Maximum length of a stored error message, in characters.
const MAX_PROBLEM: usize = 500;

/// What a token is.
pub(super) enum Verified {
    /// Accepted.
    Event(Box<ReceivedEvent>),
    /// Refused.
    Refused(Refusal),
    /// By a key that could not be fetched: the keys cannot be read now, or were read a moment ago. The transmitter may have
    /// changed them since, so it has to send the token again.
    Undecided(Refusal),
}

impl From<Result<ReceivedEvent, Refusal>> for Verified {
    fn from(outcome: Result<ReceivedEvent, Refusal>) -> Self {
        match outcome {
            Ok(event) => Self::Event(Box::new(event)),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// Verifies a token. Keys that are a day old are read again first, and others once more for a token that none of them has
/// signed, at most once a minute.
pub(super) async fn verified(sender: &Sender<'_>, token: String) -> Result<Verified, Problem> {
    let (known, token) = (&sender.transmitter.keys, Arc::<str>::from(token));
    let newer = if known.are_old(sender.visitor.env().now()) { read_again(sender).await? } else { None };
    let is_new = newer.is_some();
    let keys = newer.unwrap_or_else(|| known.keys.clone());
    let outcome = verify(sender, &token, keys).await?;
    if is_new || !outcome.as_ref().err().is_some_and(Refusal::may_be_new_key) {
        return Ok(outcome.into());
    }
    if let Some(keys) = read_again(sender).await? {
        return Ok(verify(sender, &token, keys).await?.into());
    }
    Ok(match outcome {
        Err(refusal) if matches!(refusal.reason, Reason::UnknownKey | Reason::AmbiguousKey) => {
            Verified::Undecided(refusal)
        }
        outcome => outcome.into(),
    })
}

/// Verifies a token outside of the request threads.
async fn verify(
    sender: &Sender<'_>,
    token: &Arc<str>,
    keys: KeySet,
) -> Result<Result<ReceivedEvent, Refusal>, Problem> {
    let (transmitter, token) = (sender.transmitter.clone(), Arc::clone(token));
    let now = sender.visitor.env().now();
    let work = move || transmitter.verify(&token, &keys, now);
    sender.visitor.without_slot(sender.site.saml.compute(work)).await?
}

/// Whether to read the keys.
enum Turn {
    /// This request reads them; others do not for a minute.
    Mine,
    /// Another request has read them.
    Read(KeySet),
    /// Reading them was tried a moment ago.
    TooEarly,
}

/// Reads the keys again, unless that was tried a moment ago.
async fn read_again(sender: &Sender<'_>) -> Result<Option<KeySet>, Problem> {
    if sender.transmitter.keys.were_tried(sender.visitor.env().now()) {
        return Ok(None);
    }
    match reserve(sender).await? {
        Turn::Read(keys) => return Ok(Some(keys)),
        Turn::TooEarly => return Ok(None),
        Turn::Mine => {}
    }
    let (client, transmitter) = (&sender.site.webhooks.client, &sender.transmitter);
    let reading = ssf_client::read_keys(client, &transmitter.issuer, transmitter.jwks_uri.as_deref());
    let read = sender.visitor.without_slot(reading).await?;
    if let Err(problem) = &read {
        let transmitter = transmitter.id.as_str();
        tracing::warn!(transmitter, problem, "the keys of a transmitter could not be read");
    }
    let keys = read.as_ref().ok().cloned();
    if let Err(problem) = store(sender, read).await {
        tracing::warn!(%problem, "the keys of a transmitter could not be stored");
    }
    Ok(keys)
}

/// Of concurrent requests, one gets the turn.
async fn reserve(sender: &Sender<'_>) -> Result<Turn, Problem> {
    let (id, known) = (sender.transmitter.id.clone(), sender.transmitter.keys.read_at);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let mut transmitter = tx.transmitter(&id).await?.ok_or_else(Problem::not_found)?;
        let turn = if transmitter.keys.read_at > known {
            Turn::Read(transmitter.keys.keys)
        } else if transmitter.keys.were_tried(ctx.now) {
            Turn::TooEarly
        } else {
            transmitter.keys.tried_at = ctx.now;
            tx.note_keys_read(&id, &transmitter.keys).await?;
            Turn::Mine
        };
        Ok::<_, Problem>(Audited::without(turn, Unaudited::LookedAfter))
    };
    sender.visitor.write_as(&sender.tenant, sender.actor(), work).await
}

async fn store(sender: &Sender<'_>, read: Result<KeySet, String>) -> Result<(), Problem> {
    let id = sender.transmitter.id.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let mut transmitter = tx.transmitter(&id).await?.ok_or_else(Problem::not_found)?;
        let known = transmitter.keys.keys.clone();
        match read {
            Ok(keys) => transmitter.keys = KeysRead::new(keys, ctx.now),
            Err(problem) => transmitter.keys.problem = Some(problem.chars().take(MAX_PROBLEM).collect()),
        }
        if transmitter.keys.keys == known {
            tx.note_keys_read(&id, &transmitter.keys).await?;
            return Ok::<_, Problem>(Audited::without((), Unaudited::LookedAfter));
        }
        tx.update_transmitter(&transmitter).await?;
        let changed = SignalTransmitterUpdated {
            changed: vec!["keys".to_owned()],
            consequences_before: None,
            consequences: None,
        };
        Ok(Audited::new((), Event::new(id.as_str(), &changed)))
    };
    sender.visitor.write_as(&sender.tenant, sender.actor(), work).await
}
