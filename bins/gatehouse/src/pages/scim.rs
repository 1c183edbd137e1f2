//! `/settings/scim`: the directories that provision users over SCIM.

use actix_web::{HttpResponse, get};
use askama::Template;
use audit::Filter;
use kernel::Ctx;
use sessions::ip_prefix;
use store::Tx;
use tokens::{
    ScimRefusal, ScimToken, ScimTokenStore,
    removals::{RemovalKind, RemovalLimit, RemovalStore},
};

use super::{
    events::{self, EventRow},
    frame::Administrator,
    frame::PageFrame,
    frame::draw,
    sso,
    times::PageTime,
};
use crate::api::{Answer, Call, DryRun, DryRunChange, HeldRemovalView, dry_run_of, removals_with_names};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/scim";

/// Maximum number of tokens whose changes the page shows.
const TOKENS: usize = 10;
/// Maximum number of held removals that the page shows per token.
const HELD: u32 = 200;
/// Maximum number of dry runs that the page shows, the newest.
const DRY_RUNS: usize = 2;
/// Maximum number of changes that the page shows per dry run.
const CHANGES: usize = 200;

#[derive(Template)]
#[template(path = "scim.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    /// The address that directories call.
    endpoint: String,
    /// Tokens whose removals are paused.
    paused: Vec<PausedToken>,
    tokens: Vec<TokenRow>,
    limit: RemovalLimit,
    dry_runs: Vec<DryRunCard>,
    refusals: Vec<RefusalRow>,
    changes: Vec<EventRow>,
}

/// A token for dry runs, and what its requests would change.
struct DryRunCard {
    id: String,
    name: String,
    result: DryRun,
}

impl DryRunCard {
    async fn find(ctx: &Ctx, tx: &mut Tx, token: &ScimToken) -> Result<Self, Problem> {
        let result = dry_run_of(tx, &token.id, ctx.now).await?;
        Ok(Self { id: token.id.to_string(), name: token.name.clone(), result })
    }

    fn shown(&self) -> &[DryRunChange] {
        let changes = &self.result.changes;
        changes.get(..CHANGES).unwrap_or(changes)
    }

    /// Returns the number of changes that the page does not show.
    fn hidden(&self) -> usize {
        self.result.changes.len() - self.shown().len()
    }

    /// Describes the changes in numbers.
    fn summary(&self) -> String {
        let DryRun { created, updated, reactivated, deactivated, deleted, .. } = self.result;
        let parts: Vec<_> = [
            ("create", created),
            ("update", updated),
            ("reactivate", reactivated),
            ("deactivate", deactivated),
            ("delete", deleted),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(act, count)| format!("{act} {count}"))
        .collect();
        if parts.is_empty() {
            return "Its requests would change nothing so far.".to_owned();
        }
        format!("Its requests would {} users and groups. Nothing is changed.", parts.join(", "))
    }
}

impl DryRunChange {
    /// Describes the change in a few words.
    fn details(&self) -> String {
        let mut parts = self.attributes.clone();
        if self.members_added > 0 {
            parts.push(format!("{} members added", self.members_added));
        }
        if self.members_removed > 0 {
            parts.push(format!("{} members removed", self.members_removed));
        }
        parts.join(", ")
    }

    fn is_removal(&self) -> bool {
        matches!(self.action, "DELETE" | "DEACTIVATE")
    }
}

struct TokenRow {
    id: String,
    name: String,
    create_conflict: bool,
    is_paused: bool,
    dry_run: bool,
    created: PageTime,
    used: Option<PageTime>,
    used_from: Option<String>,
}

/// A token whose removals are paused, and the users who wait for a decision.
struct PausedToken {
    id: String,
    name: String,
    since: PageTime,
    /// The time of the list.
    as_of: PageTime,
    total: u64,
    users: Vec<HeldUser>,
}

struct HeldUser {
    id: String,
    /// Display name or user name.
    name: String,
    user_name: String,
    deletes: bool,
    at: PageTime,
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
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        let tokens = tx.scim_tokens().await?;
        let by = |token: &ScimToken| Filter { actor: Some(token.id.to_string()), ..Filter::default() };
        let filters: Vec<_> = tokens.iter().take(TOKENS).map(by).collect();
        let changes = events::newest(tx, &filters).await?;
        let refusals = tx.scim_refusals(ScimRefusal::KEPT).await?;
        let mut paused = Vec::new();
        for token in &tokens {
            paused.extend(PausedToken::find(ctx, tx, token).await?);
        }
        Ok::<_, Problem>((tokens, changes, refusals, paused, tx.removal_limit().await?))
    };
    let (tokens, changes, refusals, paused, limit) = call.read(find).await?;
    let simulating: Vec<_> = tokens.iter().filter(|token| token.dry_run).take(DRY_RUNS).cloned().collect();
    let dry_runs = if simulating.is_empty() { Vec::new() } else { compare(call, simulating).await? };
    let administrator = Administrator::load(call).await?;
    draw(&Page {
        shell: administrator.shell(&call.site, "SCIM provisioning", "scim.js", sso::PATH),
        endpoint: format!("{}/api/scim/v2", call.site.pipeline.base_url.trim_end_matches('/')),
        paused,
        tokens: tokens.iter().map(TokenRow::of).collect(),
        limit,
        dry_runs,
        refusals: refusals.into_iter().map(|refusal| RefusalRow::of(refusal, &tokens)).collect(),
        changes: changes.into_iter().map(EventRow::from).collect(),
    })
}

impl PausedToken {
    /// Writes the number of users.
    fn users_to_remove(&self) -> String {
        if self.total == 1 { "1 user".to_owned() } else { format!("{} users", self.total) }
    }

    async fn find(ctx: &Ctx, tx: &mut Tx, token: &ScimToken) -> Result<Option<Self>, Problem> {
        let Some(since) = token.removals_paused_at else { return Ok(None) };
        let held = tx.held_removals(&token.id, None, HELD).await?;
        Ok(Some(Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            since: since.into(),
            as_of: ctx.now.into(),
            total: tx.count_held_removals(&token.id).await?,
            users: removals_with_names(tx, held).await?.into_iter().map(HeldUser::from).collect(),
        }))
    }
}

impl From<HeldRemovalView> for HeldUser {
    fn from(view: HeldRemovalView) -> Self {
        Self {
            id: view.user_id,
            name: view.display_name.unwrap_or_else(|| view.user_name.clone()),
            user_name: view.user_name,
            deletes: view.action == RemovalKind::Delete.as_str(),
            at: view.requested_at.into(),
        }
    }
}

/// Compares dry runs with the tenant. Reads each resource that they have changed.
async fn compare(
    call: &Call<InPerson<ManageConnections>>,
    tokens: Vec<ScimToken>,
) -> Result<Vec<DryRunCard>, Problem> {
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        let mut cards = Vec::new();
        for token in &tokens {
            cards.push(DryRunCard::find(ctx, tx, token).await?);
        }
        Ok::<_, Problem>(cards)
    };
    Ok(call.scan(find).await?)
}

impl TokenRow {
    fn of(token: &ScimToken) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            create_conflict: token.create_conflict,
            dry_run: token.dry_run,
            is_paused: token.removals_paused_at.is_some(),
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
