//! All entries that match, one after the other, as they were at one moment.

use std::{collections::HashMap, time::Duration};

use audit::{
    AuditQueryStore, Filter, ListedEntry, Position, Span,
    log::{Checkpoint, Hash, Nodes, inclusion},
};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::{
    Tx,
    db::read,
    schema::{scim_tokens, users},
};

/// Entries that are read at once, where an index finds them.
const AT_ONCE: usize = 500;
/// Entries that are gone through at once, where it does not.
const SCANNED_AT_ONCE: usize = 2_000;
/// Batches that wait for whoever takes them: what is read is read no faster than that.
const WAITING: usize = 2;
/// How long whoever takes them may let them wait.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// How long one statement may take.
const LIMIT: Duration = Duration::from_secs(5);

/// How the reading of an export has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportOutcome {
    /// All was taken.
    Completed,
    /// Whoever took it has gone, or let it wait for too long.
    Abandoned,
    /// It took longer than an export may in all.
    TimedOut,
    /// The database did not go on.
    Failed,
}

/// Entries on their way. Dropped, nothing more of them is read.
pub struct Export {
    /// Whether there are more than are handed over.
    pub is_cut: bool,
    /// The newest checkpoint at that moment, where proofs are asked for and something is sealed.
    pub checkpoint: Option<String>,
    batches: mpsc::Receiver<Item>,
    has_ended: bool,
}

/// An entry on its way.
#[derive(Debug)]
pub struct Exported {
    /// As it is listed.
    pub listed: ListedEntry,
    /// Where it stands in the log of the checkpoint, where proofs are asked for and it is sealed.
    pub proof: Option<Proof>,
}

/// Where an entry stands in a log.
#[derive(Debug)]
pub struct Proof {
    /// Position of the entry in the log.
    pub sequence: u64,
    /// The hashes beside it, from the leaf upwards.
    pub path: Vec<Hash>,
}

enum Item {
    Some(Vec<Exported>),
    Failed(StoreError),
    End,
}

impl Export {
    /// The next entries; `None` at the end. What ends before its end is an error.
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
                return Some(Err(StoreError::Aborted("an export that nobody took in time")));
            }
        }
        None
    }
}

/// Is told how reading has ended, and how many entries were handed over.
type OnExportEnd = Box<dyn FnOnce(ExportOutcome, u64) + Send>;

/// Who reads, and who is told.
pub(crate) struct ExportReader {
    filter: Filter,
    most: usize,
    with_proofs: bool,
    limit: Duration,
    begun: oneshot::Sender<StoreResult<ExportStart>>,
    batches: mpsc::Sender<Item>,
    ended: OnExportEnd,
}

/// What is known before the first entry: whether there are more, and the checkpoint.
type ExportStart = (bool, Option<String>);

/// Both ends of an export of so many entries at most.
pub(crate) fn begin(
    filter: Filter,
    most: usize,
    with_proofs: bool,
    limit: Duration,
    ended: OnExportEnd,
) -> (ExportReader, impl Future<Output = StoreResult<Export>>) {
    let (begun, told) = oneshot::channel();
    let (batches, taken) = mpsc::channel(WAITING);
    let export = async move {
        let (is_cut, checkpoint) =
            told.await.map_err(|_| StoreError::Aborted("an export that never began"))??;
        Ok(Export { is_cut, checkpoint, batches: taken, has_ended: false })
    };
    (ExportReader { filter, most, with_proofs, limit, begun, batches, ended }, export)
}

impl ExportReader {
    /// Reads from a unit of work that sees one moment.
    pub(crate) async fn run(self, tx: StoreResult<Tx>) {
        let Self { filter, most, with_proofs, limit, begun, batches, ended } = self;
        let mut rows = 0;
        let ending = match tx {
            Err(error) => {
                let _gone = begun.send(Err(error));
                ExportOutcome::Failed
            }
            Ok(mut tx) => {
                // Whoever is gone is noticed between two statements, and where the database lets us, in one.
                let gone = batches.clone();
                let asked = ExportQuery { filter: &filter, most, with_proofs };
                let read = hand_over(&mut tx, asked, begun, &batches, &mut rows);
                tokio::select! {
                    biased;
                    ending = read => ending,
                    () = gone.closed() => ExportOutcome::Abandoned,
                    // What it sees as one moment keeps the database from forgetting what changed since.
                    () = sleep(limit) => ExportOutcome::TimedOut,
                }
            }
        };
        ended(ending, rows);
    }
}

/// What is asked for.
struct ExportQuery<'f> {
    filter: &'f Filter,
    most: usize,
    with_proofs: bool,
}

async fn hand_over(
    tx: &mut Tx,
    ExportQuery { filter, most, with_proofs }: ExportQuery<'_>,
    begun: oneshot::Sender<StoreResult<ExportStart>>,
    batches: &mpsc::Sender<Item>,
    rows: &mut u64,
) -> ExportOutcome {
    let (mut step, mut left, mut names) = (ExportProgress::default(), most, HashMap::new());
    let told = match tx.beginning(filter, most, with_proofs).await {
        Ok((is_cut, checkpoint)) => {
            step.size = checkpoint.as_deref().and_then(|note| Some(Checkpoint::read(note).ok()?.size));
            begun.send(Ok((is_cut, checkpoint)))
        }
        Err(error) => {
            let _gone = begun.send(Err(error));
            return ExportOutcome::Failed;
        }
    };
    if told.is_err() {
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

/// How far it has come.
#[derive(Default)]
struct ExportProgress {
    after: Option<Position>,
    is_last: bool,
    /// Entries of the log that they are proved to be in.
    size: Option<u64>,
    nodes: Nodes,
}

/// A statement that takes no longer than one may.
async fn in_time<T>(statement: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
    let late = |_| StoreError::Unavailable(format!("no answer of the database within {LIMIT:?}").into());
    timeout(LIMIT, statement).await.map_err(late)?
}

impl Tx {
    /// What is known before the first entry.
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

    /// Whether more entries match than so many: each statement looks at few.
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

    /// The next entries, with the names of those who acted: each is asked for once. There may be none in a step.
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
        for id in new {
            let name = in_time(self.name_of(&id)).await?;
            names.insert(id, name);
        }
        for listed in &mut found {
            listed.actor_name = names.get(&listed.entry.actor_id).cloned().flatten();
        }
        let Some(size) = step.size else {
            return Ok(found.into_iter().map(|listed| Exported { listed, proof: None }).collect());
        };
        let ids: Vec<_> = found.iter().map(|listed| listed.entry.id.as_str()).collect();
        let places = in_time(self.places_of(&ids)).await?;
        let mut proved = Vec::with_capacity(found.len());
        for listed in found {
            let sequence = places.get(&listed.entry.id).copied();
            let path = match sequence {
                Some(sequence) => in_time(inclusion(self, &mut step.nodes, sequence, size)).await?,
                None => None,
            };
            let proof = sequence.zip(path).map(|(sequence, path)| Proof { sequence, path });
            proved.push(Exported { listed, proof });
        }
        Ok(proved)
    }

    async fn name_of(&mut self, id: &str) -> StoreResult<Option<String>> {
        let tenant = self.tenant.as_str().to_owned();
        if id.starts_with("sct_") {
            let row =
                scim_tokens::table.filter(scim_tokens::tenant_id.eq(&tenant)).filter(scim_tokens::id.eq(id));
            return read!(self, c => row.select(scim_tokens::name).first(c).await.optional());
        }
        let row = users::table.find((&tenant, id)).filter(users::deleted_at.is_null());
        read!(self, c => row.select(users::user_name).first(c).await.optional())
    }
}
