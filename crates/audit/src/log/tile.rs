//! Tiles: runs of hashes from which clients compute proofs themselves (C2SP tlog-tiles).

use super::{checkpoint::CheckpointKey, merkle::GROUP, prove::newest_checkpoint};
use crate::{error::ProofError, store::ProofStore};

/// The highest level of a tile.
const MAX_LEVEL: u8 = 7;

/// A tile of a log: up to 256 hashes of one level, whose hashes cover `256^level` entries each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    level: u8,
    index: u64,
    /// Number of hashes.
    width: u64,
}

impl Tile {
    /// Parses level and index of a tile's URL, such as `0` and `x001/x234/067.p/12`.
    ///
    /// ```
    /// use audit::log::Tile;
    ///
    /// assert!(Tile::parse("0", "x001/x234/067.p/12").is_some());
    /// assert!(Tile::parse("0", "67").is_none());
    /// ```
    pub fn parse(level: &str, index: &str) -> Option<Self> {
        let (index, width) = match index.split_once(".p/") {
            Some((index, width)) => (index, Some(width)),
            None => (index, None),
        };
        let width = match width {
            None => GROUP,
            Some(width) => canonical(width).filter(|width| (1..GROUP).contains(width))?,
        };
        let level = canonical(level).and_then(|level| u8::try_from(level).ok());
        Some(Self { level: level.filter(|level| *level <= MAX_LEVEL)?, index: parse_index(index)?, width })
    }
}

/// Parses a number without leading zeroes.
fn canonical(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// Parses groups of three digits, of which all but the last begin with `x`.
fn parse_index(text: &str) -> Option<u64> {
    let mut groups: Vec<&str> = text.split('/').collect();
    let last = groups.pop()?;
    let mut index = 0_u64;
    for (position, group) in
        groups.iter().map(|group| group.strip_prefix('x')).chain([Some(last)]).enumerate()
    {
        let group =
            group.filter(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()))?;
        let is_padding = position == 0 && !groups.is_empty() && group == "000";
        let number = group.parse::<u64>().ok().filter(|_| !is_padding)?;
        index = index.checked_mul(1000)?.checked_add(number)?;
    }
    Some(index)
}

/// Returns the hashes of a tile of the newest checkpoint's log. Fails if the log is too short, or its hashes were purged.
pub async fn tile<S: ProofStore + ?Sized>(
    store: &mut S,
    keys: &[CheckpointKey],
    Tile { level, index, width }: Tile,
) -> Result<Vec<u8>, ProofError> {
    let size = newest_checkpoint(store, keys).await?.size >> (8 * u32::from(level));
    let from = index.checked_mul(GROUP);
    let (from, to) =
        from.and_then(|from| Some((from, from.checked_add(width)?))).ok_or(ProofError::NoTile)?;
    if to > size {
        return Err(ProofError::NoTile);
    }
    let hashes = store.hashes(level, from, to).await?;
    if u64::try_from(hashes.len()).is_ok_and(|count| count == width) {
        Ok(hashes.into_iter().flat_map(|(_, hash)| hash).collect())
    } else {
        Err(ProofError::NoTile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_tiles_are_canonical() {
        for (level, text, expected) in [
            ("0", "000", Some((0, 0, 256))),
            ("2", "067", Some((2, 67, 256))),
            ("0", "x001/x234/067", Some((0, 1_234_067, 256))),
            ("7", "x001/000.p/255", Some((7, 1000, 255))),
            ("0", "000.p/1", Some((0, 0, 1))),
            ("8", "000", None),
            ("00", "000", None),
            ("-1", "000", None),
            ("", "000", None),
            ("0", "", None),
            ("0", "0", None),
            ("0", "0000", None),
            ("0", "x000", None),
            ("0", "x000/001", None),
            ("0", "001/002", None),
            ("0", "x01/002", None),
            ("0", "x+01/002", None),
            ("0", "000.p/0", None),
            ("0", "000.p/256", None),
            ("0", "000.p/01", None),
            ("0", "000.p/1/2", None),
            ("0", "000.p", None),
            ("0", "x999/x999/x999/x999/x999/x999/x999/999", None),
        ] {
            let expected = expected.map(|(level, index, width)| Tile { level, index, width });
            assert_eq!(Tile::parse(level, text), expected, "{level} {text}");
        }
    }
}
