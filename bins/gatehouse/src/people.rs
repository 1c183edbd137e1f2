//! Sending invitation and reset links to users.

use std::borrow::Borrow;

use credentials::attempts::{self, AttemptOutcome, Limit};
use directory::{LinkKind, Message, Person};
use kernel::{Ctx, Email, TenantId};
use sign_in::reset::link_url;
use store::Tx;
use tokens::RawToken;

use crate::api::Site;
use gate::errors::Problem;

/// Sends a link by mail. Returns the link if mail is not configured.
pub(crate) async fn deliver(
    site: &Site,
    person: &Person,
    kind: LinkKind,
    link: RawToken,
) -> Result<Option<String>, Problem> {
    let address = link_url(&site.pipeline.base_url, &link);
    match (&site.mail, &person.email) {
        (Some(mail), Some(email)) => {
            let sent = mail.send(email, Message::link(kind, &address)).await;
            sent.map_err(|error| {
                Problem::unavailable().because(&format!("the email with the link could not be sent: {error}"))
            })?;
            Ok(None)
        }
        _ => Ok(Some(address)),
    }
}

/// Counts the mails that a unit of work sends. Fails with a 429, which undoes the unit of work, if one of the limits would
/// be exceeded. Without a mail server there is nothing to count.
pub(crate) async fn count_mails(
    site: &Site,
    ctx: &Ctx,
    tx: &mut Tx,
    limits: impl FnOnce(&TenantId) -> Vec<Limit>,
) -> Result<(), Problem> {
    if site.mail.is_none() {
        return Ok(());
    }
    match attempts::take(tx, limits(&ctx.tenant), ctx.now).await? {
        AttemptOutcome::Yes => Ok(()),
        AttemptOutcome::No { retry_after } => {
            tracing::warn!(
                tenant = ctx.tenant.as_str(),
                request_id = ctx.request_id,
                retry_after,
                "refused an act of an administrator, because it would send too many mails"
            );
            Err(Problem::busy("Too many mails of this tenant, or to this address", retry_after))
        }
    }
}

/// Returns the limits of invitations to these users.
pub(crate) fn invitations(tenant: &TenantId, to: impl IntoIterator<Item = impl Borrow<Email>>) -> Vec<Limit> {
    let recipients: Vec<_> = to.into_iter().map(|email| email.borrow().key()).collect();
    let recipients: Vec<_> = recipients.iter().map(String::as_str).collect();
    attempts::invitations(tenant, &recipients)
}
