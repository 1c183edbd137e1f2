//! The address of the SCIM root.

use crate::api::site::Site;

/// The address of the SCIM root, which resources' locations begin with.
pub(crate) fn root(site: &Site) -> String {
    format!("{}/api/scim/v2", site.pipeline.base_url)
}
