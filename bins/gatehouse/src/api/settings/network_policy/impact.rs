//! `POST /api/settings/network-policy/impact`: previews which sessions and tokens a network policy would block.

use std::net::IpAddr;

use actix_web::post;
use credentials::SignInStore;
use directory::Role;
use kernel::Ctx;
use netpolicy::{Cidr, Decision, Enforcement, MAX_RULES, Mode, Policy, Settings, Surface};
use serde::{Deserialize, Serialize};
use store::{CredentialType, RecentUse, Tx};
use utoipa::ToSchema;

use crate::api::{Answer, Call, openapi::values};
use gate::{
    access::lifetime,
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::Administer,
};

/// Only credentials used within this time are examined, in milliseconds.
const RECENT: i64 = 30 * 24 * 60 * 60_000;

/// A draft policy.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImpactBody {
    /// `OFF` or `ALLOWLIST`.
    mode: Mode,
    enforcement: Enforcement,
    admin_bypass: bool,
    /// CIDR ranges of the draft; the saved rules are ignored.
    #[schema(value_type = Vec<values::IpRange>)]
    rules: Vec<String>,
}

/// Sessions and tokens of the last 30 days that would be blocked, by the address of their last use.
#[derive(Serialize, ToSchema)]
struct Impact {
    /// Checked on surface `DASHBOARD`; at most 10,000 are examined.
    sessions: Vec<SessionShutOut>,
    /// Checked on surface `API`; at most 10,000 of each kind are examined.
    tokens: Vec<TokenShutOut>,
}

/// A session that would be blocked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SessionShutOut {
    /// `ses_…`
    id: String,
    user_id: String,
    /// `null` if unknown; then it would be blocked.
    #[schema(required, value_type = Option<String>)]
    ip: Option<IpAddr>,
}

/// A token that would be blocked.
#[derive(Serialize, ToSchema)]
struct TokenShutOut {
    /// `ptk_…` or `sct_…`
    id: String,
    /// `PAT` or `SCIM`.
    #[schema(value_type = values::TokenType)]
    kind: &'static str,
    /// `null` if unknown; then it would be blocked.
    #[schema(required, value_type = Option<String>)]
    ip: Option<IpAddr>,
}

/// Preview the impact of a network policy
///
/// Lists the sessions and tokens of the last 30 days that the draft would block, by the address of their last use.
/// Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = ImpactBody,
    responses(
        (status = 200, description = "Sessions and tokens that would be blocked.", body = Impact),
        (status = 400, description = "INVALID_CIDR, or a field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/network-policy/impact")]
pub(crate) async fn network_policy_impact(call: Call<Administer>, body: Json<ImpactBody>) -> Answer {
    let policy = body.0.read()?;
    let find = async |ctx: &Ctx, tx: &mut Tx| {
        let lifetime = lifetime(&tx.sign_in_policy().await?);
        tx.recent(ctx.now.plus_millis(-RECENT), ctx.now, lifetime).await
    };
    let mut recent = call.scan(find).await?;
    recent.retain(|one| is_shut_out(&policy, one));
    let (mut sessions, mut tokens) = (Vec::new(), Vec::new());
    for RecentUse { of, id, holder, ip } in recent {
        match (of, holder) {
            (CredentialType::Session, Some((user, _))) => {
                sessions.push(SessionShutOut { id, user_id: user.to_string(), ip });
            }
            (CredentialType::Pat, _) => tokens.push(TokenShutOut { id, kind: "PAT", ip }),
            (CredentialType::ScimToken, _) => tokens.push(TokenShutOut { id, kind: "SCIM", ip }),
            // Cannot happen: every session has a user.
            (CredentialType::Session, None) => {}
        }
    }
    Ok(answer(&Impact { sessions, tokens }))
}

impl ImpactBody {
    fn read(self) -> Result<Policy, Problem> {
        let Self { mode, enforcement, admin_bypass, rules } = self;
        if rules.len() > MAX_RULES {
            return Err(Problem::invalid_request(format!("rules: {MAX_RULES} at most")));
        }
        let parse = |(index, text): (usize, &String)| {
            let parsed = text.parse::<Cidr>();
            parsed.map_err(|error| Problem::new(Code::InvalidCidr, format!("rules[{index}]: {error}")))
        };
        let ranges = rules.iter().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Policy::of_ranges(Settings { mode, enforcement, admin_bypass }, ranges))
    }
}

fn is_shut_out(policy: &Policy, one: &RecentUse) -> bool {
    let surface = if one.of == CredentialType::Session { Surface::Dashboard } else { Surface::Api };
    let admin = one.holder.as_ref().is_some_and(|(_, role)| *role == Role::Admin);
    policy.decide(one.ip, surface, admin).decision == Decision::Deny
}
