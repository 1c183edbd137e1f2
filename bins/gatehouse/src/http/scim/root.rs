//! The address of the SCIM root.

use crate::http::site::Site;

/// The address of the SCIM root, which resources' locations begin with.
pub(super) fn root(site: &Site) -> String {
    format!("{}/api/scim/v2", site.pipeline.base_url)
}
