//! Estimates whether an index answers a search.

use scim_core::{
    Filter, Query,
    filter::{Operand, Operator},
    schema::AttrPath,
};

use super::Kind;
use crate::scim_core::list::is_far;

/// The cost of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// An index finds the rows: the work is proportional to the result.
    Indexed,
    /// The work grows with the tenant, or with input that a client controls: use [`crate::Store::scan`].
    Scan,
}

impl Cost {
    /// Returns the cost of a page of users.
    pub fn of_users(query: &Query) -> Self {
        Self::of(Kind::Users, query)
    }

    /// Returns the cost of a page of groups, with or without their members.
    pub fn of_groups(query: &Query, with_members: bool) -> Self {
        Self::of(Kind::Groups, query).max_with(with_members)
    }

    /// Returns the cost of two reads in one unit of work.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max_with(other == Self::Scan)
    }

    fn max_with(self, scans: bool) -> Self {
        if scans { Self::Scan } else { self }
    }

    fn of(kind: Kind, query: &Query) -> Self {
        let is_indexed = match &query.filter {
            None => !is_far(&query.page),
            Some(filter) => finds_one(kind, filter) || is_by_index(kind, filter),
        };
        if is_indexed { Self::Indexed } else { Self::Scan }
    }
}

/// Returns whether a unique index limits the result to one resource, whatever the other conditions are.
fn finds_one(kind: Kind, filter: &Filter) -> bool {
    let unique: &[&str] = match kind {
        Kind::Users => &["id", "userName"],
        Kind::Groups => &["id", "displayName"],
    };
    match filter {
        Filter::And(all) => all.iter().any(|filter| finds_one(kind, filter)),
        // Never matches: its attribute belongs to another resource type.
        Filter::Or(all) if all.is_empty() => true,
        _ => text_that_equals(filter)
            .is_some_and(|path| path.sub.is_none() && unique.contains(&path.attribute.name)),
    }
}

/// Returns whether the filter is a single lookup in a non-unique index. Other conditions are not allowed, because a
/// client can give all its users the same value.
fn is_by_index(kind: Kind, filter: &Filter) -> bool {
    let name = |path: &AttrPath| (path.attribute.name, path.sub.map(|sub| sub.name));
    match (kind, text_that_equals(filter).as_ref().map(name)) {
        (_, Some(("externalId", None))) => true,
        (Kind::Users, found) => found == Some(("emails", Some("value"))),
        (Kind::Groups, found) => found == Some(("members", Some("value"))),
    }
}

/// Returns the attribute that is compared with a text by `eq`.
fn text_that_equals(filter: &Filter) -> Option<AttrPath> {
    match filter {
        Filter::Compare { path, operator: Operator::Eq, operand: Operand::Text(_) } => Some(*path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use scim_core::{
        Params,
        schema::{GROUPS, USERS},
    };

    use super::*;

    fn users(filter: &str) -> Cost {
        Cost::of_users(&Params::of_query(&format!("filter={filter}")).query(&USERS).unwrap())
    }

    fn groups(filter: &str) -> Cost {
        Cost::of_groups(&Params::of_query(&format!("filter={filter}")).query(&GROUPS).unwrap(), false)
    }

    #[test]
    fn equality_with_an_indexed_attribute_uses_the_index() {
        for filter in [
            r#"userName eq "a""#,
            r#"id eq "usr_1""#,
            r#"externalId eq "a""#,
            r#"emails eq "a""#,
            r#"emails.value eq "a""#,
            r#"userName eq "a" and title co "x" and emails[type co "w"]"#,
        ] {
            assert_eq!(users(filter), Cost::Indexed, "{filter}");
        }
        for filter in [r#"displayName eq "a""#, r#"externalId eq "a""#, r#"members eq "usr_1""#] {
            assert_eq!(groups(filter), Cost::Indexed, "{filter}");
        }
    }

    #[test]
    fn everything_else_is_a_scan() {
        for filter in [
            r#"userName co "a""#,
            r#"userName sw "a""#,
            r#"userName ne "a""#,
            r#"not (userName eq "a")"#,
            r#"userName eq "a" or title eq "b""#,
            r#"title eq "a""#,
            "active eq true",
            r#"emails[value eq "a" and type co "b"]"#,
            r#"emails.value eq "a" and title co "b""#,
            r#"emails.type eq "a""#,
            r#"groups.value eq "grp_1""#,
        ] {
            assert_eq!(users(filter), Cost::Scan, "{filter}");
        }
        for filter in [r#"displayName co "a""#, r#"members[value co "a"]"#] {
            assert_eq!(groups(filter), Cost::Scan, "{filter}");
        }
    }

    #[test]
    fn deep_offsets_and_members_are_scans_but_cursors_are_not() {
        let cost = |query: &str| Cost::of_users(&Params::of_query(query).query(&USERS).unwrap());
        assert_eq!(cost("startIndex=400"), Cost::Indexed);
        assert_eq!(cost("startIndex=400000"), Cost::Scan);
        assert_eq!(cost("cursor="), Cost::Indexed);
        let all = Params::of_query("").query(&GROUPS).unwrap();
        assert_eq!(Cost::of_groups(&all, true), Cost::Scan);
        assert_eq!(Cost::of_groups(&all, false), Cost::Indexed);
    }
}
