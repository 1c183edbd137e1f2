//! `/settings/network`: from where the organisation may be reached.

use std::net::IpAddr;

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;
use directory::Person;
use kernel::Ctx;
use netpolicy::{Mode, NetworkPolicyStore, Rule, Settings};
use store::Tx;

use super::{frame::Shell, frame::Who, frame::draw, times::Moment};
use crate::api::{Site, query::query};
use gate::{access::Access, errors::Problem, permissions::AdministerInPerson, shape::AreaProblem};

pub(crate) const PATH: &str = "/settings/network";

/// Ranges that are shown at once.
const SHOWN: usize = 100;

#[derive(Template)]
#[template(path = "network.html")]
struct Page<'a> {
    shell: Shell<'a>,
    settings: Settings,
    is_on: bool,
    own_address: Option<IpAddr>,
    /// All of them.
    count: usize,
    /// What is looked for in them.
    sought: String,
    /// How many have it.
    found: usize,
    rules: Vec<RuleRow>,
}

struct RuleRow {
    id: String,
    label: String,
    cidr: String,
    created: Moment,
    /// Whether it has the address of whoever looks.
    is_own: bool,
}

struct Found {
    person: Person,
    settings: Settings,
    rules: Vec<Rule>,
}

/// The page of the network policy.
#[get("/settings/network")]
pub(crate) async fn network(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    request: HttpRequest,
) -> Result<HttpResponse, AreaProblem> {
    drawn(&site, &access, &request).await.map_err(|problem| AreaProblem::of(&request, problem))
}

async fn drawn(
    site: &Site,
    access: &Access<AdministerInPerson>,
    request: &HttpRequest,
) -> Result<HttpResponse, Problem> {
    let session = &access.caller().session;
    let user = session.user.clone();
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &user).await?;
        let (settings, rules) = tx.network_policy().await?;
        Ok::<_, Problem>(Found { person, settings, rules })
    };
    let Found { person, settings, rules } = access.read(find).await?;
    let tenant = access.own_tenant().await?;
    let mut shell = Shell::new(site, "Network policy", "network.js");
    shell.here = PATH;
    shell.person = Some(Who::of(&person, &tenant, &session.id));
    let own_address = access.address();
    let sought = query(request, "q").unwrap_or_default().trim().to_lowercase();
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
