//! Records a received event and does what it may do, in one unit of work.

use audit::{Audited, Event, Unaudited, events::signals::SignalReceived};
use gate::errors::Problem;
use kernel::{Ctx, Timestamp};
use saml_sp::ProviderId;
use sign_in::sso::{self, Signal, SignalDemand, SignalEffect, SignalOutcome, SignalledUser};
use signals::{
    Act, Consequence, ReceivedEvent, ReceivedStore as _, ReceivedSubject, ReceivedToken,
    TransmitterStore as _, find_transmitter,
};
use store::Tx;

use super::sender::Sender;

/// Maximum length of an issuer in an audit entry, in characters.
const MAX_ISSUER: usize = 500;

/// Records an event and does what it may do. Returns what it did, for the metric.
pub(super) async fn apply(sender: &Sender<'_>, event: ReceivedEvent) -> Result<&'static str, Problem> {
    let (known, connection) = (sender.transmitter.clone(), sender.connection.clone());
    let passkeys_work = sender.site.auth.passkeys_work();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (id, demand) = (&known.id, demand(known.consequence(&event)));
        let token = ReceivedToken::of(&event, ctx.now);
        if !tx.remember_token(id, &token).await? {
            return Ok::<_, Problem>(Audited::without("repeated", Unaudited::NothingChanged));
        }
        let is_superseded = match event.state_key() {
            Some(state) if demand != SignalDemand::None => {
                tx.was_restored(id, &state, token.occurred_at).await?
            }
            _ => false,
        };
        let allowed = if is_superseded { SignalDemand::None } else { demand };
        let mut acted = match connection {
            Some(connection) if !is_about_stream(&event) => {
                let signal = signal(connection, &event, allowed, token.occurred_at);
                sso::enforce(ctx, tx, &signal, passkeys_work).await?
            }
            Some(_) => nothing(None),
            None => nothing(Some("CONNECTION_REMOVED")),
        };
        let effect = acted.value_mut();
        if is_superseded {
            effect.reason = effect.reason.or(Some("SUPERSEDED"));
        }
        // Locked last: administrators who change it have locked themselves before.
        let mut transmitter = find_transmitter(tx, id).await?;
        if !transmitter.decides_as(&known) {
            // Changed in the meantime. The next attempt is decided by what applies then.
            return Err(Problem::unavailable_for("The transmitter was changed meanwhile", 1));
        }
        if transmitter.state.note(&event, ctx.now) {
            tx.update_transmitter(&transmitter).await?;
        }
        let received = Event::new(id.as_str(), &entry(&event, effect, token.occurred_at));
        Ok(acted.map(|effect| metric(effect.outcome)).after(vec![received]))
    };
    sender.visitor.write_as(&sender.tenant, sender.actor(), work).await
}

fn nothing(reason: Option<&'static str>) -> Audited<SignalEffect> {
    let effect = SignalEffect { user: None, outcome: SignalOutcome::Recorded, reason, sessions: 0 };
    Audited::without(effect, Unaudited::NothingChanged)
}

fn demand(consequence: Consequence) -> SignalDemand {
    match consequence {
        Consequence::Record => SignalDemand::None,
        Consequence::RequireStepUp => SignalDemand::StepUp,
        Consequence::EndSessions => SignalDemand::EndSessions,
        Consequence::DisableUser => SignalDemand::Disable,
    }
}

/// Whether the subject of an event is the stream itself.
fn is_about_stream(event: &ReceivedEvent) -> bool {
    matches!(event.act, Act::Verification { .. } | Act::StreamUpdated { .. })
}

/// Translates the subject of an event. Members of a complex subject other than user and session narrow it to devices,
/// applications and others that this service does not know; they are ignored.
fn signal(
    (connection, issuer): (ProviderId, String),
    event: &ReceivedEvent,
    demand: SignalDemand,
    at: Timestamp,
) -> Signal {
    let subject = &event.subject;
    let names = subject.user().map_or(&[][..], ReceivedSubject::identifiers);
    let names = names.iter().filter_map(|name| match name {
        ReceivedSubject::IssSub { iss, sub } => {
            Some(SignalledUser::IssSub { issuer: iss.clone(), subject: sub.clone() })
        }
        ReceivedSubject::Email(email) => Some(SignalledUser::Email(email.clone())),
        _ => None,
    });
    let session = match (subject.session(), subject) {
        (Some(ReceivedSubject::Opaque(session)), _) => Some(session.clone()),
        // The subject is a session by itself (CAEP 1.0, section 3.1.2).
        (None, ReceivedSubject::Opaque(session)) if event.act == Act::SessionRevoked => Some(session.clone()),
        _ => None,
    };
    Signal { connection, issuer, names: names.collect(), session, at, demand }
}

fn entry(event: &ReceivedEvent, effect: &SignalEffect, occurred_at: Timestamp) -> SignalReceived {
    SignalReceived {
        jti: event.jti.clone(),
        event_type: event.event_type.clone(),
        occurred_at: occurred_at.to_string(),
        transaction: event.transaction.clone(),
        subject_format: event.subject.format().to_owned(),
        subject_issuer: (effect.reason == Some("SUBJECT_UNKNOWN"))
            .then(|| issuer_of(&event.subject))
            .flatten(),
        user: effect.user.as_ref().map(ToString::to_string),
        outcome: outcome(effect.outcome).to_owned(),
        reason: effect.reason.map(str::to_owned),
        sessions: effect.sessions,
    }
}

/// Returns the issuer that names the user, for comparison with that of the connection.
fn issuer_of(subject: &ReceivedSubject) -> Option<String> {
    subject.user()?.identifiers().iter().find_map(|name| match name {
        ReceivedSubject::IssSub { iss, .. } => Some(iss.chars().take(MAX_ISSUER).collect()),
        _ => None,
    })
}

fn outcome(outcome: SignalOutcome) -> &'static str {
    match outcome {
        SignalOutcome::Recorded => "RECORDED",
        SignalOutcome::StepUpRequired => "STEP_UP_REQUIRED",
        SignalOutcome::SessionsEnded => "SESSIONS_ENDED",
        SignalOutcome::UserDisabled => "USER_DISABLED",
    }
}

fn metric(outcome: SignalOutcome) -> &'static str {
    match outcome {
        SignalOutcome::Recorded => "recorded",
        SignalOutcome::StepUpRequired => "step_up_required",
        SignalOutcome::SessionsEnded => "sessions_ended",
        SignalOutcome::UserDisabled => "user_disabled",
    }
}
