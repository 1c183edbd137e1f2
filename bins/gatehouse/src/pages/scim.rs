//! `/settings/scim`: the directories that provision users over SCIM.

use actix_web::{HttpResponse, get};
use askama::Template;
use audit::Filter;
use kernel::Ctx;
use sessions::ip_prefix;
use store::Tx;
use tokens::{ScimRefusal, ScimToken, ScimTokenStore};

use super::{
    events::{self, EventRow},
    frame::Administrator,
    frame::PageFrame,
    frame::draw,
    sso,
    times::PageTime,
};
use crate::api::{Answer, Call};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/scim";

/// Maximum number of tokens whose changes the page shows.
const TOKENS: usize = 10;

#[derive(Template)]
#[template(path = "scim.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    /// The address that directories call.
    endpoint: String,
    tokens: Vec<TokenRow>,
    refusals: Vec<RefusalRow>,
    changes: Vec<EventRow>,
}

struct TokenRow {
    id: String,
    name: String,
    create_conflict: bool,
    created: PageTime,
    used: Option<PageTime>,
    used_from: Option<String>,
}

struct RefusalRow {
    /// Method and target.
    request: String,
    /// The user or group that the request names.
    subject: Option<String>,
    /// Status and `scimType`.
    answer: String,
    detail: String,
    /// Name of the token.
    by: String,
    times: u64,
    at: PageTime,
}

/// Renders the SCIM page.
#[get("/settings/scim")]
pub(crate) async fn scim(call: Call<InPerson<ManageConnections>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManageConnections>>) -> Answer {
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let tokens = tx.scim_tokens().await?;
        let by = |token: &ScimToken| Filter { actor: Some(token.id.to_string()), ..Filter::default() };
        let filters: Vec<_> = tokens.iter().take(TOKENS).map(by).collect();
        let changes = events::newest(tx, &filters).await?;
        let refusals = tx.scim_refusals(ScimRefusal::KEPT).await?;
        Ok::<_, Problem>((tokens, changes, refusals))
    };
    let (tokens, changes, refusals) = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    draw(&Page {
        shell: administrator.shell(&call.site, "SCIM provisioning", "scim.js", sso::PATH),
        endpoint: format!("{}/api/scim/v2", call.site.pipeline.base_url.trim_end_matches('/')),
        tokens: tokens.iter().map(TokenRow::of).collect(),
        refusals: refusals.into_iter().map(|refusal| RefusalRow::of(refusal, &tokens)).collect(),
        changes: changes.into_iter().map(EventRow::from).collect(),
    })
}

impl TokenRow {
    fn of(token: &ScimToken) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            create_conflict: token.create_conflict,
            created: token.created_at.into(),
            used: token.last_used_at.map(PageTime::from),
            used_from: token.last_used_ip.map(ip_prefix),
        }
    }
}

impl RefusalRow {
    fn of(refusal: ScimRefusal, tokens: &[ScimToken]) -> Self {
        let token = tokens.iter().find(|token| token.id == refusal.token);
        Self {
            request: format!("{} {}", refusal.method, refusal.target),
            subject: refusal.subject,
            answer: [Some(refusal.status.to_string()), refusal.scim_type]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            detail: refusal.detail,
            by: token.map_or_else(|| "a revoked token".to_owned(), |token| token.name.clone()),
            times: refusal.times,
            at: refusal.last_at.into(),
        }
    }
}
