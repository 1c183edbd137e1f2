//! Pages of a list that is spread over a store and the changes.

use crate::{
    Filter, Page, Query, ResourcePage, Start,
    filter::{Operand, Operator, TextOperand},
    schema::ResourceType,
};

/// Comparisons in one list of alternatives. Lists are nested, because databases limit the depth of an expression.
const ALTERNATIVES: usize = 32;

/// Returns the query for those resources of the store that the changes do not touch, from which [`merged`] makes the
/// page. `matches` is the number of touched resources that match.
pub(super) fn untouched(
    query: &Query,
    kind: &'static ResourceType,
    touched: impl Iterator<Item = String>,
    matches: usize,
) -> Query {
    let mut page = query.page.clone();
    if let Start::Index(index) = page.start {
        let (offset, matches) = (index.saturating_sub(1), matches as u64);
        let back = offset.min(matches);
        page.start = Start::Index(offset - back + 1);
        if page.count > 0 {
            page.count = page.count.saturating_add(u32::try_from(back).unwrap_or(u32::MAX));
        }
    }
    let filter = match (query.filter.clone(), none_of(kind, touched)) {
        (Some(filter), Some(others)) => Some(Filter::And(vec![filter, others])),
        (filter, others) => filter.or(others),
    };
    Query { filter, page, belongs_to: query.belongs_to }
}

/// Returns a filter for all resources but these.
fn none_of(kind: &'static ResourceType, ids: impl Iterator<Item = String>) -> Option<Filter> {
    let path = kind.resolve("id")?;
    let is = |id: String| {
        let operand = Operand::Text(TextOperand { key: id.clone(), written: id });
        Filter::Compare { path, operator: Operator::Eq, operand }
    };
    let mut any: Vec<_> = ids.map(is).collect();
    while any.len() > ALTERNATIVES {
        any = any.chunks(ALTERNATIVES).map(|some| Filter::Or(some.to_vec())).collect();
    }
    (!any.is_empty()).then(|| Filter::Not(Box::new(Filter::Or(any))))
}

/// Returns the requested page: `found`, which the store returned for [`untouched`], together with `matches`, sorted by
/// id.
pub(super) fn merged<T>(
    query: &Page,
    found: ResourcePage<T>,
    mut matches: Vec<T>,
    id: impl Fn(&T) -> &str,
) -> ResourcePage<T> {
    let ResourcePage { total, resources, more, cut } = found;
    let others = matches.len() as u64;
    if let Start::After(cursor) = &query.start {
        matches.retain(|one| id(one) > cursor.last.as_str());
    }
    let mut all: Vec<T> = resources.into_iter().chain(matches).collect();
    all.sort_by(|one, other| id(one).cmp(id(other)));
    let total = match &query.start {
        Start::After(cursor) => cursor.total,
        Start::Index(_) | Start::First => total + others,
    };
    // As many as `untouched` goes back: the others before the page were skipped by the store.
    let skip = usize::try_from(query.offset().min(others)).unwrap_or(usize::MAX);
    let length = all.len();
    let resources: Vec<T> = all.into_iter().skip(skip).take(query.count as usize).collect();
    let more = more || skip.saturating_add(resources.len()) < length;
    ResourcePage { total, resources, more, cut }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::USERS;

    #[test]
    fn request_for_the_total_stays_one() {
        let query = |count| {
            let page = Page { start: Start::Index(9), count };
            untouched(&Query { filter: None, page, belongs_to: 0 }, &USERS, std::iter::empty(), 3).page
        };
        assert_eq!((query(0).count, query(5).count), (0, 8));
    }

    /// Returns the length of the longest list of alternatives.
    fn longest(filter: &Filter) -> usize {
        match filter {
            Filter::Not(inner) => longest(inner),
            Filter::Or(any) => any.iter().map(longest).max().unwrap_or(0).max(any.len()),
            _ => 0,
        }
    }

    #[test]
    fn ids_to_leave_out_are_in_short_nested_lists() {
        assert_eq!(none_of(&USERS, std::iter::empty()), None);
        for count in [1, 32, 33, 64, 1025] {
            let filter = none_of(&USERS, (0..count).map(|id| id.to_string())).unwrap();
            assert_eq!((filter.terms(), longest(&filter)), (count, count.min(32)), "{count}");
        }
    }
}
