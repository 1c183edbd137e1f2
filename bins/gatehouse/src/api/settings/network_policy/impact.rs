//! `POST /api/settings/network-policy/impact`: who would be shut out.

use std::net::IpAddr;

use actix_web::{HttpResponse, post};
use credentials::SignInStore;
use directory::Role;
use kernel::Ctx;
use netpolicy::{Cidr, Decision, Enforcement, MAX_RULES, Mode, Policy, Settings, Surface};
use serde::{Deserialize, Serialize};
use store::{CredentialType, RecentUse, Tx};
use utoipa::ToSchema;

use super::EnforcementShape;
use crate::api::openapi::values;
use gate::{
    access::{Access, lifetime},
    body::{Json, answer},
    errors::{Code, Problem},
    permissions::Administer,
};

/// How long ago a credential may have been used to be looked at.
const RECENT: i64 = 30 * 24 * 60 * 60_000;

/// A policy that somebody thinks about.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImpactBody {
    /// `OFF` or `ALLOWLIST`.
    #[schema(value_type = values::NetworkMode)]
    mode: Mode,
    #[schema(value_type = EnforcementShape)]
    enforcement: Enforcement,
    admin_bypass: bool,
    /// Ranges; those that are kept are not looked at.
    #[schema(value_type = Vec<values::IpRange>)]
    rules: Vec<String>,
}

/// Who would be shut out, by what was used in the last 30 days from where it was used last.
#[derive(Serialize, ToSchema)]
struct Impact {
    /// On `DASHBOARD`; 10,000 are looked at.
    sessions: Vec<SessionShutOut>,
    /// On `API`; 10,000 of each kind are looked at.
    tokens: Vec<TokenShutOut>,
}

/// A session that would be refused.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SessionShutOut {
    /// `ses_…`
    id: String,
    user_id: String,
    /// `null` where it is not known: then it would be refused.
    #[schema(required, value_type = Option<String>)]
    ip: Option<IpAddr>,
}

/// A token that would be refused.
#[derive(Serialize, ToSchema)]
struct TokenShutOut {
    /// `ptk_…` or `sct_…`
    id: String,
    /// `PAT` or `SCIM`.
    #[schema(value_type = values::TokenType)]
    kind: &'static str,
    /// `null` where it is not known: then it would be refused.
    #[schema(required, value_type = Option<String>)]
    ip: Option<IpAddr>,
}

/// Ask whom a network policy would shut out
///
/// Of those with sessions and tokens used in the last 30 days, by the address of their last use. Nothing is changed.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = ImpactBody,
    responses(
        (status = 200, description = "Who would be shut out.", body = Impact),
        (status = 400, description = "INVALID_CIDR; or a field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/network-policy/impact")]
pub(crate) async fn network_policy_impact(
    access: Access<Administer>,
    body: Json<ImpactBody>,
) -> Result<HttpResponse, Problem> {
    let policy = body.0.read()?;
    let find = async |ctx: &Ctx, tx: &mut Tx| {
        let lifetime = lifetime(&tx.sign_in_policy().await?);
        tx.recent(ctx.now.plus_millis(-RECENT), ctx.now, lifetime).await
    };
    let mut recent = access.scan(find).await?;
    recent.retain(|one| is_shut_out(&policy, one));
    let (mut sessions, mut tokens) = (Vec::new(), Vec::new());
    for RecentUse { of, id, holder, ip } in recent {
        match (of, holder) {
            (CredentialType::Session, Some((user, _))) => {
                sessions.push(SessionShutOut { id, user_id: user.to_string(), ip });
            }
            (CredentialType::Pat, _) => tokens.push(TokenShutOut { id, kind: "PAT", ip }),
            (CredentialType::ScimToken, _) => tokens.push(TokenShutOut { id, kind: "SCIM", ip }),
            // Sessions are somebody's.
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
