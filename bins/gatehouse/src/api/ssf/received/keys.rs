//! Verifies tokens with the keys of their transmitter, and reads the keys again if they are old or unknown.

use std::sync::Arc;

use audit::{Audited, Event, Unaudited, events::signals::SignalTransmitterUpdated};
use gate::errors::Problem;
use kernel::{Ctx, Timestamp};
use oidc_rp::KeySet;
use signals::{KeysRead, ReceivedEvent, Refusal, TransmitterStore as _};
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
    /// Not by a known key, and the keys cannot be read before this time. The transmitter may have changed them, so it has to send
    /// the token again then.
    Undecided(Refusal, Timestamp),
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
    if known.are_old(sender.visitor.env().now())
        && let Reading::Keys(keys) = read_again(sender).await?
    {
        return Ok(verify(sender, &token, keys).await?.into());
    }
    match verify(sender, &token, known.keys.clone()).await? {
        Err(refusal) if refusal.may_be_new_key() => match read_again(sender).await? {
            Reading::Keys(keys) => Ok(verify(sender, &token, keys).await?.into()),
            Reading::NotBefore(time) => Ok(Verified::Undecided(refusal, time)),
        },
        outcome => Ok(outcome.into()),
    }
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

/// The keys, if they could be read again.
enum Reading {
    Keys(KeySet),
    /// They could not be read, or reading them was tried a moment ago. When it is tried again.
    NotBefore(Timestamp),
}

/// Whether this request reads the keys.
enum Turn {
    /// Yes. Others do not before this time.
    Mine(Timestamp),
    /// No.
    Not(Reading),
}

/// Reads the keys again, unless that was tried a moment ago.
async fn read_again(sender: &Sender<'_>) -> Result<Reading, Problem> {
    let next = sender.transmitter.keys.next_read();
    if sender.visitor.env().now() < next {
        return Ok(Reading::NotBefore(next));
    }
    let next = match reserve(sender).await? {
        Turn::Mine(next) => next,
        Turn::Not(reading) => return Ok(reading),
    };
    let (client, transmitter) = (&sender.site.webhooks.client, &sender.transmitter);
    let reading = ssf_client::read_keys(client, &transmitter.issuer, transmitter.jwks_uri.as_deref());
    let read = sender.visitor.without_slot(reading).await?;
    if let Err(problem) = &read {
        let transmitter = transmitter.id.as_str();
        tracing::warn!(transmitter, problem, "the keys of a transmitter could not be read");
    }
    let reading = read.as_ref().map_or(Reading::NotBefore(next), |keys| Reading::Keys(keys.clone()));
    if let Err(problem) = store(sender, read).await {
        tracing::warn!(%problem, "the keys of a transmitter could not be stored");
    }
    Ok(reading)
}

/// Of concurrent requests, one gets the turn.
async fn reserve(sender: &Sender<'_>) -> Result<Turn, Problem> {
    let (id, known) = (sender.transmitter.id.clone(), sender.transmitter.keys.read_at);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let mut transmitter = tx.transmitter(&id).await?.ok_or_else(Problem::not_found)?;
        let turn = if transmitter.keys.read_at > known {
            Turn::Not(Reading::Keys(transmitter.keys.keys))
        } else if ctx.now < transmitter.keys.next_read() {
            Turn::Not(Reading::NotBefore(transmitter.keys.next_read()))
        } else {
            transmitter.keys.tried_at = ctx.now;
            tx.note_keys_read(&id, &transmitter.keys).await?;
            Turn::Mine(transmitter.keys.next_read())
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
