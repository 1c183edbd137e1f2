//! `/settings/webhooks`: webhooks and their deliveries.

use ::webhooks::{SubscriptionId, SubscriptionStore};
use actix_web::{HttpResponse, get};
use askama::Template;
use audit::{EventGroup, events::catalog};
use kernel::Ctx;
use store::Tx;

use super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use crate::api::{
    Answer, Call,
    query::query,
    settings::webhooks::{deliveries::delivery_list, view, webhook_list},
    webhook_keys::key_set_url,
};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageWebhooks},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/webhooks";
/// The API's path of webhooks.
const API: &str = "/api/settings/webhooks";

/// The list of webhooks.
#[derive(Template)]
#[template(path = "webhooks.html")]
struct List<'a> {
    shell: PageFrame<'a>,
}

/// The form for a new webhook.
#[derive(Template)]
#[template(path = "webhook_new.html")]
struct New<'a> {
    shell: PageFrame<'a>,
    groups: Vec<EventGroup<'a>>,
}

/// The deliveries of a webhook.
#[derive(Template)]
#[template(path = "webhook.html")]
struct Deliveries<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    url: &'a str,
}

/// The settings of a webhook.
#[derive(Template)]
#[template(path = "webhook_settings.html")]
struct Settings<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    url: &'a str,
    groups: Vec<EventGroup<'a>>,
    /// The URL of the public keys.
    key_set: String,
}

/// Renders the webhook pages: the list, `?new`, `?id=whk_…` and `?id=whk_…&view=settings`.
#[get("/settings/webhooks")]
pub(crate) async fn webhooks(call: Call<InPerson<ManageWebhooks>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManageWebhooks>>) -> Answer {
    let id = query(&call.request, "id").map(|id| id.parse::<SubscriptionId>()).transpose();
    let id = id.map_err(|_| Problem::not_found())?;
    let is_settings = query(&call.request, "view").as_deref() == Some("settings");
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let Some(id) = &id else { return Ok::<_, Problem>(None) };
        let one = tx.subscription(id).await?.ok_or_else(Problem::not_found)?;
        let deliveries = if is_settings { None } else { Some(delivery_list(tx, id).await?) };
        Ok(Some((one, deliveries)))
    };
    let subscription = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let shell = |title, script| administrator.shell(&call.site, title, script, PATH);
    let Some((one, deliveries)) = &subscription else {
        if query(&call.request, "new").is_some() {
            return draw(&New { shell: shell("Add webhook", "webhook-new.js"), groups: catalog().groups() });
        }
        let list = EmbeddedAnswer::new(API, &webhook_list(call).await?)?;
        return draw(&List { shell: shell("Webhooks", "webhooks.js").embed(vec![list]) });
    };
    let (id, url) = (one.id.as_str(), one.url.as_str());
    let own = format!("{API}/{id}");
    let webhook = EmbeddedAnswer::new(&own, &view(call, one, None))?;
    let Some(deliveries) = deliveries else {
        let shell = shell(&one.name, "webhook-settings.js").embed(vec![webhook]);
        let key_set = key_set_url(&call.site.pipeline.base_url, &call.ctx().tenant, id);
        return draw(&Settings { shell, id, url, groups: catalog().groups(), key_set });
    };
    let deliveries = EmbeddedAnswer::new(format!("{own}/deliveries"), deliveries)?;
    let shell = shell(&one.name, "webhook.js").embed(vec![webhook, deliveries]);
    draw(&Deliveries { shell, id, url })
}

#[cfg(test)]
mod tests {
    use ::webhooks::EventFilter;

    #[test]
    fn pattern_of_every_event_group_is_a_filter() {
        for group in audit::events::catalog().groups() {
            let filter: EventFilter = group.glob.parse().unwrap();
            assert!(group.kinds.iter().all(|kind| filter.matches(kind.code)), "{}", group.glob);
        }
    }
}
