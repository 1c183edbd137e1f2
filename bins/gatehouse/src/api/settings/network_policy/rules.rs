//! `/api/settings/network-policy/rules`: the ranges that the tenant may be reached from.

use actix_web::{HttpRequest, HttpResponse, delete, patch, post, web};
use audit::{
    Audited, Event,
    events::policies::{NetworkRuleAdded, NetworkRuleChanged, NetworkRuleRemoved},
};
use kernel::Ctx;
use netpolicy::RuleId;
use serde::Deserialize;
use store::Tx;
use utoipa::ToSchema;

use super::{ShownRule, by};
use crate::api::{me::factors::Deleted, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::Administer,
    step_up::{NetworkPolicyChange, StepUp},
};

/// A new rule.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RuleBody {
    /// A range of IPv4 or IPv6 addresses, or an address by itself.
    #[schema(value_type = values::IpRange)]
    cidr: String,
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    label: String,
}

/// What a rule is to be called.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LabelBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    label: String,
}

/// Add a rule
///
/// Needs a fresh proof (`NETWORK_POLICY_CHANGE`). In force from the next request on. 5,000 at most.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The rule.", body = ShownRule),
        (status = 400, description = "INVALID_CIDR, naming the canonical form where bits of a host are set; DUPLICATE_CIDR; or a field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: there are 5,000."),
    )
)]
#[post("/api/settings/network-policy/rules")]
pub(crate) async fn add_network_rule(
    access: Access<Administer>,
    proof: StepUp<NetworkPolicyChange>,
    body: Json<RuleBody>,
) -> Result<HttpResponse, Problem> {
    let RuleBody { cidr, label } = body.0;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let rule = netpolicy::add(ctx, tx, &cidr, &label).await?;
        let event = Event::new(rule.id.as_str(), &NetworkRuleAdded { cidr: rule.cidr.to_string() });
        Ok::<_, Problem>(Audited::new(rule, event).with(spending.events()?))
    };
    let rule = access.write(work).await?;
    Ok(answer(&ShownRule::from(&rule)))
}

/// Give a rule another label
///
/// Its range stays: remove the rule and add another to change that. Needs a fresh proof (`NETWORK_POLICY_CHANGE`).
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The rule.", body = ShownRule),
        (status = 400, description = "The label is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[patch("/api/settings/network-policy/rules/{id}")]
pub(crate) async fn rename_network_rule(
    access: Access<Administer>,
    proof: StepUp<NetworkPolicyChange>,
    id: web::Path<String>,
    body: Json<LabelBody>,
) -> Result<HttpResponse, Problem> {
    let id: RuleId = id.parse().map_err(|_| Problem::not_found())?;
    let label = body.0.label;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let (rule, changed) = netpolicy::rename(tx, &id, &label).await?;
        let mut events = spending.events()?;
        if changed {
            let data = NetworkRuleChanged { changed: vec!["label".into()] };
            events.push(Event::new(rule.id.as_str(), &data));
        }
        Ok::<_, Problem>(Audited::of_changes(rule, events))
    };
    let rule = access.write(work).await?;
    Ok(answer(&ShownRule::from(&rule)))
}

/// Remove a rule
///
/// Needs a fresh proof (`NETWORK_POLICY_CHANGE`). In force from the next request on. The last one stays while nobody
/// could come in without it, and so does the caller's own unless that is acknowledged.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("acknowledge" = Option<values::Acknowledgement>, Query, description = "CALLER_NOT_COVERED: make the change even if it blocks the caller's own address."),
    ),
    responses(
        (status = 200, description = "It is gone.", body = Deleted),
        (status = 400, description = "acknowledge: is something else than CALLER_NOT_COVERED."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION; or CONFLICT, reason CALLER_NOT_COVERED."),
    )
)]
#[delete("/api/settings/network-policy/rules/{id}")]
pub(crate) async fn remove_network_rule(
    access: Access<Administer>,
    proof: StepUp<NetworkPolicyChange>,
    request: HttpRequest,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let by = by(access.ctx(), &request, &[])?;
    let id: RuleId = id.parse().map_err(|_| Problem::not_found())?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let rule = netpolicy::remove(tx, by, &id).await?;
        let event = Event::new(rule.id.as_str(), &NetworkRuleRemoved { cidr: rule.cidr.to_string() });
        Ok::<_, Problem>(Audited::new((), event).with(spending.events()?))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
