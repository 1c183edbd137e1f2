//! `/api/settings/audit-log`: what has happened.

pub(crate) mod activity;
pub(crate) mod area;
pub(crate) mod export;
pub(crate) mod proofs;

use actix_web::{HttpRequest, HttpResponse, get, web};
use audit::{Filter, FilterError, ListedEntry, Position};
use data_encoding::HEXLOWER;
use kernel::{Ctx, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use store::{Cost, Tx};
use utoipa::{IntoParams, ToSchema};

use crate::api::{Site, digest::sha256, openapi::values, paging::Page, query::query};
use gate::{access::Access, body::answer, errors::Problem, permissions::Administer};

/// What entries are looked for; all that is said applies.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `filter` reads")]
pub(crate) struct AuditFilter {
    /// The id of who acted: `usr_…`, or `sct_…` of a SCIM token.
    user_id: Option<String>,
    /// Codes, or beginnings of codes with `*` at their end, separated by commas.
    #[param(pattern = r"^(\s*([A-Za-z0-9_.]+\*?|\*)\s*(,\s*([A-Za-z0-9_.]+\*?|\*)\s*)*)?$")]
    action: Option<String>,
    /// The type of the resource, such as `user`.
    resource_type: Option<String>,
    /// The id of the resource.
    resource_id: Option<String>,
    /// In action, resource or metadata; 200 characters at most.
    #[param(max_length = 200)]
    q: Option<String>,
    /// From this time on (RFC 3339).
    #[param(format = "date-time")]
    from: Option<String>,
    /// Before this time (RFC 3339).
    #[param(format = "date-time")]
    to: Option<String>,
}

/// The actor of an entry.
#[derive(Serialize, ToSchema)]
struct ShownActor {
    /// `usr_…`, `sct_…`, or the command of the operator.
    id: String,
    /// `USER`, `SCIM`, `SYSTEM` or `SAML`.
    #[serde(rename = "type")]
    #[schema(value_type = values::ActorType)]
    kind: String,
    /// What they are called today, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<String>,
}

/// What has happened.
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
    /// From where, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ip: Option<String>,
    /// Ids, and names of what changed.
    #[schema(value_type = Object)]
    metadata: Box<RawValue>,
    /// With `order=sequence`: its place in the log, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    sequence: Option<u64>,
}

impl TryFrom<ListedEntry> for ShownEntry {
    type Error = Problem;

    fn try_from(ListedEntry { entry, actor_name }: ListedEntry) -> Result<Self, Problem> {
        Ok(Self {
            metadata: RawValue::from_string(entry.metadata).map_err(Problem::unforeseen)?,
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

/// A page of the ledger.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuditPage {
    /// Newest first, or in the order of the log.
    entries: Vec<ShownEntry>,
    /// Where the next page begins; `null` on the last one. In the order of the log there is always one.
    #[schema(required)]
    next_cursor: Option<String>,
    /// With `q`: up to the entries of this time was looked, in 50,000 of them, and the next page goes on there.
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    scan_stopped_at: Option<Timestamp>,
}

/// What a request looks for.
pub(crate) fn filter(request: &HttpRequest) -> Result<Filter, Problem> {
    let said = |name: &str| match query(request, name).filter(|value| !value.is_empty()) {
        Some(value) if value.contains('\0') => {
            Err(Problem::invalid_request(format!("{name}: no text has the character NUL")))
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
    /// `sequence`: what is sealed, in the order of the log, without an end. Newest first by default.
    #[param(value_type = Option<values::AuditOrder>, inline)]
    order: Option<String>,
}

/// Whether the order of the log is asked for.
pub(crate) fn by_sequence(request: &HttpRequest) -> Result<bool, Problem> {
    match query(request, "order").as_deref() {
        None | Some("") => Ok(false),
        Some("sequence") => Ok(true),
        Some(_) => Err(Problem::invalid_request("order: write sequence, or nothing for newest first")),
    }
}

/// Tells cursors of one search from those of another.
fn mark(filter: &Filter) -> String {
    let hash = sha256(format!("{filter:?}").as_bytes());
    HEXLOWER.encode(hash.get(..8).unwrap_or_default())
}

fn cursor(position: &Position, filter: &Filter) -> String {
    format!("audit-{}-{}-{}", position.timestamp.unix_millis(), position.id, mark(filter))
}

/// Where the page before has ended, if it was of the same search.
fn opened(cursor: &str, filter: &Filter) -> Option<Position> {
    let mut parts = cursor.strip_prefix("audit-")?.split('-');
    let (millis, id, of) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let position = Position { timestamp: Timestamp::from_unix_millis(millis), id: id.to_owned() };
    (parts.next().is_none() && of == mark(filter)).then_some(position)
}

/// A page of the log itself: what a consumer pulls misses nothing and comes once.
async fn follow(
    site: &Site,
    access: &Access<Administer>,
    filter: Filter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<HttpResponse, Problem> {
    // A place is the same whatever is looked for.
    let from = match cursor {
        None => 0,
        Some(cursor) => {
            let place = cursor.strip_prefix("seq-").and_then(|place| place.parse().ok());
            place.ok_or_else(Problem::invalid_cursor)?
        }
    };
    let cost = if filter == Filter::default() { Cost::Indexed } else { Cost::Scan };
    let follow = async move |_: &Ctx, tx: &mut Tx| audit::follow(tx, &filter, from, limit).await;
    let page = access.search(cost, follow).await?;
    let shown =
        |(sequence, listed)| Ok(ShownEntry { sequence: Some(sequence), ..ShownEntry::try_from(listed)? });
    Ok(answer(&AuditPage {
        entries: page.entries.into_iter().map(shown).collect::<Result<_, Problem>>()?,
        next_cursor: site.pipeline.keys.seal_cursor(access.tenant(), &format!("seq-{}", page.next)),
        scan_stopped_at: None,
    }))
}

/// Look into the audit log
///
/// Newest first. Pages neither repeat nor leave out what was there when the first of them was read. With `order=sequence` what
/// is sealed, in the order of the log: whoever goes on with `nextCursor`, which never ends, misses nothing.
#[utoipa::path(
    tag = "Audit log",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(AuditFilter, OrderQuery, crate::api::paging::PageQuery),
    responses(
        (status = 200, description = "A page of entries.", body = AuditPage),
        (status = 400, description = "INVALID_CURSOR, or a parameter is malformed."),
    )
)]
#[get("/api/settings/audit-log")]
pub(crate) async fn get_audit_log(
    site: web::Data<Site>,
    access: Access<Administer>,
    request: HttpRequest,
    page: Page,
) -> Result<HttpResponse, Problem> {
    let filter = filter(&request)?;
    let limit = usize::try_from(page.limit()).unwrap_or(usize::MAX);
    let cursor_of_page = page.opened(&site, access.tenant())?;
    if by_sequence(&request)? {
        return follow(&site, &access, filter, cursor_of_page, limit).await;
    }
    let after = match cursor_of_page {
        None => None,
        Some(cursor) => Some(opened(cursor, &filter).ok_or_else(Problem::invalid_cursor)?),
    };
    let looked = filter.clone();
    let find = async move |_: &Ctx, tx: &mut Tx| audit::find(tx, &looked, after, limit).await;
    let cost = if filter.is_indexed() || filter.is_of_few_codes() { Cost::Indexed } else { Cost::Scan };
    let found = access.search(cost, find).await?;
    let next = found.next.map(|position| cursor(&position, &filter));
    Ok(answer(&AuditPage {
        entries: found.entries.into_iter().map(ShownEntry::try_from).collect::<Result<_, _>>()?,
        next_cursor: next.and_then(|cursor| site.pipeline.keys.seal_cursor(access.tenant(), &cursor)),
        scan_stopped_at: found.scan_stopped_at,
    }))
}
