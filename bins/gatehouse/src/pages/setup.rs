//! `/setup`: creates the first tenant and its administrator, with the link that the server prints.

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;
use gate::{access::Gate, shape::AreaProblem};

use super::{frame::PageFrame, frame::draw};
use crate::api::{Answer, Site};

pub(crate) const PATH: &str = "/setup";

#[derive(Template)]
#[template(path = "setup.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    /// Whether an administrator exists.
    is_done: bool,
}

/// Renders the page. The browser reads the token from the fragment.
#[get("/setup")]
pub(crate) async fn setup(
    site: web::Data<Site>,
    gate: web::Data<Gate>,
    request: HttpRequest,
) -> Result<HttpResponse, AreaProblem> {
    drawn(&site, &gate).await.map_err(|problem| AreaProblem::of(&request, problem))
}

async fn drawn(site: &Site, gate: &Gate) -> Answer {
    let is_done = gate.has_administrator().await?;
    draw(&Page { shell: PageFrame::new(site, "Set up Gatehouse", "setup.js"), is_done })
}
