//! Sending invitation and reset links to users.

use credentials::attempts::{self, AttemptOutcome};
use directory::{LinkKind, Message, Person};
use kernel::{Ctx, Email};
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

/// Counts the mails that a unit of work sends. Fails with a 429, which undoes the unit of work, if they are too many for the
/// tenant or for one of the recipients. Without a mail server there is nothing to count.
pub(crate) async fn count_mails<'p>(
    site: &Site,
    ctx: &Ctx,
    tx: &mut Tx,
    recipients: impl IntoIterator<Item = &'p Email>,
) -> Result<(), Problem> {
    if site.mail.is_none() {
        return Ok(());
    }
    let recipients: Vec<_> = recipients.into_iter().map(Email::key).collect();
    let recipients: Vec<_> = recipients.iter().map(String::as_str).collect();
    match attempts::take(tx, attempts::mails(&ctx.tenant, &recipients), ctx.now).await? {
        AttemptOutcome::Yes => Ok(()),
        AttemptOutcome::No { retry_after } => {
            tracing::warn!(
                tenant = ctx.tenant.as_str(),
                request_id = ctx.request_id,
                retry_after,
                "refused an act of an administrator, because it would send too many mails"
            );
            Err(Problem::busy("Too many mails of this tenant or to this address", retry_after))
        }
    }
}
