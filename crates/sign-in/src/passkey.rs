//! Signs in with a passkey first, which counts as both factors if it has verified the user.

use audit::{Audited, Event, events::sign_in::SignInFailed};
use credentials::{Assertion, Passkeys, PendingAssertion, user_of_handle};
use directory::PeopleStore;
use kernel::{Ctx, TenantId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessions::Method;

use crate::{
    account::Account,
    device::Device,
    error::Error,
    factor::{Verifiers, assert_passkey},
    first_factor, network,
    outcome::Attempt,
    password::sha256,
    state::{State, Step, check_mode},
    store::Storage,
    ticket::Progress,
};

/// Milliseconds that an authenticator has to answer.
const LIFETIME: i64 = 5 * 60_000;

/// A WebAuthn challenge for a user who is not known yet. The client keeps it signed by the server, so anonymous
/// requests store nothing.
#[derive(Serialize, Deserialize)]
pub struct PasskeyChallenge {
    until: i64,
    pending: PendingAssertion,
}

impl PasskeyChallenge {
    /// Creates a challenge, with its `PublicKeyCredentialRequestOptionsJSON`.
    pub fn new(passkeys: &Passkeys, now: Timestamp) -> Result<(Self, Value), Error> {
        let (options, pending) = passkeys.begin_assertion(&[]).map_err(Error::internal)?;
        Ok((Self { until: now.plus_millis(LIFETIME).unix_millis(), pending }, options))
    }

    /// Encodes the challenge for signing.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(self).map_err(Error::internal)
    }

    /// Decodes a challenge whose signature was verified.
    ///
    /// # Errors
    /// [`Error::TicketInvalid`] if it has expired.
    pub fn from_bytes(bytes: &[u8], now: Timestamp) -> Result<Self, Error> {
        let challenge: Self = serde_json::from_slice(bytes).map_err(|_| Error::TicketInvalid)?;
        if now.unix_millis() < challenge.until { Ok(challenge) } else { Err(Error::TicketInvalid) }
    }
}

/// An authenticator's assertion for a [`PasskeyChallenge`].
pub struct PasskeyProof {
    /// The tenant in the assertion's user handle.
    pub tenant: TenantId,
    /// The user in the assertion's user handle.
    pub user: UserId,
    challenge: PasskeyChallenge,
    /// SHA-256 of the challenge as the client kept it. Each challenge is consumed once.
    hash: [u8; 32],
    credential: Value,
    credential_id: Vec<u8>,
}

impl PasskeyProof {
    /// Parses an assertion and its user handle.
    pub fn new(challenge: PasskeyChallenge, sealed: &str, credential: Value) -> Result<Self, Error> {
        let Ok(assertion) = Assertion::read(&credential) else {
            return Err(Error::Malformed(
                "credential: send the authenticator's response (AuthenticationResponseJSON)",
            ));
        };
        let named = assertion.user_handle().and_then(user_of_handle);
        let (tenant, user) = named.ok_or(Error::FactorInvalid)?;
        let credential_id = assertion.credential_id().to_vec();
        Ok(Self { tenant, user, challenge, hash: sha256(sealed.as_bytes()), credential, credential_id })
    }
}

/// Signs in with a passkey.
pub async fn with_passkey<S: Storage>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    proof: PasskeyProof,
    device: &Device,
) -> Result<Audited<Attempt>, Error> {
    let PasskeyProof { user, challenge, hash, credential, credential_id, .. } = proof;
    let PasskeyChallenge { until, pending } = challenge;
    let person = PeopleStore::person(store, &user).await?;
    if !store.consume_challenge(&hash, Timestamp::from_unix_millis(until)).await? {
        return Err(Error::TicketInvalid);
    }
    let verified = assert_passkey(ctx, store, verifiers, &user, &credential, &pending).await?;
    if verified != Some(true) {
        // The user handle is unverified, so its user may not exist. Then there is no audit log to record in.
        let data = SignInFailed { reason: "FACTOR_INVALID", step: "WEBAUTHN" };
        let events = person.iter().map(|person| Event::new(person.id.as_str(), &data)).collect();
        let is_unknown = verified.is_none() && store.factor_of_credential(&credential_id).await?.is_none();
        let attempt = if is_unknown { Attempt::UnknownPasskey } else { Attempt::Wrong };
        return Ok(Audited::of_changes(attempt, events));
    }
    store.clear_wrong_codes(&user).await?;
    let policy = store.sign_in_policy().await?;
    let person = person.ok_or(Error::FactorInvalid)?;
    check_mode(Step::Passkey, policy.sign_in_mode, person.break_glass)?;
    if !person.active {
        return Err(Error::AccountDisabled);
    }
    network::admit(ctx, store, &person).await?;
    let account = Account { person, policy };
    let progress = Progress::begun_with(vec![Method::Passkey, Method::UserVerified]);
    let step = (State::Anonymous, Step::Passkey);
    let led = first_factor::after(ctx, store, verifiers, account, progress, step, device).await?;
    Ok(led.map(|outcome| Attempt::Right(Box::new(outcome))))
}
