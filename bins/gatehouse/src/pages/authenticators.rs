//! `/settings/authenticators`: which authenticator models may be enrolled.

use std::collections::BTreeSet;

use actix_web::{HttpResponse, get};
use askama::Template;
use attestation::{
    Aaguid, AttestationPolicyStore, Authenticator, Group, Impact, Mode, Policy, catalog, find,
};
use kernel::Ctx;
use store::Tx;

use super::{frame::Administrator, frame::PageFrame, frame::draw, pictures};
use crate::api::{Answer, Call, Site, impact_of};
use gate::{
    permissions::{InPerson, ManagePolicies},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/authenticators";

#[derive(Template)]
#[template(path = "authenticators.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    policy: Policy,
    is_on: bool,
    groups: Vec<GroupRow>,
    /// Number of enrolled passkeys, and how many of them the policy would refuse.
    enrolled: usize,
    refused: usize,
    /// Whether the attestation of any model can be verified.
    can_prove: bool,
    /// Number of models in the catalog, and of unknown models that are enrolled or allowed.
    known: usize,
    strangers: usize,
    models: Vec<ModelRow>,
}

struct GroupRow {
    name: &'static str,
    what: &'static str,
    models: usize,
    allowed: bool,
}

struct ModelRow {
    aaguid: Aaguid,
    /// The URL of its picture.
    picture: String,
    name: &'static str,
    vendor: &'static str,
    group: &'static str,
    what: &'static str,
    enrolled: usize,
    refused: usize,
    /// Whether the policy lists its AAGUID.
    named: bool,
}

/// Renders the attestation policy page.
#[get("/settings/authenticators")]
pub(crate) async fn authenticators(
    call: Call<InPerson<ManagePolicies>>,
) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManagePolicies>>) -> Answer {
    let policy = call.read(async |_: &Ctx, tx: &mut Tx| tx.attestation_policy().await).await?;
    let impact = impact_of(call, &policy).await?;
    let shell =
        Administrator::load(call).await?.shell(&call.site, "Authenticators", "authenticators.js", PATH);
    let models = model_rows(&call.site, &policy, &impact);
    let group = |group: Group| GroupRow {
        name: group.as_str(),
        what: group_label(group),
        models: catalog().iter().filter(|known| known.group == group).count(),
        allowed: policy.allowed_groups.contains(&group),
    };
    draw(&Page {
        shell,
        is_on: policy.mode == Mode::Allowlist,
        groups: Group::ALL.into_iter().map(group).collect(),
        enrolled: impact.enrolled,
        refused: impact.refused,
        can_prove: call.site.can_prove_models(),
        known: catalog().len(),
        strangers: models.len() - catalog().len(),
        models,
        policy,
    })
}

fn group_label(group: Group) -> &'static str {
    match group {
        Group::FipsHardware => "Security keys certified under FIPS 140",
        Group::Hardware => "Other security keys",
        Group::Platform => "Built into a device and bound to it",
        Group::Synced => "Password managers that sync passkeys",
    }
}

/// Lists models: unknown ones that are enrolled or allowed first, then the catalog, with enrolled models first.
fn model_rows(site: &Site, policy: &Policy, impact: &Impact) -> Vec<ModelRow> {
    let counts = |aaguid: Aaguid| {
        let model = impact.models.iter().find(|model| model.aaguid == aaguid);
        model.map_or((0, 0), |model| (model.enrolled, model.refused))
    };
    let row = |aaguid: Aaguid, known: Option<&Authenticator>| {
        let (enrolled, refused) = counts(aaguid);
        ModelRow {
            aaguid,
            picture: pictures::of_model(site, aaguid, "passkey"),
            name: known.map_or("Unknown model", |known| known.name),
            vendor: known.map_or("", |known| known.vendor),
            group: known.map_or("", |known| known.group.as_str()),
            what: known.map_or("", |known| group_label(known.group)),
            enrolled,
            refused,
            named: policy.allowed_aaguids.contains(&aaguid),
        }
    };
    let enrolled = impact.models.iter().map(|model| model.aaguid);
    let others: BTreeSet<_> = enrolled.chain(policy.allowed_aaguids.iter().copied()).collect();
    let strangers =
        others.into_iter().filter(|aaguid| find(*aaguid).is_none()).map(|aaguid| row(aaguid, None));
    let mut known: Vec<_> = catalog().iter().map(|known| row(known.aaguid, Some(known))).collect();
    known.sort_by_key(|model| model.enrolled == 0);
    strangers.chain(known).collect()
}
