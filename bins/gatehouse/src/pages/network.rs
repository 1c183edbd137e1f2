//! `/settings/network`: the addresses from which the organization can be reached.

use std::net::IpAddr;

use actix_web::{HttpResponse, get};
use askama::Template;
use kernel::Ctx;
use netpolicy::{Mode, NetworkPolicyStore, Rule, Settings};
use store::Tx;

use super::{frame::Administrator, frame::PageFrame, frame::draw, times::PageTime};
use crate::api::{Answer, Call, query::query};
use gate::{
    permissions::{InPerson, ManagePolicies},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/network";

/// Maximum rules per page.
const SHOWN: usize = 100;

#[derive(Template)]
#[template(path = "network.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    settings: Settings,
    is_on: bool,
    own_address: Option<IpAddr>,
    /// Total number of rules.
    count: usize,
    /// Search text.
    sought: String,
    /// Number of rules that match the search.
    found: usize,
    rules: Vec<RuleRow>,
}

struct RuleRow {
    id: String,
    label: String,
    cidr: String,
    created: PageTime,
    /// Whether the rule contains the address of the current user.
    is_own: bool,
}

/// Renders the network policy page.
#[get("/settings/network")]
pub(crate) async fn network(call: Call<InPerson<ManagePolicies>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManagePolicies>>) -> Answer {
    let (settings, rules) = call.read(async |_: &Ctx, tx: &mut Tx| tx.network_policy().await).await?;
    let shell = Administrator::load(call).await?.shell(&call.site, "Network policy", "network.js", PATH);
    let own_address = call.address();
    let sought = query(&call.request, "q").unwrap_or_default().trim().to_lowercase();
    let has =
        |rule: &&Rule| rule.label.to_lowercase().contains(&sought) || rule.cidr.to_string().contains(&sought);
    let row = |rule: &Rule| RuleRow {
        id: rule.id.to_string(),
        label: rule.label.clone(),
        cidr: rule.cidr.to_string(),
        created: rule.created_at.into(),
        is_own: own_address.is_some_and(|address| rule.cidr.contains(address)),
    };
    draw(&Page {
        shell,
        is_on: settings.mode == Mode::Allowlist,
        settings,
        own_address,
        count: rules.len(),
        found: rules.iter().filter(has).count(),
        rules: rules.iter().filter(has).take(SHOWN).map(row).collect(),
        sought,
    })
}
