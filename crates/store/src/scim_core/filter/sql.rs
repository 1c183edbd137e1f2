//! An SQL condition that is built at run time.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{LazyLock, Mutex, PoisonError},
};

use chrono::NaiveDateTime;
use diesel::{
    AppearsOnTable, Expression, QueryResult, SelectableExpression,
    backend::Backend,
    expression::{ValidGrouping, is_aggregate},
    query_builder::{AstPass, QueryFragment, QueryId},
    serialize::ToSql,
    sql_types::{BigInt, Bool, HasSqlType, Text, Timestamp},
};

/// A condition: SQL text and its bound values.
#[derive(Debug, Clone)]
pub(crate) struct SqlCondition {
    pieces: Vec<SqlPiece>,
    is_kept: bool,
}

#[derive(Debug, Clone)]
enum SqlPiece {
    Sql(String),
    Text(String),
    Time(NaiveDateTime),
    Number(i64),
}

/// Limits on the conditions whose statements stay prepared: number of shapes, and values per condition. All others
/// are prepared on each use, because clients can create an unlimited number of them.
const MAX_SHAPES: usize = 256;
const MAX_VALUES: usize = 8;
static SHAPES: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);

impl SqlCondition {
    /// Creates an empty condition.
    pub(crate) fn new() -> Self {
        Self { pieces: Vec::new(), is_kept: false }
    }

    pub(crate) fn sql(&mut self, text: &str) {
        if let Some(SqlPiece::Sql(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(SqlPiece::Sql(text.to_owned()));
        }
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.pieces.push(SqlPiece::Text(value.to_owned()));
    }

    pub(crate) fn time(&mut self, value: NaiveDateTime) {
        self.pieces.push(SqlPiece::Time(value));
    }

    pub(super) fn number(&mut self, value: i64) {
        self.pieces.push(SqlPiece::Number(value));
    }

    /// Decides whether the condition's statements stay prepared.
    pub(crate) fn finish(mut self) -> Self {
        let values = self.pieces.iter().filter(|piece| !matches!(piece, SqlPiece::Sql(_))).count();
        if values > MAX_VALUES {
            return self;
        }
        let mut hasher = DefaultHasher::new();
        for piece in &self.pieces {
            if let SqlPiece::Sql(sql) = piece {
                sql.hash(&mut hasher);
            }
        }
        let shape = hasher.finish();
        let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_kept = shapes.contains(&shape) || (shapes.len() < MAX_SHAPES && shapes.insert(shape));
        self
    }
}

impl<DB> QueryFragment<DB> for SqlCondition
where
    DB: Backend + HasSqlType<Text> + HasSqlType<Timestamp> + HasSqlType<BigInt>,
    String: ToSql<Text, DB>,
    NaiveDateTime: ToSql<Timestamp, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        if !self.is_kept {
            out.unsafe_to_cache_prepared();
        }
        for piece in &self.pieces {
            match piece {
                SqlPiece::Sql(sql) => out.push_sql(sql),
                SqlPiece::Text(text) => out.push_bind_param::<Text, _>(text)?,
                SqlPiece::Number(number) => out.push_bind_param::<BigInt, _>(number)?,
                SqlPiece::Time(time) => out.push_bind_param::<Timestamp, _>(time)?,
            }
        }
        Ok(())
    }
}

impl QueryId for SqlCondition {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Expression for SqlCondition {
    type SqlType = Bool;
}
impl<QS> AppearsOnTable<QS> for SqlCondition {}
impl<QS> SelectableExpression<QS> for SqlCondition {}
impl<GB> ValidGrouping<GB> for SqlCondition {
    type IsAggregate = is_aggregate::Never;
}
