//! What the pages of SSO connections share.

use super::super::frame::Administrator;
use crate::api::{Call, query::query};
use gate::permissions::{InPerson, ManageConnections};

pub(crate) const PATH: &str = "/settings/sso";

/// The pages of an SSO connection.
pub(super) enum View {
    /// Its state, and its connection tests.
    Overview,
    /// Instructions for the identity provider's side.
    Setup,
    /// What its sign-ins do with accounts.
    Accounts,
    /// Its settings.
    Settings,
}

impl View {
    pub(super) fn of(call: &Call<InPerson<ManageConnections>>) -> Self {
        match query(&call.request, "view").as_deref() {
            Some("settings") => Self::Settings,
            Some("setup") => Self::Setup,
            Some("accounts") => Self::Accounts,
            _ => Self::Overview,
        }
    }
}

/// Returns the URL of the organization's sign-in page.
pub(super) fn sign_in_url(call: &Call<InPerson<ManageConnections>>, administrator: &Administrator) -> String {
    let base_url = call.site.pipeline.base_url.trim_end_matches('/');
    format!("{base_url}/auth/login?tenant={}", administrator.tenant.slug)
}
