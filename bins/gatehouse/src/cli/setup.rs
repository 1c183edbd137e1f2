//! `gatehouse setup`

use serde_json::json;
use sign_in::{SETUP_LINK_HOURS, SetupKeys};

use super::{
    operator::Operator,
    report::{Report, Result, counted},
};
use crate::config::Settings;

pub(crate) async fn run(office: &Operator, settings: &Settings) -> Result<Report> {
    if office.store.across(async |across| across.has_administrator().await).await? {
        return Err(
            "This server has an administrator already. If no administrator can sign in, run: gatehouse user reset".into()
        );
    }
    let keys = SetupKeys::derive(&settings.master_keys());
    let link = keys.link(&settings.base_url(), office.env.now());
    let link = link.ok_or("GATEHOUSE_MASTER_KEY is not set. Set the key that the server uses")?;
    Ok(Report::new(json!({ "link": link }), lines(&link)))
}

/// Returns the text around a setup link.
pub(super) fn lines(link: &str) -> String {
    let valid = counted(SETUP_LINK_HOURS, "hour", "hours");
    format!(
        "No administrator yet. Open this link to set up Gatehouse; it works once, within {valid}:\n{link}"
    )
}
