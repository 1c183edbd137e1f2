//! User operations that the API and the command line share: sending links and changing profiles.

use audit::{Audited, Event, events::users::UserUpdated};
use directory::{LinkKind, Message, Person, ProfileChanges};
use kernel::{Ctx, UserId};
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

/// Changes a user's profile.
pub(crate) async fn change_profile(
    ctx: &Ctx,
    tx: &mut Tx,
    id: &UserId,
    changes: ProfileChanges,
) -> Result<Audited<Person>, directory::Error> {
    let (person, changed) = directory::change_profile(ctx, tx, id, changes).await?;
    let event = (!changed.is_empty()).then(|| Event::new(id.as_str(), &UserUpdated { changed }));
    Ok(Audited::of_changes(person, event.into_iter().collect()))
}
