//! `/settings/signals`: receivers of shared signals.

use ::signals::{EventType, ReceiverId, ReceiverView};
use actix_web::{HttpResponse, get};
use askama::Template;
use directory::Permission as Right;
use kernel::Ctx;
use store::Tx;

use super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use crate::api::{Answer, Call, query::query, settings::signals::receiver_list};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageWebhooks, require_right},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/signals";
/// The API's path of receivers.
const API: &str = "/api/settings/signals/receivers";

/// The list of receivers.
#[derive(Template)]
#[template(path = "signals.html")]
struct List<'a> {
    shell: PageFrame<'a>,
}

/// The form for a new receiver.
#[derive(Template)]
#[template(path = "signal_new.html")]
struct New<'a> {
    shell: PageFrame<'a>,
    types: [EventType; 12],
}

/// A receiver.
#[derive(Template)]
#[template(path = "signal.html")]
struct Receiver<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    audience: &'a str,
    types: [EventType; 12],
}

/// Renders the pages of receivers: the list, `?new` and `?id=rcv_…`.
#[get("/settings/signals")]
pub(crate) async fn signal_pages(call: Call<InPerson<ManageWebhooks>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManageWebhooks>>) -> Answer {
    require_right(&call.caller().holder.roles, Right::ReadUsers)?;
    let id = query(&call.request, "id").map(|id| id.parse::<ReceiverId>()).transpose();
    let id = id.map_err(|_| Problem::not_found())?;
    let find = async move |_: &Ctx, tx: &mut Tx| match &id {
        Some(id) => Ok::<_, Problem>(Some(::signals::find(tx, id).await?)),
        None => Ok(None),
    };
    let found = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let shell = |title, script| administrator.shell(&call.site, title, script, PATH);
    let types = EventType::ALL;
    let Some((receiver, stream)) = &found else {
        if query(&call.request, "new").is_some() {
            return draw(&New { shell: shell("Add receiver", "signal-new.js"), types });
        }
        let list = EmbeddedAnswer::new(API, &receiver_list(call).await?)?;
        return draw(&List { shell: shell("Shared signals", "signals.js").embed(vec![list]) });
    };
    let (id, audience) = (receiver.id.as_str(), receiver.audience.as_str());
    let answer = EmbeddedAnswer::new(format!("{API}/{id}"), &ReceiverView::new(receiver, stream.as_ref()))?;
    draw(&Receiver { shell: shell(&receiver.name, "signal.js").embed(vec![answer]), id, audience, types })
}
