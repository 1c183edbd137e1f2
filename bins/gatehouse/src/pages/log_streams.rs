//! `/settings/log-streams`: streams of the audit log.

use ::log_streams::{LogStreamId, LogStreamStore, LogStreamView};
use actix_web::{HttpResponse, get};
use askama::Template;
use audit::{EventGroup, events::catalog};
use directory::Permission as Right;
use kernel::Ctx;
use store::Tx;

use super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use crate::api::{Answer, Call, query::query, settings::log_streams::log_stream_list};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageWebhooks, require_right},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/log-streams";
/// The API's path of log streams.
const API: &str = "/api/settings/log-streams";

/// The list of log streams.
#[derive(Template)]
#[template(path = "log_streams.html")]
struct List<'a> {
    shell: PageFrame<'a>,
}

/// The form for a new log stream.
#[derive(Template)]
#[template(path = "log_stream_new.html")]
struct New<'a> {
    shell: PageFrame<'a>,
    groups: Vec<EventGroup<'a>>,
}

/// A log stream.
#[derive(Template)]
#[template(path = "log_stream.html")]
struct Stream<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    url: &'a str,
    groups: Vec<EventGroup<'a>>,
}

/// Renders the pages of log streams: the list, `?new` and `?id=lst_…`.
#[get("/settings/log-streams")]
pub(crate) async fn log_stream_pages(
    call: Call<InPerson<ManageWebhooks>>,
) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManageWebhooks>>) -> Answer {
    require_right(&call.caller().holder.roles, Right::ReadAudit)?;
    let id = query(&call.request, "id").map(|id| id.parse::<LogStreamId>()).transpose();
    let id = id.map_err(|_| Problem::not_found())?;
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let Some(id) = &id else { return Ok::<_, Problem>(None) };
        let (stream, state) = ::log_streams::find(tx, id).await?;
        let view = LogStreamView::new(&stream, &state, tx.log_size().await?);
        Ok(Some((stream, view)))
    };
    let found = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let shell = |title, script| administrator.shell(&call.site, title, script, PATH);
    let Some((stream, view)) = &found else {
        if query(&call.request, "new").is_some() {
            let shell = shell("Add log stream", "log-stream-new.js");
            return draw(&New { shell, groups: catalog().groups() });
        }
        let list = EmbeddedAnswer::new(API, &log_stream_list(call).await?)?;
        return draw(&List { shell: shell("Log streams", "log-streams.js").embed(vec![list]) });
    };
    let (id, url) = (stream.id.as_str(), stream.destination.url.as_str());
    let answer = EmbeddedAnswer::new(format!("{API}/{id}"), view)?;
    let shell = shell(&stream.name, "log-stream.js").embed(vec![answer]);
    draw(&Stream { shell, id, url, groups: catalog().groups() })
}
