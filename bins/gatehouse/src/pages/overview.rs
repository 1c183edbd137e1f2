//! `/settings`: the state of the tenant at a glance.

mod attention;
mod chart;

use actix_web::{HttpResponse, get};
use askama::Template;
use attestation::{AttestationPolicyStore, Mode as AttestationMode};
use audit::{
    EventData, count_days,
    events::{
        oidc::OidcSignInRefused,
        saml::SamlSignInRefused,
        sign_in::{SignInFailed, SignInSucceeded},
    },
};
use credentials::{Factor, FactorStore, SignInMode, SignInPolicy, SignInStore};
use directory::{PeopleQuery, PeopleStore, Permission as Right, Permissions};
use kernel::{Ctx, Timestamp};
use netpolicy::{Mode as NetworkMode, NetworkPolicyStore};
use store::Tx;
use webhooks::SubscriptionStore;

use self::{
    attention::{
        ConnectionFindings, DAY, Problems, TOKENS, horizon, of_paused_token, paused_tokens, problems,
    },
    chart::Chart,
};
use super::{
    frame::{Administrator, PageFrame, draw},
    sections::may_open,
    times::PageTime,
};
use crate::api::{Answer, Call};
use gate::{errors::Problem, permissions::AnyRightInPerson, shape::AreaProblem};

pub(crate) const PATH: &str = "/settings";

/// Days that the chart shows.
const DAYS: i64 = 7;
/// Events that are refused sign-ins. Blocked addresses are left out: they include requests of sessions and tokens.
const REFUSALS: [&str; 3] = [SignInFailed::CODE, SamlSignInRefused::CODE, OidcSignInRefused::CODE];

#[derive(Template)]
#[template(path = "overview.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    tenant: &'a str,
    /// What an administrator has to do, most urgent first.
    problems: Problems,
    /// Steps of the set-up that are not done.
    steps: Vec<Step>,
    /// Number of steps that are done.
    done: usize,
    /// Absent if the sign-ins could not be counted in time.
    chart: Option<Chart>,
    /// Empty if the user may not change policies.
    policies: Vec<Fact>,
    reads_audit: bool,
    may_rename: bool,
    /// Time of the newest checkpoint of the audit log.
    sealed: Option<PageTime>,
}

/// A step of the set-up.
struct Step {
    title: &'static str,
    why: &'static str,
    path: &'static str,
    is_done: bool,
}

/// A policy and its present state.
struct Fact {
    name: &'static str,
    state: &'static str,
    /// The page that changes it.
    path: &'static str,
}

/// Data that the page reads in one transaction.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Found {
    problems: Problems,
    policy: SignInPolicy,
    network: NetworkMode,
    attestation: AttestationMode,
    has_factor: bool,
    /// Whether the tenant has a second user.
    has_people: bool,
    has_provider: bool,
    has_webhook: bool,
    sealed: Option<Timestamp>,
}

/// Renders the overview.
#[get("/settings")]
pub(crate) async fn overview(call: Call<AnyRightInPerson>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<AnyRightInPerson>) -> Answer {
    let user = call.caller().session.user.clone();
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        let (connections, webhooks) =
            (ConnectionFindings::all(tx, ctx.now).await?, tx.subscriptions().await?);
        let has_provider = !connections.is_empty();
        let policy = tx.sign_in_policy().await?;
        let deliveries = tx.delivery_counts(ctx.now.plus_millis(-DAY)).await?;
        let expiring =
            tx.expiring_pats(ctx.now, horizon(ctx.now), &store::pat_limits(&policy), TOKENS).await?;
        let mut urgent: Problems = paused_tokens(tx).await?.into_iter().map(of_paused_token).collect();
        urgent.extend(problems(connections, &webhooks, &deliveries, &expiring, ctx.now));
        Ok::<_, Problem>(Found {
            problems: urgent,
            policy,
            network: tx.network_settings().await?.mode,
            attestation: tx.attestation_policy().await?.mode,
            has_factor: tx.factors(&user).await?.iter().any(Factor::is_verified),
            has_people: tx.people(&PeopleQuery::default(), None, 2).await?.len() > 1,
            has_provider,
            has_webhook: !webhooks.is_empty(),
            sealed: tx.newest_checkpoint().await?.map(|(_, sealed)| sealed),
        })
    };
    let found = call.read(find).await?;
    let count = async move |ctx: &Ctx, tx: &mut Tx| {
        let sign_ins = count_days(tx, &[SignInSucceeded::CODE], ctx.now, DAYS).await?;
        Ok::<_, Problem>(Chart::of(&sign_ins, &count_days(tx, &REFUSALS, ctx.now, DAYS).await?))
    };
    let permissions = call.caller().holder.roles.permissions;
    let reads_audit = permissions.contains(Right::ReadAudit);
    // The other sections do not wait for a tenant's turn to count.
    let chart = if reads_audit { call.scan(count).await.ok() } else { None };
    let administrator = Administrator::load(call).await?;
    let steps = found.steps(permissions);
    draw(&Page {
        shell: administrator.shell(&call.site, "Overview", "overview.js", PATH),
        tenant: &administrator.tenant.name,
        done: steps.iter().filter(|step| step.is_done).count(),
        steps,
        policies: found.policies(permissions),
        problems: found.problems.into_iter().filter(|row| may_open(permissions, &row.path)).collect(),
        reads_audit,
        may_rename: permissions.contains(Right::ManageTenant),
        chart,
        sealed: found.sealed.map(PageTime::from),
    })
}

impl Found {
    /// Returns the steps of the set-up that the user may do; empty if all are done.
    fn steps(&self, permissions: Permissions) -> Vec<Step> {
        let mut steps = vec![
            Step {
                title: "Add a passkey to your account",
                why: "Changes of policies, tokens and connections ask for it.",
                path: super::security::PATH,
                is_done: self.has_factor,
            },
            Step {
                title: "Invite people",
                why: "Send links by mail, or connect your directory over SCIM.",
                path: super::people::PATH,
                is_done: self.has_people,
            },
            Step {
                title: "Connect an identity provider",
                why: "Users sign in with Okta, Entra ID, Google or another provider.",
                path: "/settings/sso?new",
                is_done: self.has_provider,
            },
            Step {
                title: "Add a webhook",
                why: "Your systems hear of changes as they happen.",
                path: "/settings/webhooks?new",
                is_done: self.has_webhook,
            },
            Step {
                title: "Restrict networks",
                why: "Allow access from your own networks only.",
                path: super::network::PATH,
                is_done: self.network == NetworkMode::Allowlist,
            },
        ];
        steps.retain(|step| may_open(permissions, step.path));
        if steps.iter().all(|step| step.is_done) { Vec::new() } else { steps }
    }

    fn policies(&self, permissions: Permissions) -> Vec<Fact> {
        let sign_in = match self.policy.sign_in_mode {
            SignInMode::CredentialsOnly => "Passwords and passkeys",
            SignInMode::SsoAllowed => "Passwords, passkeys and single sign-on",
            SignInMode::SsoRequired => "Single sign-on only",
        };
        let mfa = if self.policy.mfa.required { "Required from everybody" } else { "Optional" };
        let network = match self.network {
            NetworkMode::Off => "Any address",
            NetworkMode::Allowlist => "Your address ranges only",
        };
        let authenticators = match self.attestation {
            AttestationMode::Off => "Any model",
            AttestationMode::Allowlist => "Allowed models only",
        };
        let mut policies = vec![
            Fact { name: "Sign-in", state: sign_in, path: super::sign_in::PATH },
            Fact { name: "Second factor", state: mfa, path: super::sign_in::PATH },
            Fact { name: "Network", state: network, path: super::network::PATH },
            Fact { name: "Authenticators", state: authenticators, path: super::authenticators::PATH },
        ];
        policies.retain(|fact| may_open(permissions, fact.path));
        policies
    }
}
