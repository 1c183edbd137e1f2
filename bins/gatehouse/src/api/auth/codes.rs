//! A second factor, proved.

use actix_web::web;
use credentials::{
    Assertion, Factor, FactorData, FactorId, FactorKind, FactorStore, PendingAssertion, attempts,
    attempts::{Limit, MAX_WRONG_CODES},
    recovery, totp,
};
use kernel::{Ctx, TenantId, UserId};
use serde::Deserialize;
use serde_json::Value;
use sessions::Method;
use store::Tx;
use utoipa::ToSchema;

use crate::api::Site;
use gate::errors::{Code, Problem};

/// What can be proved in a second step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum FactorName {
    /// A passkey or security key.
    Webauthn,
    /// A code of an authenticator app.
    Totp,
    /// A recovery code.
    RecoveryCode,
}

impl FactorName {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Webauthn => "WEBAUTHN",
            Self::Totp => "TOTP",
            Self::RecoveryCode => "RECOVERY_CODE",
        }
    }

    /// The kind of factor it is; a recovery code is none.
    pub(crate) fn kind(self) -> Option<FactorKind> {
        match self {
            Self::Webauthn => Some(FactorKind::Webauthn),
            Self::Totp => Some(FactorKind::Totp),
            Self::RecoveryCode => None,
        }
    }

    pub(crate) fn method(self) -> Method {
        match self {
            Self::Webauthn => Method::Passkey,
            Self::Totp => Method::Totp,
            Self::RecoveryCode => Method::RecoveryCode,
        }
    }

    /// What its attempts are taken from.
    pub(crate) fn limits(self, tenant: &TenantId, user: &UserId, origin: &str) -> Vec<Limit> {
        match self {
            Self::Webauthn => attempts::other("passkey", origin),
            Self::Totp => attempts::totp(tenant, user, origin),
            Self::RecoveryCode => attempts::recovery_code(tenant, user, origin),
        }
    }
}

/// What a person answers with.
pub(crate) enum Proof {
    /// A code of either kind.
    Code(String),
    /// The answer of an authenticator.
    Credential(Value),
}

impl Proof {
    /// The member that goes with the factor.
    pub(crate) fn of(
        factor: FactorName,
        code: Option<String>,
        credential: Option<Value>,
    ) -> Result<Self, Problem> {
        match (factor, code, credential) {
            (FactorName::Webauthn, None, Some(credential)) => Ok(Self::Credential(credential)),
            (FactorName::Webauthn, _, _) => {
                Err(Problem::invalid_request("credential: send what the authenticator answered, and no code"))
            }
            (_, Some(code), None) if code.len() <= 64 => Ok(Self::Code(code)),
            _ => {
                Err(Problem::invalid_request("code: send a code of at most 64 characters, and no credential"))
            }
        }
    }
}

/// Whether a person has proved a factor, one of those `verified`: it is used up by that, as far as it can be.
#[expect(clippy::too_many_arguments, reason = "each is one thing that a proof needs")]
pub(crate) async fn proved(
    site: &web::Data<Site>,
    ctx: &Ctx,
    tx: &mut Tx,
    user: &UserId,
    verified: &[Factor],
    factor: FactorName,
    proof: &Proof,
    pending: Option<&PendingAssertion>,
) -> Result<bool, Problem> {
    let wrong = tx.wrong_codes(user).await?;
    let right = match (factor, proof) {
        (FactorName::Webauthn, Proof::Credential(credential)) => {
            let Some(pending) = pending else { return Ok(false) };
            asserted(site, ctx, tx, user, credential, pending).await?.is_some()
        }
        (FactorName::Totp | FactorName::RecoveryCode, Proof::Code(_)) if wrong >= MAX_WRONG_CODES => {
            return Err(too_many_wrong_codes());
        }
        (FactorName::Totp, Proof::Code(code)) => use_totp(site, ctx, tx, verified, code).await?,
        (FactorName::RecoveryCode, Proof::Code(code)) => {
            let hash = recovery::hash(&ctx.tenant, user, code);
            tx.use_code(user, &hash, ctx.now).await?
        }
        _ => return Ok(false),
    };
    if right && wrong > 0 {
        tx.clear_wrong_codes(user).await?;
    } else if !right && factor != FactorName::Webauthn {
        tx.count_wrong_code(user).await?;
    }
    Ok(right)
}

/// 403: codes of the account are accepted no more.
fn too_many_wrong_codes() -> Problem {
    let message =
        "Too many incorrect codes in a row. Use a passkey, or ask an administrator to reset your factors.";
    Problem::new(Code::FactorNotPermitted, message)
}

/// Uses a code of an authenticator app: whether it was right and new.
async fn use_totp(
    site: &Site,
    ctx: &Ctx,
    tx: &mut Tx,
    verified: &[Factor],
    code: &str,
) -> Result<bool, Problem> {
    for known in verified {
        if let Some(step) = totp_step(site, ctx, known, code)? {
            return Ok(tx.use_step(known, step, ctx.now).await?);
        }
    }
    Ok(false)
}

/// Where the secret of an app is sealed for: it opens for its own factor alone.
pub(crate) fn totp_place(ctx: &Ctx, factor: &FactorId) -> Vec<u8> {
    [ctx.tenant.as_str(), factor.as_str()].join("\0").into_bytes()
}

/// The step in which a code of this factor is good, if it is one of an authenticator app.
pub(crate) fn totp_step(site: &Site, ctx: &Ctx, factor: &Factor, code: &str) -> Result<Option<i64>, Problem> {
    let FactorData::Totp { sealed, last_step } = &factor.data else { return Ok(None) };
    let secret = site.pipeline.keys.open_totp(&totp_place(ctx, &factor.id), sealed);
    let secret = secret
        .ok_or_else(|| Problem::internal().because(&"a secret cannot be opened with the keys there are"))?;
    Ok(totp::verify(&secret, code, ctx.now, *last_step))
}

/// What an authenticator of this person has proved: whether it verified the person. `None`: nothing.
pub(crate) async fn asserted(
    site: &Site,
    ctx: &Ctx,
    tx: &mut Tx,
    user: &UserId,
    credential: &Value,
    pending: &PendingAssertion,
) -> Result<Option<bool>, Problem> {
    let Ok(assertion) = Assertion::read(credential) else {
        return Err(Problem::invalid_request("credential: not the answer of an authenticator"));
    };
    let known = tx.factor_of_credential(assertion.credential_id()).await?;
    let Some(mut factor) = known.filter(|factor| factor.user == *user && factor.is_verified()) else {
        return Ok(None);
    };
    let Some(passkey) = factor.passkey() else { return Ok(None) };
    match site.auth.passkeys()?.finish_assertion(pending, &assertion, passkey) {
        Ok(asserted) => {
            factor.data = FactorData::Passkey(Box::new(asserted.passkey));
            factor.last_used_at = Some(ctx.now);
            tx.record_use(&factor).await?;
            Ok(Some(asserted.user_verified))
        }
        Err(error) => {
            tracing::info!(%error, factor = %factor.id, "an assertion was refused");
            Ok(None)
        }
    }
}
