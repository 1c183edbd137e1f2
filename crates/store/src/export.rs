//! All entries that match, one after the other, as they were at one moment.

use std::{collections::HashMap, time::Duration};

use audit::{Filter, Listed, Position};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::StoreError;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::{
    Tx,
    conn::on,
    schema::{scim_tokens, users},
};

/// Entries that are read at once.
const AT_ONCE: usize = 500;
/// Batches that wait for whoever takes them: what is read is read no faster than that.
const WAITING: usize = 2;
/// How long whoever takes them may let them wait.
const PATIENCE: Duration = Duration::from_mins(1);

/// Entries on their way. Dropped, nothing more of them is read.
pub struct Export {
    /// Whether there are more than are handed over.
    pub is_cut: bool,
    batches: mpsc::Receiver<Result<Vec<Listed>, StoreError>>,
}

impl Export {
    /// The next entries; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Vec<Listed>, StoreError>> {
        self.batches.recv().await
    }
}

/// Who reads, and who is told.
pub(crate) struct Pump {
    filter: Filter,
    most: usize,
    is_cut: oneshot::Sender<Result<bool, StoreError>>,
    batches: mpsc::Sender<Result<Vec<Listed>, StoreError>>,
}

/// Both ends of an export of so many entries at most.
pub(crate) fn begin(filter: Filter, most: usize) -> (Pump, impl Future<Output = Result<Export, StoreError>>) {
    let (is_cut, told) = oneshot::channel();
    let (batches, taken) = mpsc::channel(WAITING);
    let export = async move {
        let is_cut = told.await.map_err(|_| StoreError::Aborted("an export that never began"))??;
        Ok(Export { is_cut, batches: taken })
    };
    (Pump { filter, most, is_cut, batches }, export)
}

impl Pump {
    /// Reads from a unit of work that sees one moment.
    pub(crate) async fn run(self, tx: Result<Tx, StoreError>) {
        let Self { filter, most, is_cut, batches } = self;
        let mut tx = match tx {
            Ok(tx) => tx,
            Err(error) => return drop(is_cut.send(Err(error))),
        };
        let more = if filter.is_empty() { Ok(false) } else { tx.has_more_than(&filter, most).await };
        if is_cut.send(more).is_err() || filter.is_empty() {
            return;
        }
        let (mut after, mut left) = (None, most);
        let mut names = HashMap::new();
        while left > 0 {
            let wanted = left.min(AT_ONCE);
            let some = tx.batch(&filter, after.as_ref(), wanted, &mut names).await;
            let (count, last) = match &some {
                Ok(some) => (some.len(), some.last().map(Listed::position)),
                Err(_) => (0, None),
            };
            if count == 0 && some.is_ok() {
                return;
            }
            // Whoever does not take them, or is gone, gets no more of them.
            if !matches!(timeout(PATIENCE, batches.send(some)).await, Ok(Ok(()))) || count < wanted {
                return;
            }
            (after, left) = (last, left - count);
        }
    }
}

impl Tx {
    /// Entries in order, with the names of those who acted: each is asked for once.
    async fn batch(
        &mut self,
        filter: &Filter,
        after: Option<&Position>,
        limit: usize,
        names: &mut HashMap<String, Option<String>>,
    ) -> Result<Vec<Listed>, StoreError> {
        let mut found = self.in_order(filter, after, limit).await?;
        let mut new: Vec<_> = found.iter().map(|listed| listed.entry.actor_id.clone()).collect();
        new.sort_unstable();
        new.dedup();
        new.retain(|id| !names.contains_key(id));
        for id in new {
            let name = self.name_of(&id).await?;
            names.insert(id, name);
        }
        for listed in &mut found {
            listed.actor_name = names.get(&listed.entry.actor_id).cloned().flatten();
        }
        Ok(found)
    }

    async fn name_of(&mut self, id: &str) -> Result<Option<String>, StoreError> {
        let tenant = self.tenant.as_str().to_owned();
        if id.starts_with("sct_") {
            let row =
                scim_tokens::table.filter(scim_tokens::tenant_id.eq(&tenant)).filter(scim_tokens::id.eq(id));
            return on!(&mut self.conn, c => row.select(scim_tokens::name).first(c).await.optional());
        }
        let row = users::table.find((&tenant, id)).filter(users::deleted_at.is_null());
        on!(&mut self.conn, c => row.select(users::user_name).first(c).await.optional())
    }
}
