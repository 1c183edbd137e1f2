//! Maps addresses to locations with a database in MaxMind's format.

use std::{io, net::IpAddr, path::Path};

use maxminddb::{Reader, geoip2::City};

/// A location database.
pub(crate) struct Locations(Reader<Vec<u8>>);

impl Locations {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let named = |error| io::Error::other(format!("geo_database: {}: {error}", path.display()));
        Reader::open_readfile(path).map(Self).map_err(named)
    }

    /// Returns `City, Country`, or the known part of it.
    pub(crate) fn name(&self, address: IpAddr) -> Option<String> {
        let found: City<'_> = self.0.lookup(address).ok()?.decode().ok()??;
        let parts = [found.city.names.english, found.country.names.english];
        let known: Vec<_> = parts.into_iter().flatten().collect();
        (!known.is_empty()).then(|| known.join(", "))
    }
}
