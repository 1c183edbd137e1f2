//! Sending invitation and reset links to users.

use directory::{LinkKind, Message, Person};
use sign_in::reset::link_url;
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
