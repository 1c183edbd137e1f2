//! Statements that stay prepared.

use diesel::{
    QueryResult,
    backend::Backend,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
};

/// A statement that is prepared once on each connection, and found again by its text.
///
/// Diesel has every UPDATE and every upsert prepared anew, as each could name other columns: on PostgreSQL that is one
/// more round trip, a parse and a plan for every change. Ours name the same few columns each time, and what
/// is written as SQL is one of few texts.
pub(crate) struct Prepared<Q>(pub(crate) Q);

impl<DB: Backend, Q: QueryFragment<DB>> QueryFragment<DB> for Prepared<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<Q> QueryId for Prepared<Q> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}
