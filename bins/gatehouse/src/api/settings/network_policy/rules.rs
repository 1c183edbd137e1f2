//! `/api/settings/network-policy/rules`: the CIDR rules of the network policy.

use actix_web::{delete, patch, post};
use audit::{
    Audited, Event,
    events::policies::{NetworkRuleAdded, NetworkRuleChanged, NetworkRuleRemoved},
};
use kernel::Ctx;
use netpolicy::{Rule, RuleId, openapi::IpRange};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use super::by;
use crate::api::{Answer, Call, me::factors::Deleted, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::ManagePolicies,
    step_up::{NetworkPolicyChange, StepUp},
};

/// A new rule.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RuleBody {
    /// CIDR range of IPv4 or IPv6 addresses, or one address.
    #[schema(value_type = IpRange)]
    cidr: String,
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    label: String,
}

/// Maximum number of rules that one request adds.
const MAX_ADDED: usize = 100;

/// New rules.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RulesBody {
    #[schema(min_items = 1, max_items = 100)]
    rules: Vec<RuleBody>,
}

/// Rules that were added, in the order of the request.
#[derive(Serialize, ToSchema)]
struct AddedRules {
    rules: Vec<Rule>,
}

/// The new label of a rule.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LabelBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    label: String,
}

/// Add a CIDR rule
///
/// Requires a step-up (`NETWORK_POLICY_CHANGE`). Takes effect with the next request. A tenant has at most 5,000
/// rules.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The rule.", body = Rule),
        (status = 400, description = "INVALID_CIDR, with the canonical form if host bits are set; DUPLICATE_CIDR; or a field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: the tenant has 5,000 rules."),
    )
)]
#[post("/api/settings/network-policy/rules")]
pub(crate) async fn add_network_rule(
    call: Call<ManagePolicies>,
    proof: StepUp<NetworkPolicyChange>,
    body: Json<RuleBody>,
) -> Answer {
    let RuleBody { cidr, label } = body.0;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let rule = netpolicy::add(ctx, tx, &cidr, &label).await?;
        let event = Event::new(rule.id.as_str(), &NetworkRuleAdded { cidr: rule.cidr.to_string() });
        Ok::<_, Problem>(Audited::new(rule, event).with(spending.events()?))
    };
    Ok(answer(&call.write(work).await?))
}

/// Add several CIDR rules
///
/// Adds all of them or none, with one step-up (`NETWORK_POLICY_CHANGE`). An error names the first rule that cannot be
/// added.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The rules.", body = AddedRules),
        (status = 400, description = "INVALID_CIDR, with the canonical form if host bits are set; DUPLICATE_CIDR; or a field is malformed, or the number of rules is not between 1 and 100."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: the tenant would have more than 5,000 rules."),
    )
)]
#[post("/api/settings/network-policy/rules/batch")]
pub(crate) async fn add_network_rules(
    call: Call<ManagePolicies>,
    proof: StepUp<NetworkPolicyChange>,
    body: Json<RulesBody>,
) -> Answer {
    let new = body.0.rules;
    if new.is_empty() || new.len() > MAX_ADDED {
        return Err(Problem::invalid_request(format!("rules: must have 1 to {MAX_ADDED} rules")));
    }
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let (mut rules, mut events) = (Vec::new(), consumed.events()?);
        for (number, RuleBody { cidr, label }) in new.iter().enumerate() {
            let rule = netpolicy::add(ctx, tx, cidr, label).await;
            let rule = rule.map_err(|error| Problem::from(error).within(&format!("rules[{number}]")))?;
            let data = NetworkRuleAdded { cidr: rule.cidr.to_string() };
            events.push(Event::new(rule.id.as_str(), &data));
            rules.push(rule);
        }
        Ok::<_, Problem>(Audited::of_changes(rules, events))
    };
    Ok(answer(&AddedRules { rules: call.write(work).await? }))
}

/// Rename a CIDR rule
///
/// The range cannot be changed: remove the rule and add another. Requires a step-up (`NETWORK_POLICY_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "The rule.", body = Rule),
        (status = 400, description = "The label is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[patch("/api/settings/network-policy/rules/{id}")]
pub(crate) async fn rename_network_rule(
    call: Call<ManagePolicies>,
    proof: StepUp<NetworkPolicyChange>,
    body: Json<LabelBody>,
) -> Answer {
    let id: RuleId = call.id()?;
    let label = body.0.label;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let (rule, changed) = netpolicy::rename(tx, &id, &label).await?;
        let mut events = spending.events()?;
        if changed {
            let data = NetworkRuleChanged { changed: vec!["label".into()] };
            events.push(Event::new(rule.id.as_str(), &data));
        }
        Ok::<_, Problem>(Audited::of_changes(rule, events))
    };
    Ok(answer(&call.write(work).await?))
}

/// Remove a CIDR rule
///
/// Requires a step-up (`NETWORK_POLICY_CHANGE`). Takes effect with the next request. Refuses to remove the last rule
/// if the policy would then block everyone, and the rule that covers the caller's address unless the request
/// acknowledges it.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(
        ("acknowledge" = Option<values::Acknowledgement>, Query, description = "CALLER_NOT_COVERED: make the change even if it blocks the caller's own address."),
    ),
    responses(
        (status = 200, description = "Deleted.", body = Deleted),
        (status = 400, description = "`acknowledge` is not CALLER_NOT_COVERED."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION; CONFLICT with reason CALLER_NOT_COVERED."),
    )
)]
#[delete("/api/settings/network-policy/rules/{id}")]
pub(crate) async fn remove_network_rule(
    call: Call<ManagePolicies>,
    proof: StepUp<NetworkPolicyChange>,
) -> Answer {
    let by = by(call.ctx(), &call.request, &[])?;
    let id: RuleId = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let rule = netpolicy::remove(tx, by, &id).await?;
        let event = Event::new(rule.id.as_str(), &NetworkRuleRemoved { cidr: rule.cidr.to_string() });
        Ok::<_, Problem>(Audited::new((), event).with(spending.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
