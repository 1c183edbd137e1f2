//! `/api/settings/network-policy`: the addresses from which the tenant can be reached.

pub(crate) mod impact;
pub(crate) mod rules;

use actix_web::{HttpRequest, get, post, put};
use directory::Permission;
use kernel::Ctx;
use netpolicy::{
    AddressTest, Editor, Enforcement, Mode, NetworkPolicyStore, Rule, Settings, TestedAddresses,
};
use serde::{Deserialize, Serialize};
use sign_in::change_network_policy;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, openapi::values, query::query};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{ManagePolicies, ReadSettings},
    step_up::{NetworkPolicyChange, StepUp},
};

/// Acknowledgement that a change may block the caller's own address.
const CALLER_NOT_COVERED: &str = "CALLER_NOT_COVERED";

/// The network policy.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownPolicy)]
struct PolicyView {
    /// `OFF` or `ALLOWLIST`.
    mode: Mode,
    enforcement: Enforcement,
    /// Whether administrators bypass the policy.
    admin_bypass: bool,
    /// For administrators: the rules, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rules: Option<Vec<Rule>>,
}

impl PolicyView {
    fn new(settings: Settings, rules: Option<Vec<Rule>>) -> Self {
        let Settings { mode, enforcement, admin_bypass } = settings;
        Self { mode, enforcement, admin_bypass, rules }
    }
}

/// The new policy.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyBody {
    /// `OFF` or `ALLOWLIST`.
    mode: Mode,
    enforcement: Enforcement,
    admin_bypass: bool,
    /// `CALLER_NOT_COVERED`: make the change even if it blocks the caller's own address.
    #[serde(default)]
    #[schema(value_type = Vec<values::Acknowledgement>)]
    acknowledge: Vec<String>,
}

/// Returns the editor of the policy. The acknowledgement of a change that blocks their own address is in the body
/// (`said`) or in the query.
pub(crate) fn by(ctx: &Ctx, request: &HttpRequest, said: &[String]) -> Result<Editor, Problem> {
    let asked = query(request, "acknowledge");
    let mut all = said.iter().chain(&asked);
    if all.any(|word| word != CALLER_NOT_COVERED) {
        return Err(Problem::invalid_request(format!(
            "acknowledge: only {CALLER_NOT_COVERED} can be acknowledged"
        )));
    }
    Ok(Editor { address: ctx.ip, acknowledged: !said.is_empty() || asked.is_some() })
}

/// Get the network policy
///
/// Only administrators see the rules.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The policy.", body = PolicyView))
)]
#[get("/api/settings/network-policy")]
pub(crate) async fn get_network_policy(call: Call<ReadSettings>) -> Answer {
    let admin = call.caller().roles().permissions.contains(Permission::ManagePolicies);
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let (settings, rules) = tx.network_policy().await?;
        Ok::<_, Problem>((settings, Some(rules).filter(|_| admin)))
    };
    let (settings, rules) = call.read(find).await?;
    Ok(answer(&PolicyView::new(settings, rules)))
}

/// Replace the network policy
///
/// Replaces everything but the rules. Requires a step-up (`NETWORK_POLICY_CHANGE`). Takes effect with the next
/// request. Refuses a policy that would block everyone, and one that would block the caller's address unless the
/// request acknowledges it.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(("acknowledge" = Option<values::Acknowledgement>, Query, description = "`CALLER_NOT_COVERED`: like the member of the body.")),
    request_body = PolicyBody,
    responses(
        (status = 200, description = "The updated policy.", body = PolicyView),
        (status = 400, description = "A field is missing, unknown or malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION; CONFLICT with reason CALLER_NOT_COVERED."),
    )
)]
#[put("/api/settings/network-policy")]
pub(crate) async fn put_network_policy(
    call: Call<ManagePolicies>,
    proof: StepUp<NetworkPolicyChange>,
    body: Json<PolicyBody>,
) -> Answer {
    let PolicyBody { mode, enforcement, admin_bypass, acknowledge } = body.0;
    let by = by(call.ctx(), &call.request, &acknowledge)?;
    let settings = Settings { mode, enforcement, admin_bypass };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let changed = change_network_policy(ctx, tx, by, settings).await?;
        let rules = tx.network_rules().await?;
        Ok::<_, Problem>(changed.with(spending.events()?).map(|settings| (settings, rules)))
    };
    let (settings, rules) = call.write(work).await?;
    Ok(answer(&PolicyView::new(settings, Some(rules))))
}

/// Test addresses against the network policy
///
/// Tests one address or up to 1,000 against the saved policy. Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = AddressTest,
    responses(
        (status = 200, description = "The decision; `{decisions}` if the request has `ips`.", body = TestedAddresses),
        (status = 400, description = "An address or the surface is malformed, or the request has both or neither of `ip` and `ips`."),
    )
)]
#[post("/api/settings/network-policy/test")]
pub(crate) async fn test_network_policy(call: Call<ReadSettings>, body: Json<AddressTest>) -> Answer {
    let (settings, rules) = call.read(async |_: &Ctx, tx: &mut Tx| tx.network_policy().await).await?;
    Ok(answer(&body.0.run(
        settings,
        &rules,
        call.caller().roles().permissions.contains(Permission::ManagePolicies),
    )?))
}
