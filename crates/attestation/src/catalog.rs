//! The catalog of known authenticator models: a table in this crate, `catalog.tsv`, with the sources of each line.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use crate::Aaguid;

/// A group of the catalog of authenticators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = AuthenticatorGroup))]
pub enum Group {
    /// Security keys that are sold as certified under FIPS 140.
    FipsHardware,
    /// Other security keys.
    Hardware,
    /// Built into a device, and bound to it.
    Platform,
    /// Synchronized to several devices by a password manager.
    Synced,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 4] = [Self::FipsHardware, Self::Hardware, Self::Platform, Self::Synced];

    /// Returns the name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FipsHardware => "FIPS_HARDWARE",
            Self::Hardware => "HARDWARE",
            Self::Platform => "PLATFORM",
            Self::Synced => "SYNCED",
        }
    }
}

/// An authenticator model of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = KnownAuthenticator))]
pub struct Authenticator {
    /// A UUID.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "uuid"))]
    pub aaguid: Aaguid,
    /// The name of the model.
    pub name: &'static str,
    /// The manufacturer.
    pub vendor: &'static str,
    /// `FIPS_HARDWARE`, `HARDWARE`, `PLATFORM` or `SYNCED`.
    pub group: Group,
}

const TABLE: &str = include_str!("../catalog.tsv");

static CATALOG: LazyLock<Vec<Authenticator>> =
    LazyLock::new(|| TABLE.lines().skip(1).filter_map(read).collect());

static PLACES: LazyLock<BTreeMap<Aaguid, usize>> =
    LazyLock::new(|| (0..).zip(catalog()).map(|(place, known)| (known.aaguid, place)).collect());

/// Parses a line of the table: `aaguid group vendor name firmware sources doubt`, separated by tabs.
fn read(line: &'static str) -> Option<Authenticator> {
    let mut columns = line.split('\t');
    let aaguid = columns.next()?.parse().ok()?;
    let group = columns.next()?;
    let group = Group::ALL.into_iter().find(|known| known.as_str() == group)?;
    let (vendor, name) = (columns.next()?, columns.next()?);
    Some(Authenticator { aaguid, name, vendor, group })
}

/// Returns all known models, ordered by group, vendor and name.
pub fn catalog() -> &'static [Authenticator] {
    &CATALOG
}

/// Returns the model with this identifier.
pub fn find(aaguid: Aaguid) -> Option<&'static Authenticator> {
    PLACES.get(&aaguid).and_then(|place| catalog().get(*place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_valid_and_names_its_sources() {
        assert_eq!(catalog().len(), TABLE.lines().count() - 1, "a line of the table cannot be parsed");
        assert_eq!(PLACES.len(), catalog().len(), "two lines have the same AAGUID");
        assert!(catalog().len() > 150);
        for line in TABLE.lines().skip(1) {
            let columns: Vec<_> = line.split('\t').collect();
            assert_eq!(columns.len(), 7, "{line}");
            assert!(
                !columns[5].is_empty() && columns[5].chars().all(|source| "AEFMPY".contains(source)),
                "{line}"
            );
        }
        for group in Group::ALL {
            assert!(catalog().iter().any(|known| known.group == group), "{group:?}");
            assert_eq!(serde_json::to_value(group).ok(), Some(group.as_str().into()));
        }
    }
}
