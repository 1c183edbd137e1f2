//! `POST /api/settings/signals/receivers/{id}/replace-token`

use actix_web::post;
use audit::{Audited, Event, events::signals::SignalReceiverTokenReplaced};
use kernel::Ctx;
use signals::ReceiverView;
use store::Tx;

use super::SignalReceiverWithToken;
use crate::api::{Answer, Call};
use gate::{body::answer, errors::Problem, permissions::ManageSignals};

/// Replace the access token of a receiver
///
/// The previous token is refused at once. The stream is not changed. The response contains the new token; it is not shown
/// again.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The receiver, with its access token, shown once.", body = SignalReceiverWithToken),
    )
)]
#[post("/api/settings/signals/receivers/{id}/replace-token")]
pub(crate) async fn replace_signal_token(call: Call<ManageSignals>) -> Answer {
    let id = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let replaced = signals::replace_token(ctx, tx, &id).await?;
        Ok::<_, Problem>(Audited::new(replaced, Event::new(id.as_str(), &SignalReceiverTokenReplaced {})))
    };
    let ((receiver, stream), token) = call.write(work).await?;
    Ok(answer(&SignalReceiverWithToken::new(ReceiverView::new(&receiver, stream.as_ref()), &token)))
}
