//! Event types, grouped by resource so that users can choose among them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Catalog, EventSpec};

/// Event types of one resource.
#[derive(Debug, Clone)]
pub struct EventGroup<'c> {
    /// The display name.
    pub name: String,
    /// Pattern that matches exactly these types, and types that are added to the group later.
    pub glob: String,
    /// The event types, in the order of the catalog.
    pub kinds: Vec<&'c EventSpec>,
}

/// Prefix of all event codes.
const PREFIX: &str = "ACCOUNT_";

/// Display names of groups whose name differs from their code.
const NAMES: [(&str, &str); 23] = [
    ("ATTESTATION_POLICY", "Authenticators"),
    ("AUDIT", "Audit log"),
    ("DOMAIN", "Domains"),
    ("FACTOR", "Second factors"),
    ("GROUP", "Groups"),
    ("LOG_STREAM", "Log streams"),
    ("NETWORK", "Network policy"),
    ("OIDC", "Single sign-on (OpenID Connect)"),
    ("PASSWORD", "Passwords"),
    ("PAT", "Personal access tokens"),
    ("RECOVERY", "Recovery codes"),
    ("REMOVAL", "Removals by SCIM tokens"),
    ("ROLE", "Roles"),
    ("SAML", "Single sign-on"),
    ("SCIM_TOKEN", "SCIM tokens"),
    ("SESSION", "Sessions"),
    ("SIGNAL", "Shared signals"),
    ("SIGN_IN", "Sign-ins"),
    ("SSO_ACCOUNTS", "Accounts of SSO connections"),
    ("STEPUP", "Step-up"),
    ("TENANT", "Organization"),
    ("USER", "Users"),
    ("WEBHOOK", "Webhooks"),
];

impl Catalog {
    /// Returns all event types, grouped by the first word of their codes and sorted by display name.
    pub fn groups(&self) -> Vec<EventGroup<'_>> {
        let first = |code: &'static str| {
            let rest = code.strip_prefix(PREFIX).unwrap_or(code);
            rest.split('_').next().unwrap_or(rest)
        };
        let words: BTreeSet<&str> = self.specs().iter().map(|spec| first(spec.code)).collect();
        // Bulk events, whose first word is a plural, belong to the group of the singular.
        let thing = |code| {
            let word = first(code);
            word.strip_suffix('S').filter(|one| words.contains(one)).unwrap_or(word)
        };
        let mut things: BTreeMap<&str, Vec<&EventSpec>> = BTreeMap::new();
        for spec in self.specs() {
            things.entry(thing(spec.code)).or_default().push(spec);
        }
        let mut groups: Vec<_> = things.into_iter().map(|(thing, kinds)| group(thing, kinds)).collect();
        groups.sort_by(|one, other| one.name.cmp(&other.name));
        groups
    }
}

fn group<'c>(thing: &str, kinds: Vec<&'c EventSpec>) -> EventGroup<'c> {
    let stem = stem(&kinds);
    let glob = if stem.is_empty() { format!("{PREFIX}{thing}*") } else { format!("{PREFIX}{stem}_*") };
    let known = if stem.is_empty() { thing } else { &stem };
    let name = NAMES
        .iter()
        .find(|(code, _)| *code == known)
        .map_or_else(|| words(known), |(_, name)| (*name).to_owned());
    EventGroup { name, glob, kinds }
}

/// Returns the words that all codes of the group begin with. The last word of a code is the verb and does not count.
fn stem(kinds: &[&EventSpec]) -> String {
    let of = |kind: &&EventSpec| {
        let code = kind.code.strip_prefix(PREFIX).unwrap_or(kind.code);
        let mut words: Vec<&'static str> = code.split('_').collect();
        words.pop();
        words
    };
    let common = |one: Vec<&'static str>, other: Vec<&'static str>| {
        one.into_iter().zip(other).take_while(|(one, other)| one == other).map(|(word, _)| word).collect()
    };
    kinds.iter().map(of).reduce(common).unwrap_or_default().join("_")
}

/// Converts a code into words: `NEW_THING` becomes "New thing".
fn words(code: &str) -> String {
    let text = code.replace('_', " ").to_lowercase();
    let mut letters = text.chars();
    letters.next().map(|letter| letter.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::catalog;

    #[test]
    fn group_pattern_matches_exactly_its_event_types() {
        let groups = catalog().groups();
        let all: usize = groups.iter().map(|group| group.kinds.len()).sum();
        assert_eq!(all, catalog().specs().len());
        for group in &groups {
            let prefix = group.glob.strip_suffix('*').unwrap();
            let meant: Vec<&str> = catalog().codes().filter(|code| code.starts_with(prefix)).collect();
            let own: Vec<&str> = group.kinds.iter().map(|kind| kind.code).collect();
            assert_eq!(meant, own, "{}", group.glob);
        }
    }

    #[test]
    fn every_event_group_has_a_display_name() {
        for group in catalog().groups() {
            assert!(NAMES.iter().any(|(_, name)| *name == group.name), "{}: {}", group.glob, group.name);
        }
        assert_eq!(words("NEW_THING"), "New thing");
        let groups = catalog().groups();
        let name = |glob: &str| &groups.iter().find(|group| group.glob == glob).unwrap().name;
        assert_eq!((&**name("ACCOUNT_USER_*"), &**name("ACCOUNT_WEBHOOK_*")), ("Users", "Webhooks"));
    }
}
