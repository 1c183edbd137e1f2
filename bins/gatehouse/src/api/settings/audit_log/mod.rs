//! `/api/settings/audit-log`: searches the audit log.

pub(crate) mod activity;
pub(crate) mod area;
pub(crate) mod export;
pub(crate) mod proofs;

use actix_web::{HttpRequest, get};
use audit::{Filter, FilterError, ListedEntry, Position};
use data_encoding::HEXLOWER;
use kernel::{Ctx, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use store::{Cost, Tx};
use utoipa::{IntoParams, ToSchema};

use crate::api::{Answer, Call, digest::sha256, openapi::values, paging::Page, query::query};
use gate::{body::answer, errors::Problem, permissions::Administer};

/// Filters of a search; all of them apply.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `filter` reads")]
pub(crate) struct AuditFilter {
    /// ID of the actor: `usr_…`, or `sct_…` of a SCIM token.
    user_id: Option<String>,
    /// Event types, or prefixes of event types followed by `*`, separated by commas.
    #[param(pattern = r"^(\s*([A-Za-z0-9_.]+\*?|\*)\s*(,\s*([A-Za-z0-9_.]+\*?|\*)\s*)*)?$")]
    action: Option<String>,
    /// Type of the resource, such as `user`.
    resource_type: Option<String>,
    /// ID of the resource.
    resource_id: Option<String>,
    /// Text in action, resource or metadata: at most 200 characters.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Start of the time range, inclusive (RFC 3339).
    #[param(format = "date-time")]
    from: Option<String>,
    /// End of the time range, exclusive (RFC 3339).
    #[param(format = "date-time")]
    to: Option<String>,
}

/// The actor of an entry.
#[derive(Serialize, ToSchema)]
struct ShownActor {
    /// `usr_…`, `sct_…`, or the name of an operator's command.
    id: String,
    /// `USER`, `SCIM`, `SYSTEM` or `SAML`.
    #[serde(rename = "type")]
    #[schema(value_type = values::ActorType)]
    kind: String,
    /// Current name, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<String>,
}

/// An audit entry.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownEntry {
    /// `aud_…`
    id: String,
    #[schema(value_type = String, format = "date-time")]
    timestamp: Timestamp,
    actor: ShownActor,
    /// As in `/api/developers/events.json`.
    action: String,
    resource_type: String,
    resource_id: String,
    /// Client address, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ip: Option<String>,
    /// IDs, and names of changed fields.
    #[schema(value_type = Object)]
    metadata: Box<RawValue>,
    /// With `order=sequence`: index in the log, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    sequence: Option<u64>,
}

impl TryFrom<ListedEntry> for ShownEntry {
    type Error = Problem;

    fn try_from(ListedEntry { entry, actor_name }: ListedEntry) -> Result<Self, Problem> {
        Ok(Self {
            metadata: RawValue::from_string(entry.metadata).map_err(Problem::unexpected)?,
            actor: ShownActor { id: entry.actor_id, kind: entry.actor_type, name: actor_name },
            id: entry.id,
            timestamp: entry.timestamp,
            action: entry.action,
            resource_type: entry.resource_type,
            resource_id: entry.resource_id,
            ip: entry.ip,
            sequence: None,
        })
    }
}

/// A page of audit entries.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuditPage {
    /// Newest first, or in the order of the log.
    entries: Vec<ShownEntry>,
    /// Cursor of the next page; `null` on the last page. With `order=sequence` it is never `null`.
    #[schema(required)]
    next_cursor: Option<String>,
    /// With `q`: time of the oldest entry scanned. A page scans at most 50,000 entries; the next page continues from here.
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    scan_stopped_at: Option<Timestamp>,
}

/// Reads the filter from the query parameters.
pub(crate) fn filter(request: &HttpRequest) -> Result<Filter, Problem> {
    let said = |name: &str| match query(request, name).filter(|value| !value.is_empty()) {
        Some(value) if value.contains('\0') => {
            Err(Problem::invalid_request(format!("{name}: must not contain the character U+0000")))
        }
        value => Ok(value),
    };
    let time = |name: &str| {
        let parsed = said(name)?.map(|value| value.parse::<Timestamp>()).transpose();
        parsed.map_err(|_| {
            Problem::invalid_request(format!("{name}: write a time such as 2026-01-31T09:30:00Z"))
        })
    };
    let mut filter = Filter {
        actor: said("userId")?,
        resource_id: said("resourceId")?,
        from: time("from")?,
        to: time("to")?,
        ..Filter::default()
    };
    let catalog = audit::events::catalog();
    let problem =
        |name: &'static str| move |error: FilterError| Problem::invalid_request(format!("{name}: {error}"));
    if let Some(words) = said("action")? {
        filter = filter.with_actions(&words, catalog).map_err(problem("action"))?;
    }
    if let Some(kind) = said("resourceType")? {
        filter = filter.with_resource_type(&kind, catalog);
    }
    if let Some(text) = said("q")? {
        filter = filter.with_text(&text).map_err(problem("q"))?;
    }
    Ok(filter)
}

/// In which order entries are listed.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what `by_sequence` reads")]
struct OrderQuery {
    /// `sequence`: sealed entries in the order of the log, with a cursor that never ends. Default: newest first.
    #[param(value_type = Option<values::AuditOrder>, inline)]
    order: Option<String>,
}

/// Returns whether the request asks for the order of the log.
pub(crate) fn by_sequence(request: &HttpRequest) -> Result<bool, Problem> {
    match query(request, "order").as_deref() {
        None | Some("") => Ok(false),
        Some("sequence") => Ok(true),
        Some(_) => Err(Problem::invalid_request("order: must be sequence, or omitted for newest first")),
    }
}

/// Returns a short hash of the filter, so that a cursor is valid only for its own search.
fn mark(filter: &Filter) -> String {
    let hash = sha256(format!("{filter:?}").as_bytes());
    HEXLOWER.encode(hash.get(..8).unwrap_or_default())
}

fn cursor(position: &Position, filter: &Filter) -> String {
    format!("audit-{}-{}-{}", position.timestamp.unix_millis(), position.id, mark(filter))
}

/// Returns the last position of the previous page, if the cursor belongs to this search.
fn opened(cursor: &str, filter: &Filter) -> Option<Position> {
    let mut parts = cursor.strip_prefix("audit-")?.split('-');
    let (millis, id, of) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let position = Position { timestamp: Timestamp::from_unix_millis(millis), id: id.to_owned() };
    (parts.next().is_none() && of == mark(filter)).then_some(position)
}

/// Responds with a page in the order of the log. A consumer that follows the cursor gets each entry exactly once.
async fn follow(call: &Call<Administer>, filter: Filter, cursor: Option<&str>, limit: usize) -> Answer {
    // A sequence number is valid for any filter.
    let from = match cursor {
        None => 0,
        Some(cursor) => {
            let place = cursor.strip_prefix("seq-").and_then(|place| place.parse().ok());
            place.ok_or_else(Problem::invalid_cursor)?
        }
    };
    let cost = if filter == Filter::default() { Cost::Indexed } else { Cost::Scan };
    let follow = async move |_: &Ctx, tx: &mut Tx| audit::follow(tx, &filter, from, limit).await;
    let page = call.search(cost, follow).await?;
    let shown =
        |(sequence, listed)| Ok(ShownEntry { sequence: Some(sequence), ..ShownEntry::try_from(listed)? });
    Ok(answer(&AuditPage {
        entries: page.entries.into_iter().map(shown).collect::<Result<_, Problem>>()?,
        next_cursor: call.site.pipeline.keys.seal_cursor(call.tenant(), &format!("seq-{}", page.next)),
        scan_stopped_at: None,
    }))
}

/// List audit entries
///
/// Newest first. Pages neither repeat nor skip entries that existed when the first page was read. With
/// `order=sequence`: sealed entries in the order of the log, with a `nextCursor` that never ends, so a client that
/// follows it misses nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(AuditFilter, OrderQuery, crate::api::paging::PageQuery),
    responses(
        (status = 200, description = "A page of audit entries.", body = AuditPage),
        (status = 400, description = "INVALID_CURSOR, or a parameter is malformed."),
    )
)]
#[get("/api/settings/audit-log")]
pub(crate) async fn get_audit_log(call: Call<Administer>, page: Page) -> Answer {
    let filter = filter(&call.request)?;
    let limit = usize::try_from(page.limit()).unwrap_or(usize::MAX);
    let cursor_of_page = page.opened(&call.site, call.tenant())?;
    if by_sequence(&call.request)? {
        return follow(&call, filter, cursor_of_page, limit).await;
    }
    let after = match cursor_of_page {
        None => None,
        Some(cursor) => Some(opened(cursor, &filter).ok_or_else(Problem::invalid_cursor)?),
    };
    let looked = filter.clone();
    let find = async move |_: &Ctx, tx: &mut Tx| audit::find(tx, &looked, after, limit).await;
    let cost = if filter.is_indexed() || filter.is_of_few_codes() { Cost::Indexed } else { Cost::Scan };
    let found = call.search(cost, find).await?;
    let next = found.next.map(|position| cursor(&position, &filter));
    Ok(answer(&AuditPage {
        entries: found.entries.into_iter().map(ShownEntry::try_from).collect::<Result<_, _>>()?,
        next_cursor: next.and_then(|cursor| call.site.pipeline.keys.seal_cursor(call.tenant(), &cursor)),
        scan_stopped_at: found.scan_stopped_at,
    }))
}
