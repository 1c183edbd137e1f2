//! Second factors: their names, and the verification of answers.

use credentials::{
    Assertion, Factor, FactorData, FactorId, FactorKind, FactorStore, Passkeys, PendingAssertion,
    attempts::{self, Limit, MAX_WRONG_CODES},
    recovery, totp,
};
use kernel::{Ctx, Env, Secret, TenantId, UserId};
use serde::Deserialize;
use serde_json::Value;
use sessions::Method;

use crate::error::Error;

/// A means of proof that a second step accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FactorName {
    /// A passkey or security key.
    Webauthn,
    /// A code of an authenticator app.
    Totp,
    /// A recovery code.
    RecoveryCode,
}

impl FactorName {
    /// The name in the API and the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webauthn => "WEBAUTHN",
            Self::Totp => "TOTP",
            Self::RecoveryCode => "RECOVERY_CODE",
        }
    }

    /// The kind of factor; `None` for a recovery code.
    pub fn kind(self) -> Option<FactorKind> {
        match self {
            Self::Webauthn => Some(FactorKind::Webauthn),
            Self::Totp => Some(FactorKind::Totp),
            Self::RecoveryCode => None,
        }
    }

    /// The authentication method that a session records.
    pub fn method(self) -> Method {
        match self {
            Self::Webauthn => Method::Passkey,
            Self::Totp => Method::Totp,
            Self::RecoveryCode => Method::RecoveryCode,
        }
    }

    /// The rate limits that an attempt counts against.
    pub fn limits(self, tenant: &TenantId, user: &UserId, origin: &str) -> Vec<Limit> {
        match self {
            Self::Webauthn => attempts::other("passkey", origin),
            Self::Totp => attempts::totp(tenant, user, origin),
            Self::RecoveryCode => attempts::recovery_code(tenant, user, origin),
        }
    }
}

/// A user's answer to a second-factor challenge.
#[derive(Debug, Clone)]
pub enum FactorAnswer {
    /// A code from an authenticator app, or a recovery code.
    Code(String),
    /// An assertion from an authenticator (`AuthenticationResponseJSON`).
    Credential(Value),
}

impl FactorAnswer {
    /// Builds the answer from the two optional members of a request, of which the factor takes exactly one.
    pub fn new(name: FactorName, code: Option<String>, credential: Option<Value>) -> Result<Self, Error> {
        match (name, code, credential) {
            (FactorName::Webauthn, None, Some(credential)) => Ok(Self::Credential(credential)),
            (FactorName::Webauthn, _, _) => {
                Err(Error::Malformed("credential: send the authenticator's response, without a code"))
            }
            (_, Some(code), None) if code.len() <= 64 => Ok(Self::Code(code)),
            _ => Err(Error::Malformed("code: send a code of at most 64 characters, without a credential")),
        }
    }
}

/// The keys that encrypt the secrets of authenticator apps in storage.
pub trait TotpKeys: Send + Sync {
    /// Encrypts a secret with `place` as associated data; `None` without a key.
    fn seal_totp(&self, env: &dyn Env, place: &[u8], secret: &[u8]) -> Option<Vec<u8>>;
    /// Decrypts a secret that was encrypted for `place`; `None` if no key fits.
    fn open_totp(&self, place: &[u8], sealed: &[u8]) -> Option<Secret<Vec<u8>>>;
}

/// The means of verifying factors.
#[derive(Clone, Copy)]
pub struct Verifiers<'a> {
    /// The WebAuthn ceremonies; `None` if the server's address cannot be a relying party.
    pub passkeys: Option<&'a Passkeys>,
    /// The keys that encrypt the secrets of authenticator apps.
    pub totp: &'a dyn TotpKeys,
}

impl<'a> Verifiers<'a> {
    /// Returns the WebAuthn ceremonies.
    pub fn passkeys(&self) -> Result<&'a Passkeys, Error> {
        self.passkeys.ok_or(Error::NoPasskeys)
    }

    /// Encrypts the secret of a new authenticator app.
    pub fn seal_totp(
        &self,
        ctx: &Ctx,
        factor: &FactorId,
        secret: &Secret<Vec<u8>>,
    ) -> Result<Vec<u8>, Error> {
        let sealed =
            self.totp.seal_totp(&*ctx.env, &totp_place(&ctx.tenant, factor.as_str()), secret.expose());
        sealed.ok_or_else(|| {
            Error::internal("there is no key to encrypt the secret of an authenticator app; set master_key")
        })
    }

    /// Returns the time step in which `code` is valid, if this factor is an authenticator app and the code is
    /// correct.
    pub fn totp_step(&self, ctx: &Ctx, factor: &Factor, code: &str) -> Result<Option<i64>, Error> {
        let FactorData::Totp { sealed, last_step } = &factor.data else { return Ok(None) };
        let secret = self.totp.open_totp(&totp_place(&ctx.tenant, factor.id.as_str()), sealed);
        let secret = secret.ok_or_else(|| {
            Error::internal(
                "no master key decrypts the secret of an authenticator app; \
                restore the key that encrypted it",
            )
        })?;
        Ok(totp::verify(&secret, code, ctx.now, *last_step))
    }
}

/// The associated data of an app's secret, which binds the ciphertext to this factor.
pub fn totp_place(tenant: &TenantId, factor: &str) -> Vec<u8> {
    [tenant.as_str(), factor].join("\0").into_bytes()
}

/// A user's verified factors and the pending WebAuthn challenge.
pub(crate) struct Challenge<'a> {
    /// The user who has to prove a factor.
    pub(crate) user: &'a UserId,
    /// The factors that count.
    pub(crate) verified: &'a [Factor],
    /// The pending WebAuthn challenge, if one was issued.
    pub(crate) pending: Option<&'a PendingAssertion>,
}

/// Verifies an answer. Consumes the factor if it can be used only once.
///
/// # Errors
/// [`Error::TooManyWrongCodes`] while the account accepts no codes.
pub(crate) async fn prove<S: FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    challenge: &Challenge<'_>,
    name: FactorName,
    answer: &FactorAnswer,
) -> Result<bool, Error> {
    let user = challenge.user;
    let wrong = store.wrong_codes(user).await?;
    let is_right = match (name, answer) {
        (FactorName::Webauthn, FactorAnswer::Credential(credential)) => {
            let Some(pending) = challenge.pending else { return Ok(false) };
            assert_passkey(ctx, store, verifiers, user, credential, pending).await?.is_some()
        }
        (FactorName::Totp | FactorName::RecoveryCode, FactorAnswer::Code(_)) if wrong >= MAX_WRONG_CODES => {
            return Err(Error::TooManyWrongCodes);
        }
        (FactorName::Totp, FactorAnswer::Code(code)) => {
            use_totp(ctx, store, verifiers, challenge.verified, code).await?
        }
        (FactorName::RecoveryCode, FactorAnswer::Code(code)) => {
            store.use_code(user, &recovery::hash(&ctx.tenant, user, code), ctx.now).await?
        }
        _ => return Ok(false),
    };
    if is_right && wrong > 0 {
        store.clear_wrong_codes(user).await?;
    } else if !is_right && name != FactorName::Webauthn {
        store.count_wrong_code(user).await?;
    }
    Ok(is_right)
}

/// Consumes a code from an authenticator app. Returns whether it was correct and unused.
async fn use_totp<S: FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    verified: &[Factor],
    code: &str,
) -> Result<bool, Error> {
    for factor in verified {
        if let Some(step) = verifiers.totp_step(ctx, factor, code)? {
            return Ok(store.use_step(factor, step, ctx.now).await?);
        }
    }
    Ok(false)
}

/// Verifies a passkey assertion. Returns whether the authenticator verified the user, or `None` if it is invalid.
pub(crate) async fn assert_passkey<S: FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    user: &UserId,
    credential: &Value,
    pending: &PendingAssertion,
) -> Result<Option<bool>, Error> {
    let Ok(assertion) = Assertion::read(credential) else {
        return Err(Error::Malformed(
            "credential: send the authenticator's response (AuthenticationResponseJSON)",
        ));
    };
    let known = store.factor_of_credential(assertion.credential_id()).await?;
    let Some(mut factor) = known.filter(|factor| factor.user == *user && factor.is_verified()) else {
        return Ok(None);
    };
    let Some(passkey) = factor.passkey() else { return Ok(None) };
    match verifiers.passkeys()?.finish_assertion(pending, &assertion, passkey) {
        Ok(asserted) => {
            factor.data = FactorData::Passkey(Box::new(asserted.passkey));
            factor.last_used_at = Some(ctx.now);
            store.record_use(&factor).await?;
            Ok(Some(asserted.user_verified))
        }
        Err(error) => {
            tracing::info!(%error, factor = %factor.id, "passkey assertion refused");
            Ok(None)
        }
    }
}
