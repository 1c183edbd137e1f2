//! The SCIM base URL.

use crate::api::site::Site;

/// Returns the SCIM base URL, with which the locations of resources begin.
pub(crate) fn root(site: &Site) -> String {
    format!("{}/api/scim/v2", site.pipeline.base_url)
}
