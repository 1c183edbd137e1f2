//! Enrolment of a passkey: from the options for the authenticator to the verified credential.

use credentials::{
    Attestation, CeremonyError, Creation, Factor, FactorData, FactorId, FactorKind, Passkey,
    PendingRegistration, TicketKind, TicketStore, TrustAnchors, default_name, user_handle,
};
use kernel::{Ctx, TenantId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessions::{Session, SessionId};

use crate::{
    account::lock_account,
    enrolment::{Enrolling, EnrolmentGround, check_room, may_get_passkey},
    error::Error,
    factor::Verifiers,
    store::Storage,
    ticket::{self, TicketText},
};

/// Enrolment state, stored until the authenticator responds.
#[derive(Serialize, Deserialize)]
struct Pending {
    session: SessionId,
    begun: EnrolmentGround,
    registration: PendingRegistration,
}

/// A registration for the client.
pub struct BegunRegistration {
    /// The ticket to send with the answer.
    pub ticket: TicketText,
    /// `PublicKeyCredentialCreationOptionsJSON`
    pub options: Value,
}

/// Starts the registration of a passkey beside the user's present factors.
pub async fn begin<S: TicketStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    enrolling: &Enrolling,
    present: &[Factor],
    ground: EnrolmentGround,
    conveyance: Attestation,
) -> Result<BegunRegistration, Error> {
    let (person, session) = (&enrolling.account.person, &enrolling.session);
    let shown = person.display_name.as_deref().unwrap_or(person.account());
    let present: Vec<_> = present.iter().filter_map(Factor::passkey).cloned().collect();
    let handle = user_handle(&ctx.tenant, &session.user);
    let begun =
        verifiers.passkeys()?.begin_registration(&handle, person.account(), shown, &present, conveyance);
    let (options, registration) = begun.map_err(Error::internal)?;
    let pending = Pending { session: session.id.clone(), begun: ground, registration };
    let state = serde_json::to_value(&pending).map_err(Error::internal)?;
    let ticket = ticket::issue(ctx, store, TicketKind::PasskeyEnrolment, &session.user, state).await?;
    Ok(BegunRegistration { ticket, options })
}

/// Offers a passkey to a user who has just signed in with a code of an authenticator app: the browser may create one without
/// asking. `None` if the user has a passkey already, or the tenant does not accept both passkeys and another factor of the user.
///
/// The offer is for the person who signed in. A session cookie alone never gets one.
///
/// # Errors
/// If storage fails.
pub async fn offer<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    session: &Session,
) -> Result<Option<BegunRegistration>, Error> {
    let account = lock_account(store, &session.user).await?;
    let factors = store.factors(&session.user).await?;
    let verified: Vec<_> = factors.iter().filter(|factor| factor.is_verified()).map(Factor::kind).collect();
    let has_passkey = verified.contains(&FactorKind::Webauthn);
    if has_passkey || !may_get_passkey(&account.policy.mfa, verified) || check_room(&factors).is_err() {
        return Ok(None);
    }
    let enrolling = Enrolling { account, session: session.clone(), standing_today: session.standing };
    let ground = EnrolmentGround::Offered;
    begin(ctx, store, verifiers, &enrolling, &factors, ground, Attestation::None).await.map(Some)
}

/// The authenticator's response to a registration.
#[derive(Debug, Clone)]
pub struct RegistrationAnswer {
    ticket: [u8; 32],
    credential: Value,
    name: String,
    creation: Creation,
}

impl RegistrationAnswer {
    /// Reads the answer of a user of this tenant. Without a name, the passkey gets the default one.
    pub fn new(
        tenant: &TenantId,
        ticket: &str,
        credential: Value,
        name: Option<&str>,
        creation: Creation,
    ) -> Result<Self, Error> {
        let name = match name {
            None => default_name(FactorKind::Webauthn).to_owned(),
            Some(name) => {
                credentials::name(name).ok_or(Error::Malformed("name: write 1 to 64 printable characters"))?
            }
        };
        let (of, ticket) = ticket::parse(ticket)?;
        if of != *tenant {
            return Err(Error::TicketInvalid);
        }
        Ok(Self { ticket, credential, name, creation })
    }
}

/// A passkey whose registration is verified, and the grounds on which its enrolment began.
pub struct RegisteredPasskey {
    /// The factor, which is not stored yet.
    pub factor: Factor,
    /// Why the enrolment was permitted.
    pub ground: EnrolmentGround,
}

impl RegisteredPasskey {
    /// Returns the passkey, if the factor is one.
    pub fn passkey(&self) -> Option<&Passkey> {
        self.factor.passkey()
    }
}

/// Verifies the authenticator's response to the pending registration of this session, and consumes the registration.
pub async fn verify<S: TicketStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    makers: &dyn TrustAnchors,
    session: &Session,
    answer: RegistrationAnswer,
) -> Result<RegisteredPasskey, Error> {
    let RegistrationAnswer { ticket, credential, name, creation } = answer;
    let kept = ticket::find(store, &ticket, TicketKind::PasskeyEnrolment, ctx.now).await?;
    let pending: Pending = serde_json::from_value(kept.state).map_err(Error::internal)?;
    // Only an offer may be answered without the user, and only so.
    let is_offered = pending.begun == EnrolmentGround::Offered;
    if pending.session != session.id || is_offered != (creation == Creation::Conditional) {
        return Err(Error::TicketInvalid);
    }
    ticket::take(store, &ticket).await?;
    let passkeys = verifiers.passkeys()?;
    let registered =
        passkeys.finish_registration(&pending.registration, &credential, creation, makers, ctx.now);
    let passkey = registered.map_err(refused)?;
    let factor = Factor {
        id: FactorId::new(&*ctx.env),
        user: session.user.clone(),
        name,
        created_at: ctx.now,
        verified_at: Some(ctx.now),
        last_used_at: None,
        data: FactorData::Passkey(Box::new(passkey)),
    };
    Ok(RegisteredPasskey { factor, ground: pending.begun })
}

fn refused(error: CeremonyError) -> Error {
    match error {
        CeremonyError::Malformed(why) => Error::MalformedCredential(why),
        error => {
            tracing::info!(%error, "a registration was refused");
            Error::FactorInvalid
        }
    }
}
