//! `/settings/sign-in`: how the users of the tenant sign in.

use actix_web::{HttpResponse, get};
use askama::Template;
use credentials::{FactorKind, SignInMode, SignInPolicy, SignInStore};
use kernel::Ctx;
use store::Tx;
use tokens::Scope;

use super::{frame::Administrator, frame::PageFrame, frame::draw};
use crate::api::{Answer, Call};
use gate::{
    permissions::{InPerson, ManagePolicies},
    shape::AreaProblem,
};

pub(crate) const PATH: &str = "/settings/sign-in";

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    policy: &'a SignInPolicy,
    modes: [ModeChoice; 3],
    takes_passkeys: bool,
    takes_apps: bool,
    /// Maximum lifetime of a personal access token in days; empty without a limit.
    token_days: String,
    scopes: Vec<ScopeChoice>,
}

struct ModeChoice {
    value: &'static str,
    label: &'static str,
    chosen: bool,
}

struct ScopeChoice {
    name: &'static str,
    allowed: bool,
}

/// Renders the sign-in policy page.
#[get("/settings/sign-in")]
pub(crate) async fn sign_in(call: Call<InPerson<ManagePolicies>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManagePolicies>>) -> Answer {
    let policy = call.read(async |_: &Ctx, tx: &mut Tx| tx.sign_in_policy().await).await?;
    let administrator = Administrator::load(call).await?;
    let mode = |mode, value, label| ModeChoice { value, label, chosen: policy.sign_in_mode == mode };
    let pats = policy.pats();
    let allows = |scope: &Scope| {
        pats.allowed_scopes.as_ref().is_none_or(|allowed| allowed.iter().any(|name| name == scope.as_str()))
    };
    draw(&Page {
        shell: administrator.shell(&call.site, "Sign-in", "sign-in.js", PATH),
        modes: [
            mode(SignInMode::CredentialsOnly, "CREDENTIALS_ONLY", "Password or passkey"),
            mode(SignInMode::SsoAllowed, "SSO_ALLOWED", "Password, passkey or single sign-on"),
            mode(
                SignInMode::SsoRequired,
                "SSO_REQUIRED",
                "Single sign-on only, except for break-glass accounts",
            ),
        ],
        takes_passkeys: policy.mfa.accepts(FactorKind::Webauthn),
        takes_apps: policy.mfa.accepts(FactorKind::Totp),
        token_days: pats.max_days.map(|days| days.to_string()).unwrap_or_default(),
        scopes: Scope::ALL
            .iter()
            .map(|scope| ScopeChoice { name: scope.as_str(), allowed: allows(scope) })
            .collect(),
        policy: &policy,
    })
}
