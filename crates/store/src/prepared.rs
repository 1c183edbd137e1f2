//! Statements that stay prepared, and statements whose text is kept.

use std::{any::TypeId, cell::RefCell, collections::HashMap, rc::Rc};

use diesel::{
    QueryResult,
    backend::Backend,
    query_builder::{AstPass, Query, QueryBuilder, QueryFragment, QueryId},
};

/// Caches a prepared statement by its text on each connection.
///
/// Diesel prepares every UPDATE and upsert again, because each could name different columns. On PostgreSQL this costs
/// a round trip, a parse and a plan for every change. Our statements always name the same columns, and raw SQL has
/// few distinct texts.
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

/// Keeps the text of a statement, once per thread.
///
/// diesel-async builds the text on every use, although it is not needed for a statement that is prepared. It copies each
/// column name separately, which costs several microseconds in frequent statements. The statement must have a static query
/// ID, so that its type determines its text. `ON CONFLICT`, UPDATE and raw SQL have none.
pub(crate) struct Kept<Q>(pub(crate) Q);

thread_local! {
    /// Texts by query ID and database.
    static TEXTS: RefCell<HashMap<(TypeId, TypeId), Rc<str>>> = RefCell::default();
}

impl<DB, Q> QueryFragment<DB> for Kept<Q>
where
    DB: Backend + 'static,
    DB::QueryBuilder: Default,
    Q: QueryFragment<DB> + QueryId,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }

    fn to_sql(&self, out: &mut DB::QueryBuilder, backend: &DB) -> QueryResult<()> {
        const { assert!(Q::HAS_STATIC_QUERY_ID, "the text of this statement may differ on each use") };
        let Some(id) = Q::query_id() else { return self.0.to_sql(out, backend) };
        let key = (id, TypeId::of::<DB>());
        if let Some(text) = TEXTS.with_borrow(|texts| texts.get(&key).cloned()) {
            out.push_sql(&text);
            return Ok(());
        }
        let mut builder = DB::QueryBuilder::default();
        self.0.to_sql(&mut builder, backend)?;
        let text: Rc<str> = builder.finish().into();
        out.push_sql(&text);
        TEXTS.with_borrow_mut(|texts| texts.insert(key, text));
        Ok(())
    }
}

impl<Q: QueryId> QueryId for Kept<Q> {
    type QueryId = Q::QueryId;
    const HAS_STATIC_QUERY_ID: bool = Q::HAS_STATIC_QUERY_ID;
}

impl<Q: Query> Query for Kept<Q> {
    type SqlType = Q::SqlType;
}

#[cfg(test)]
mod tests {
    use diesel::{debug_query, pg::Pg, prelude::*, sqlite::Sqlite};

    use super::Kept;
    use crate::schema::{audit_unsealed, users};

    #[test]
    fn kept_text_is_the_text_of_the_statement() {
        for id in ["one", "other"] {
            let select = || users::table.filter(users::id.eq(id)).select(users::role).limit(1);
            let insert = || {
                let row = (audit_unsealed::tenant_id.eq(id), audit_unsealed::entry_id.eq("entry"));
                diesel::insert_into(audit_unsealed::table).values(row)
            };
            for _ in 0..2 {
                assert_eq!(
                    debug_query::<Pg, _>(&Kept(select())).to_string(),
                    debug_query::<Pg, _>(&select()).to_string()
                );
                assert_eq!(
                    debug_query::<Sqlite, _>(&Kept(select())).to_string(),
                    debug_query::<Sqlite, _>(&select()).to_string()
                );
                assert_eq!(
                    debug_query::<Pg, _>(&Kept(insert())).to_string(),
                    debug_query::<Pg, _>(&insert()).to_string()
                );
            }
        }
    }
}
