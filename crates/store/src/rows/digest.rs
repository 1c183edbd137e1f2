//! A digest of the rows of a table that does not depend on their order.

use std::fmt;

use kernel::StoreResult;
use ring::digest::{Context, SHA256};

use super::tables::{Row, Table};

/// Number of rows, and the sum of their SHA-256 modulo 2^256.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) rows: u64,
    /// Least significant byte first.
    sum: [u8; 32],
}

impl Digest {
    /// Adds rows.
    pub(crate) fn add(&mut self, table: &Table, rows: &[Row]) -> StoreResult<()> {
        for row in rows {
            let mut context = Context::new(&SHA256);
            for (column, value) in table.columns.iter().zip(row) {
                // A length before each value keeps neighbors apart. NULL has none.
                match value {
                    None => context.update(&[0]),
                    Some(text) => {
                        let text = column.kind.canonical(text)?;
                        context.update(&[1]);
                        context.update(&(text.len() as u64).to_le_bytes());
                        context.update(text.as_bytes());
                    }
                }
            }
            let mut carry = 0;
            for (sum, byte) in self.sum.iter_mut().zip(context.finish().as_ref()) {
                let [low, high] = (u16::from(*sum) + u16::from(*byte) + carry).to_le_bytes();
                (*sum, carry) = (low, u16::from(high));
            }
            self.rows += 1;
        }
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::tables::{Column, Kind};

    fn of(rows: &[&[Option<&str>]]) -> Digest {
        let column = |name: &str| Column { name: name.into(), kind: Kind::Text };
        let table = Table { name: "t".into(), columns: vec![column("a"), column("b")] };
        let rows: Vec<Row> =
            rows.iter().map(|row| row.iter().map(|value| value.map(str::to_owned)).collect()).collect();
        let mut digest = Digest::default();
        digest.add(&table, &rows).unwrap();
        digest
    }

    #[test]
    fn digest_depends_on_rows_and_not_on_their_order() {
        let (one, other) = ([Some("a"), Some("b")], [Some("c"), None]);
        let both = of(&[&one, &other]);
        assert_eq!(both, of(&[&other, &one]));
        for different in [
            of(&[&one]),
            of(&[&one, &other, &other]),
            of(&[&one, &one]),
            of(&[&[Some("ab"), Some("")], &other]),
            of(&[&one, &[Some("c"), Some("")]]),
            of(&[&[Some("b"), Some("a")], &other]),
        ] {
            assert_ne!(both, different);
        }
    }
}
