//! A condition put together at run time, as diesel takes it.

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

/// A condition: text of ours, and values that are bound.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    pieces: Vec<Piece>,
    is_kept: bool,
}

#[derive(Debug, Clone)]
enum Piece {
    Sql(String),
    Text(String),
    Time(NaiveDateTime),
    Number(i64),
}

/// Shapes of conditions that are kept prepared; others are prepared each time they are sent, because what
/// clients make up has no end. Small ones alone: the look-ups that are sent again and again.
const MAX_SHAPES: usize = 256;
const MAX_VALUES: usize = 8;
static SHAPES: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);

impl Condition {
    /// An empty one, to be written.
    pub(crate) fn new() -> Self {
        Self { pieces: Vec::new(), is_kept: false }
    }

    pub(crate) fn sql(&mut self, text: &str) {
        if let Some(Piece::Sql(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Sql(text.to_owned()));
        }
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.pieces.push(Piece::Text(value.to_owned()));
    }

    pub(crate) fn time(&mut self, value: NaiveDateTime) {
        self.pieces.push(Piece::Time(value));
    }

    pub(super) fn number(&mut self, value: i64) {
        self.pieces.push(Piece::Number(value));
    }

    /// Decides whether statements with it are kept prepared.
    pub(crate) fn finish(mut self) -> Self {
        let values = self.pieces.iter().filter(|piece| !matches!(piece, Piece::Sql(_))).count();
        if values > MAX_VALUES {
            return self;
        }
        let mut hasher = DefaultHasher::new();
        for piece in &self.pieces {
            if let Piece::Sql(sql) = piece {
                sql.hash(&mut hasher);
            }
        }
        let shape = hasher.finish();
        let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_kept = shapes.contains(&shape) || (shapes.len() < MAX_SHAPES && shapes.insert(shape));
        self
    }
}

impl<DB> QueryFragment<DB> for Condition
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
                Piece::Sql(sql) => out.push_sql(sql),
                Piece::Text(text) => out.push_bind_param::<Text, _>(text)?,
                Piece::Number(number) => out.push_bind_param::<BigInt, _>(number)?,
                Piece::Time(time) => out.push_bind_param::<Timestamp, _>(time)?,
            }
        }
        Ok(())
    }
}

impl QueryId for Condition {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Expression for Condition {
    type SqlType = Bool;
}
impl<QS> AppearsOnTable<QS> for Condition {}
impl<QS> SelectableExpression<QS> for Condition {}
impl<GB> ValidGrouping<GB> for Condition {
    type IsAggregate = is_aggregate::Never;
}
