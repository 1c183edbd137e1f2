//! Pages of resources: the same for users and groups.

use scim_core::{Found, Page, Query, Start};

/// From how many on, skipping is done on the index alone and rows are read only of those who are left.
const FAR: u64 = 500;

/// What a page asks of the database.
pub(crate) struct Slice {
    page: Page,
    /// Rows to load at most.
    pub(crate) limit: i64,
    /// Rows to skip while loading.
    pub(crate) offset: i64,
    /// Rows to skip before anything is loaded.
    pub(crate) skip: Option<i64>,
}

impl Slice {
    pub(crate) fn of(query: &Query) -> Self {
        let page = query.page.clone();
        let offset = i64::try_from(page.offset()).unwrap_or(i64::MAX);
        // By cursor one more tells whether there is a next page.
        let more = i64::from(!matches!(page.start, Start::Index(_)));
        let limit = if page.count == 0 { 0 } else { i64::from(page.count) + more };
        let far = query.filter.is_none() && page.offset() >= FAR;
        Self { limit, offset: if far { 0 } else { offset }, skip: far.then_some(offset), page }
    }

    /// After which id it starts.
    pub(crate) fn after(&self) -> Option<&str> {
        match &self.page.start {
            Start::After(cursor) => Some(&cursor.last),
            Start::Index(_) | Start::First => None,
        }
    }

    /// Whether the matching rows are to be counted: they were, if a cursor says so.
    pub(crate) fn counts(&self) -> bool {
        !matches!(self.page.start, Start::After(_))
    }

    /// The page, from what was counted and loaded.
    pub(crate) fn found<T>(&self, counted: Option<i64>, mut resources: Vec<T>) -> Found<T> {
        let count = usize::try_from(self.page.count).unwrap_or(usize::MAX);
        let beyond = resources.len() > count;
        resources.truncate(count);
        let before = self.page.offset();
        // Some may have come between the count and the page.
        let seen = if resources.is_empty() { 0 } else { before + resources.len() as u64 };
        let total = match &self.page.start {
            Start::After(cursor) => cursor.total,
            _ => counted.unwrap_or_default().unsigned_abs().max(seen),
        };
        let more = beyond || (matches!(self.page.start, Start::Index(_)) && seen.max(before) < total);
        Found { total, resources, more }
    }
}

/// Counts and loads: at once where the database takes several statements at once. Both queries are options.
macro_rules! count_and_load {
    ($conn:expr, $count:expr, $load:expr) => {
        match $conn {
            $crate::conn::Conn::Postgres(pg) => {
                let result = {
                    let (begin, conn) = pg.begin();
                    let (mut one, mut other) = (conn, conn);
                    let count = async {
                        match $count {
                            Some(query) => query.get_result::<i64>(&mut one).await.map(Some),
                            None => Ok(None),
                        }
                    };
                    let load = async {
                        match $load {
                            Some(query) => query.load(&mut other).await,
                            None => Ok(Vec::new()),
                        }
                    };
                    let (begun, count, rows) = futures_util::future::join3(begin, count, load).await;
                    begun.and(count).and_then(|count| Ok((count, rows?)))
                };
                pg.note(result)
            }
            $crate::conn::Conn::Sqlite(c) => {
                let count = match $count {
                    Some(query) => query.get_result::<i64>(c).await.map(Some),
                    None => Ok(None),
                };
                match (count, $load) {
                    (Err(error), _) => Err(error),
                    (Ok(count), None) => Ok((count, Vec::new())),
                    (Ok(count), Some(query)) => query.load(c).await.map(|rows| (count, rows)),
                }
            }
        }
        .map_err($crate::error::store_error)
    };
}
pub(crate) use count_and_load;
