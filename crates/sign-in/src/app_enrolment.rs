//! Enrolment of an authenticator app: from its secret to the first correct code.

use credentials::{
    Factor, FactorData, FactorId, FactorKind, FactorStore, TICKET_MINUTES, default_name, totp,
};
use kernel::{Ctx, Secret, Timestamp, UserId};

use crate::{
    enrolment::{Enrolling, EnrolmentGround},
    error::Error,
    factor::Verifiers,
};

/// An authenticator app whose first code is not verified yet.
pub struct PendingApp {
    /// The stored factor.
    pub factor: Factor,
    /// The secret, which is shown once.
    pub secret: Secret<Vec<u8>>,
}

/// Creates the secret of an app. Replaces any enrolment that was not completed.
pub async fn begin<S: FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    enrolling: &Enrolling,
    ground: EnrolmentGround,
) -> Result<PendingApp, Error> {
    let user = &enrolling.session.user;
    store.drop_pending(user).await?;
    let (id, secret) = (FactorId::new(&*ctx.env), totp::new_secret(&*ctx.env));
    let sealed = verifiers.seal_totp(ctx, &id, &secret)?;
    let factor = Factor {
        id,
        user: user.clone(),
        name: default_name(FactorKind::Totp).to_owned(),
        created_at: ctx.now,
        verified_at: None,
        last_used_at: None,
        data: FactorData::Totp { sealed, last_step: ground.as_step() },
    };
    store.insert_factor(&factor).await?;
    Ok(PendingApp { factor, secret })
}

/// An app whose first code is correct.
#[derive(Debug)]
pub struct ProvedApp {
    /// The factor, whose verification is not stored yet.
    pub factor: Factor,
    /// Why the enrolment was permitted.
    pub ground: EnrolmentGround,
    step: i64,
}

/// Verifies the first code of a pending app. Returns `None` if the user has no pending app with this id.
pub async fn verify<S: FactorStore>(
    ctx: &Ctx,
    store: &mut S,
    verifiers: &Verifiers<'_>,
    user: &UserId,
    id: &FactorId,
    code: &str,
) -> Result<Option<ProvedApp>, Error> {
    let mut factors = store.factors(user).await?;
    factors.retain(|factor| factor.id == *id && is_pending(factor, ctx.now));
    let Some(factor) = factors.pop() else { return Ok(None) };
    let FactorData::Totp { last_step, .. } = factor.data else { return Ok(None) };
    let step = verifiers.totp_step(ctx, &factor, code)?.ok_or(Error::FactorInvalid)?;
    Ok(Some(ProvedApp { factor, ground: EnrolmentGround::of_step(last_step), step }))
}

fn is_pending(factor: &Factor, now: Timestamp) -> bool {
    !factor.is_verified() && now < factor.created_at.plus_millis(TICKET_MINUTES * 60_000)
}

/// Stores that the app is verified, and that the code was used.
pub async fn confirm<S: FactorStore>(ctx: &Ctx, store: &mut S, proved: ProvedApp) -> Result<Factor, Error> {
    let ProvedApp { mut factor, step, .. } = proved;
    factor.verified_at = Some(ctx.now);
    factor.last_used_at = Some(ctx.now);
    store.update_factor(&factor).await?;
    if store.use_step(&factor, step, ctx.now).await? { Ok(factor) } else { Err(Error::FactorInvalid) }
}
