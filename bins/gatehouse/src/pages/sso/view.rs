//! What the pages of SSO connections share.

use super::super::frame::Administrator;
use crate::api::{Call, query::query};
use gate::permissions::AdministerInPerson;

pub(crate) const PATH: &str = "/settings/sso";

/// The pages of an SSO connection.
pub(super) enum View {
    /// Its state, and its connection tests.
    Overview,
    /// Instructions for the identity provider's side.
    Setup,
    /// Its settings.
    Settings,
}

impl View {
    pub(super) fn of(call: &Call<AdministerInPerson>) -> Self {
        match query(&call.request, "view").as_deref() {
            Some("settings") => Self::Settings,
            Some("setup") => Self::Setup,
            _ => Self::Overview,
        }
    }
}

/// Returns the URL of the organization's sign-in page.
pub(super) fn sign_in_url(call: &Call<AdministerInPerson>, administrator: &Administrator) -> String {
    let base_url = call.site.pipeline.base_url.trim_end_matches('/');
    format!("{base_url}/auth/login?tenant={}", administrator.tenant.slug)
}
