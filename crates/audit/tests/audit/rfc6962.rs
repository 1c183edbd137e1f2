//! The definitions of RFC 6962, section 2.1, literally.

use audit::log::Hash;
use ring::digest::{SHA256, digest};

pub(crate) fn sha256(bytes: &[u8]) -> Hash {
    digest(&SHA256, bytes).as_ref().try_into().unwrap()
}

/// RFC 6962 §2.1, literally: MTH(D[n]).
pub(crate) fn mth(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => sha256(b""),
        [leaf] => *leaf,
        _ => {
            let k = leaves.len().next_power_of_two() / 2;
            let (left, right) = leaves.split_at(k);
            sha256(&[&[1], &mth(left)[..], &mth(right)].concat())
        }
    }
}

/// RFC 6962 §2.1.1: PATH(m, D[n]).
pub(crate) fn path(m: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() <= 1 {
        return Vec::new();
    }
    let k = leaves.len().next_power_of_two() / 2;
    let (left, right) = leaves.split_at(k);
    if m < k {
        [path(m, left), vec![mth(right)]].concat()
    } else {
        [path(m - k, right), vec![mth(left)]].concat()
    }
}

/// RFC 6962 §2.1.2: SUBPROOF(m, D[n], b).
pub(crate) fn subproof(m: usize, leaves: &[Hash], is_whole: bool) -> Vec<Hash> {
    if m == leaves.len() {
        return if is_whole { Vec::new() } else { vec![mth(leaves)] };
    }
    let k = leaves.len().next_power_of_two() / 2;
    let (left, right) = leaves.split_at(k);
    if m <= k {
        [subproof(m, left, is_whole), vec![mth(right)]].concat()
    } else {
        [subproof(m - k, right, false), vec![mth(left)]].concat()
    }
}
