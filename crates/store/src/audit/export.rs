//! Streams all matching audit entries from one database snapshot.

use std::{collections::HashMap, time::Duration};

use audit::{
    AuditQueryStore, Exported, Filter, ListedEntry, Position, Proof, Span,
    log::{Checkpoint, Nodes, inclusion},
};
use diesel::{dsl::sql, prelude::*, sql_types::Text};
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::{
    Tx,
    db::read,
    schema::{oidc_providers, saml_providers, scim_tokens, users},
};

/// Entries per statement if an index finds them.
const AT_ONCE: usize = 500;
/// Entries scanned per statement if no index finds them.
const SCANNED_AT_ONCE: usize = 2_000;
/// Batches that wait for the consumer. Reading pauses when they are full.
const WAITING: usize = 2;
/// How long the consumer may let batches wait.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// Time limit of one statement.
const LIMIT: Duration = Duration::from_secs(5);

/// How an export ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportOutcome {
    /// The consumer received all entries.
    Completed,
    /// The consumer disconnected or was too slow.
    Abandoned,
    /// The export exceeded its total time limit.
    TimedOut,
    /// The database failed.
    Failed,
}

impl ExportOutcome {
    /// Returns the name in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "COMPLETED",
            Self::Abandoned => "ABANDONED",
            Self::TimedOut => "TIMED_OUT",
            Self::Failed => "FAILED",
        }
    }
}

/// A stream of entries. Dropping it stops the reading.
pub struct Export {
    /// Whether more entries match than the export returns.
    pub is_cut: bool,
    /// The newest checkpoint in the snapshot, if proofs were requested and a checkpoint exists.
    pub checkpoint: Option<String>,
    batches: mpsc::Receiver<Item>,
    has_ended: bool,
}

enum Item {
    Some(Vec<Exported>),
    Failed(StoreError),
    End,
}

impl Export {
    /// Returns the next entries, or `None` at the end. An export that ends early returns an error.
    pub async fn next(&mut self) -> Option<StoreResult<Vec<Exported>>> {
        if self.has_ended {
            return None;
        }
        match self.batches.recv().await {
            Some(Item::Some(entries)) => return Some(Ok(entries)),
            Some(Item::End) => self.has_ended = true,
            Some(Item::Failed(error)) => {
                self.has_ended = true;
                return Some(Err(error));
            }
            None => {
                self.has_ended = true;
                return Some(Err(StoreError::Aborted(
                    "the export stopped because the client read it too slowly",
                )));
            }
        }
        None
    }
}

/// Called when reading ends, with the outcome and the number of entries sent.
type OnExportEnd = Box<dyn FnOnce(ExportOutcome, u64) + Send>;

/// The reading side of an export.
pub(crate) struct ExportReader {
    filter: Filter,
    most: usize,
    with_proofs: bool,
    limit: Duration,
    start: oneshot::Sender<StoreResult<ExportStart>>,
    batches: mpsc::Sender<Item>,
    ended: OnExportEnd,
}

/// Sent before the first entry: whether more entries match, and the checkpoint.
type ExportStart = (bool, Option<String>);

/// Creates both ends of an export of at most `most` entries.
pub(crate) fn begin(
    filter: Filter,
    most: usize,
    with_proofs: bool,
    limit: Duration,
    ended: OnExportEnd,
) -> (ExportReader, impl Future<Output = StoreResult<Export>>) {
    let (start, started) = oneshot::channel();
    let (batches, taken) = mpsc::channel(WAITING);
    let export = async move {
        let (is_cut, checkpoint) =
            started.await.map_err(|_| StoreError::Aborted("the export ended before it began"))??;
        Ok(Export { is_cut, checkpoint, batches: taken, has_ended: false })
    };
    (ExportReader { filter, most, with_proofs, limit, start, batches, ended }, export)
}

impl ExportReader {
    /// Reads from a unit of work with a snapshot.
    pub(crate) async fn run(self, tx: StoreResult<Tx>) {
        let Self { filter, most, with_proofs, limit, start, batches, ended } = self;
        let mut rows = 0;
        let ending = match tx {
            Err(error) => {
                let _gone = start.send(Err(error));
                ExportOutcome::Failed
            }
            Ok(mut tx) => {
                // A closed receiver ends the export between two statements or, where the database allows, within one.
                let gone = batches.clone();
                let query = ExportQuery { filter: &filter, most, with_proofs };
                let read = send_entries(&mut tx, query, start, &batches, &mut rows);
                tokio::select! {
                    biased;
                    ending = read => ending,
                    () = gone.closed() => ExportOutcome::Abandoned,
                    // The snapshot keeps the database from removing old row versions.
                    () = sleep(limit) => ExportOutcome::TimedOut,
                }
            }
        };
        ended(ending, rows);
    }
}

/// The parameters of an export.
struct ExportQuery<'f> {
    filter: &'f Filter,
    most: usize,
    with_proofs: bool,
}

async fn send_entries(
    tx: &mut Tx,
    ExportQuery { filter, most, with_proofs }: ExportQuery<'_>,
    start: oneshot::Sender<StoreResult<ExportStart>>,
    batches: &mpsc::Sender<Item>,
    rows: &mut u64,
) -> ExportOutcome {
    let (mut step, mut left, mut names) = (ExportProgress::default(), most, HashMap::new());
    let sent = match tx.beginning(filter, most, with_proofs).await {
        Ok((is_cut, checkpoint)) => {
            step.size = checkpoint.as_deref().and_then(|note| Some(Checkpoint::read(note).ok()?.size));
            start.send(Ok((is_cut, checkpoint)))
        }
        Err(error) => {
            let _gone = start.send(Err(error));
            return ExportOutcome::Failed;
        }
    };
    if sent.is_err() {
        return ExportOutcome::Abandoned;
    }
    while left > 0 && !step.is_last && !filter.is_empty() {
        let some = match tx.step(filter, &mut step, left, &mut names).await {
            Ok(some) => some,
            Err(error) => {
                let _gone = timeout(PATIENCE, batches.send(Item::Failed(error))).await;
                return ExportOutcome::Failed;
            }
        };
        left -= some.len();
        let count = some.len() as u64;
        if count == 0 {
            tokio::task::yield_now().await;
            continue;
        }
        if !matches!(timeout(PATIENCE, batches.send(Item::Some(some))).await, Ok(Ok(()))) {
            return ExportOutcome::Abandoned;
        }
        *rows += count;
    }
    match timeout(PATIENCE, batches.send(Item::End)).await {
        Ok(Ok(())) => ExportOutcome::Completed,
        _ => ExportOutcome::Abandoned,
    }
}

/// The progress of an export.
#[derive(Default)]
struct ExportProgress {
    after: Option<Position>,
    is_last: bool,
    /// The size of the log that the proofs refer to.
    size: Option<u64>,
    nodes: Nodes,
}

/// Runs a statement with the time limit.
async fn in_time<T>(statement: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
    let late = |_| StoreError::Unavailable(format!("no response from the database within {LIMIT:?}").into());
    timeout(LIMIT, statement).await.map_err(late)?
}

impl Tx {
    /// Reads the start of the export.
    async fn beginning(
        &mut self,
        filter: &Filter,
        most: usize,
        with_proofs: bool,
    ) -> StoreResult<ExportStart> {
        let is_cut = self.has_more_than(filter, most).await?;
        let newest = if with_proofs { in_time(self.newest_checkpoint()).await? } else { None };
        Ok((is_cut, newest.map(|(note, _)| note)))
    }

    /// Returns whether more than `most` entries match. Each statement reads few.
    async fn has_more_than(&mut self, filter: &Filter, most: usize) -> StoreResult<bool> {
        if filter.is_empty() {
            return Ok(false);
        }
        if filter.is_indexed() {
            return Ok(in_time(self.further(filter, None, most + 1)).await?.is_some());
        }
        let (range, mut after, mut count) = (filter.range(), None, 0);
        loop {
            let until = in_time(self.further(&range, after.as_ref(), SCANNED_AT_ONCE)).await?;
            count +=
                in_time(self.count_of(filter, Span { after: after.as_ref(), until: until.as_ref() })).await?;
            if count > most || until.is_none() {
                return Ok(count > most);
            }
            after = until;
            tokio::task::yield_now().await;
        }
    }

    /// Reads the next entries with the names of their actors, each name once. A step may find no entry.
    async fn step(
        &mut self,
        filter: &Filter,
        step: &mut ExportProgress,
        left: usize,
        names: &mut HashMap<String, Option<String>>,
    ) -> StoreResult<Vec<Exported>> {
        let mut found = if filter.is_indexed() {
            let wanted = left.min(AT_ONCE);
            let found =
                in_time(self.in_order(filter, Span { after: step.after.as_ref(), until: None }, wanted))
                    .await?;
            step.is_last = found.len() < wanted;
            step.after = found.last().map(ListedEntry::position);
            found
        } else {
            let until = in_time(self.further(&filter.range(), step.after.as_ref(), SCANNED_AT_ONCE)).await?;
            let span = Span { after: step.after.as_ref(), until: until.as_ref() };
            let found = in_time(self.in_order(filter, span, left)).await?;
            step.is_last = until.is_none();
            step.after = until;
            found
        };
        let mut new: Vec<_> = found.iter().map(|listed| listed.entry.actor_id.clone()).collect();
        new.sort_unstable();
        new.dedup();
        new.retain(|id| !names.contains_key(id));
        if !new.is_empty() {
            let mut known = in_time(self.names_of(&new)).await?;
            names.extend(new.into_iter().map(|id| {
                let name = known.remove(&id);
                (id, name)
            }));
        }
        for listed in &mut found {
            listed.actor_name = names.get(&listed.entry.actor_id).cloned().flatten();
        }
        let Some(size) = step.size else {
            return Ok(found.into_iter().map(|listed| Exported { listed, proof: None }).collect());
        };
        let ids: Vec<_> = found.iter().map(|listed| listed.entry.id.as_str()).collect();
        let positions = in_time(self.positions_of(&ids)).await?;
        let mut proved = Vec::with_capacity(found.len());
        for listed in found {
            let sequence = positions.get(&listed.entry.id).copied();
            let path = match sequence {
                Some(sequence) => in_time(inclusion(self, &mut step.nodes, sequence, size)).await?,
                None => None,
            };
            let proof = sequence.zip(path).map(|(sequence, path)| Proof { sequence, path });
            proved.push(Exported { listed, proof });
        }
        Ok(proved)
    }

    /// Returns the names of actors, by their IDs. Deleted actors and parts of the service have none.
    async fn names_of(&mut self, ids: &[String]) -> StoreResult<HashMap<String, String>> {
        let tenant = self.tenant.as_str().to_owned();
        let of_kind = |prefix| ids.iter().filter(move |id| id.starts_with(prefix)).collect::<Vec<_>>();
        let mut names: Vec<(String, String)> = Vec::new();
        let of_users = of_kind("usr_");
        if !of_users.is_empty() {
            let rows = users::table.filter(users::tenant_id.eq(&tenant)).filter(users::id.eq_any(of_users));
            let query = rows.filter(users::deleted_at.is_null()).select((users::id, users::user_name));
            names = read!(self, c => query.load(c).await)?;
        }
        let of_tokens = of_kind("sct_");
        if !of_tokens.is_empty() {
            let rows = scim_tokens::table.filter(scim_tokens::tenant_id.eq(&tenant));
            let query =
                rows.filter(scim_tokens::id.eq_any(of_tokens)).select((scim_tokens::id, scim_tokens::name));
            names.append(&mut read!(self, c => query.load(c).await)?);
        }
        let of_providers = of_kind("sso_");
        if !of_providers.is_empty() {
            let rows = saml_providers::table.filter(saml_providers::tenant_id.eq(&tenant));
            let columns = (saml_providers::id, sql::<Text>("document ->> 'name'"));
            let query = rows.filter(saml_providers::id.eq_any(of_providers)).select(columns);
            names.append(&mut read!(self, c => query.load(c).await)?);
        }
        let of_providers = of_kind("oidc_");
        if !of_providers.is_empty() {
            let rows = oidc_providers::table.filter(oidc_providers::tenant_id.eq(&tenant));
            let columns = (oidc_providers::id, sql::<Text>("document ->> 'name'"));
            let query = rows.filter(oidc_providers::id.eq_any(of_providers)).select(columns);
            names.append(&mut read!(self, c => query.load(c).await)?);
        }
        Ok(names.into_iter().collect())
    }
}
