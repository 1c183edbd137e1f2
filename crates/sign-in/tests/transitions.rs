//! Compares the table of transitions in the crate's documentation with [`next`].
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use credentials::{FactorKind, MfaPolicy, SignInMode};
use sessions::Method;
use sign_in::{Error, Requirements, State, Step, next};

/// Returns every combination of requirements that can affect a transition.
fn all_requirements() -> Vec<Requirements> {
    let kinds =
        [vec![FactorKind::Webauthn], vec![FactorKind::Totp], vec![FactorKind::Webauthn, FactorKind::Totp]];
    let modes = [SignInMode::CredentialsOnly, SignInMode::SsoAllowed, SignInMode::SsoRequired];
    let begun = [None, Some(Method::Password), Some(Method::Sso), Some(Method::Passkey)];
    let mut all = Vec::new();
    for sign_in_mode in modes {
        for accepted_factors in &kinds {
            for verified in kinds.iter().cloned().chain([Vec::new()]) {
                for begun_with in begun {
                    for bits in 0..16 {
                        let flag = |bit: u32| bits >> bit & 1 == 1;
                        let (required, trust_sso_mfa) = (flag(0), flag(1));
                        let accepted_factors = accepted_factors.clone();
                        all.push(Requirements {
                            sign_in_mode,
                            mfa: MfaPolicy { required, accepted_factors, trust_sso_mfa },
                            break_glass: flag(2),
                            verified: verified.clone(),
                            unused_codes: usize::from(flag(3)),
                            begun_with,
                        });
                    }
                }
            }
        }
    }
    all
}

/// Returns the states that each step can lead to, by name.
fn transitions() -> BTreeMap<(String, String), BTreeSet<String>> {
    let requirements = all_requirements();
    let mut table = BTreeMap::new();
    for from in State::ALL {
        for step in Step::ALL {
            for requirements in &requirements {
                let to = match next(from, step, requirements) {
                    Ok(state) => format!("{state:?}"),
                    Err(Error::OutOfOrder) => continue,
                    Err(error) => format!("Error::{error:?}"),
                };
                let key = (format!("{from:?}"), format!("{step:?}"));
                table.entry(key).or_insert_with(BTreeSet::new).insert(to);
            }
        }
    }
    // The sign-in mode is checked before the state, so drop steps that are only ever refused.
    table.retain(|_, to| to.iter().any(|to| !to.starts_with("Error::")));
    table
}

/// Returns the transitions in the documented table.
fn documented() -> BTreeMap<(String, String), BTreeSet<String>> {
    let page = include_str!("../src/lib.rs");
    let rows = page.lines().filter_map(|line| line.strip_prefix("//! | `"));
    let names =
        |cell: &str| -> BTreeSet<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let mut table = BTreeMap::new();
    for row in rows {
        let (from, rest) = row.split_once('|').unwrap();
        let (steps, to) = rest.split_once('|').unwrap();
        for step in names(steps) {
            let key = (from.trim().trim_end_matches('`').to_owned(), step);
            assert!(table.insert(key, names(to)).is_none(), "duplicate row: {row}");
        }
    }
    table
}

#[test]
fn documented_table_lists_every_transition() {
    let (actual, table) = (transitions(), documented());
    for (key, to) in &actual {
        assert_eq!(table.get(key), Some(to), "{key:?}");
    }
    assert_eq!(
        table.len(),
        actual.len(),
        "the table in lib.rs lists a transition that the code does not have"
    );
}
