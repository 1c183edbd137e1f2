//! Pages of users or groups.

use scim_core::{Page, Query, ResourcePage, Start};

/// The offset from which rows are skipped on the index alone, without reading them.
const FAR_OFFSET: u64 = 500;

/// Returns whether skipping dominates the work of a page.
pub(crate) fn is_far(page: &Page) -> bool {
    page.offset() >= FAR_OFFSET
}

/// The rows that a page needs.
pub(crate) struct Slice {
    page: Page,
    is_whole_list: bool,
    /// Maximum number of rows to load.
    pub(crate) limit: i64,
    /// Rows to skip during loading.
    pub(crate) offset: i64,
    /// Rows to skip on the index before loading.
    pub(crate) skip: Option<i64>,
}

impl Slice {
    pub(crate) fn of(query: &Query) -> Self {
        let page = query.page.clone();
        let offset = i64::try_from(page.offset()).unwrap_or(i64::MAX);
        // A cursor page loads one more row to learn whether another page follows.
        let more = i64::from(!matches!(page.start, Start::Index(_)));
        let limit = if page.count == 0 { 0 } else { i64::from(page.count) + more };
        let far = query.filter.is_none() && is_far(&page);
        Self {
            is_whole_list: query.filter.is_none(),
            limit,
            offset: if far { 0 } else { offset },
            skip: far.then_some(offset),
            page,
        }
    }

    /// Returns the id after which the page starts.
    pub(crate) fn after(&self) -> Option<&str> {
        match &self.page.start {
            Start::After(cursor) => Some(&cursor.last),
            Start::Index(_) | Start::First => None,
        }
    }

    /// Returns whether matching rows must be counted. A cursor carries the count of the first page.
    pub(crate) fn counts(&self) -> bool {
        !matches!(self.page.start, Start::After(_))
    }

    /// Returns whether the page is likely full, so that a separate count is needed.
    pub(crate) fn is_likely_full(&self) -> bool {
        self.is_whole_list && self.counts() && self.limit > 0
    }

    /// Returns the total if the page is the last one, which makes it known.
    pub(crate) fn count_of(&self, loaded: usize) -> Option<i64> {
        let loaded = i64::try_from(loaded).ok()?;
        let before = i64::try_from(self.page.offset()).ok()?;
        let is_last = loaded < self.limit && (loaded > 0 || before == 0);
        (self.counts() && is_last).then_some(before + loaded)
    }

    /// Builds the page from the loaded rows and the count.
    pub(crate) fn found<T>(&self, counted: Option<i64>, mut resources: Vec<T>) -> ResourcePage<T> {
        let count = usize::try_from(self.page.count).unwrap_or(usize::MAX);
        let beyond = resources.len() > count;
        resources.truncate(count);
        let before = self.page.offset();
        // Rows may have been added between the count and the load.
        let seen = if resources.is_empty() { 0 } else { before + resources.len() as u64 };
        let total = match &self.page.start {
            Start::After(cursor) => cursor.total,
            _ => counted.unwrap_or_default().unsigned_abs().max(seen),
        };
        let more = beyond || (matches!(self.page.start, Start::Index(_)) && seen.max(before) < total);
        ResourcePage { total, resources, more, cut: false }
    }
}

/// Loads and counts. Without a filter, both statements are pipelined where the database supports it. With a filter
/// most pages are short, and loading a short page also counts it.
macro_rules! load_and_count {
    ($conn:expr, $slice:expr, $load:expr, $count:expr) => {
        match $conn {
            $crate::conn::Conn::Postgres(pg) if $slice.is_likely_full() => {
                let result = {
                    let (begin, conn) = pg.begin();
                    let (mut one, mut other) = (conn, conn);
                    let (load, count) = ($load.load(&mut one), $count.get_result::<i64>(&mut other));
                    let (begun, rows, count) = futures_util::future::join3(begin, load, count).await;
                    begun.and(rows).and_then(|rows| Ok((rows, Some(count?))))
                };
                pg.note(result).map_err($crate::error::store_error)
            }
            conn => {
                let rows = if $slice.limit > 0 {
                    $crate::conn::on!(conn, c => $load.load(c).await)
                } else {
                    Ok(Vec::new())
                };
                match rows {
                    Ok(rows) => match $slice.count_of(rows.len()) {
                        Some(total) => Ok((rows, Some(total))),
                        None if $slice.counts() => {
                            $crate::conn::on!(conn, c => $count.get_result(c).await).map(|total| (rows, Some(total)))
                        }
                        None => Ok((rows, None)),
                    },
                    Err(error) => Err(error),
                }
            }
        }
    };
}
pub(crate) use load_and_count;
