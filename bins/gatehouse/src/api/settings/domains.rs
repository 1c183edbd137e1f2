//! `/api/settings/domains`: email domains and their verification.

use actix_web::{delete, get, post, web};
use credentials::attempts;
use kernel::{Ctx, TenantId, Timestamp};
use saml_sp::{DomainUse, EmailDomain, domain_uses};
use serde::Serialize;
use sign_in::sso;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call, Site, me::factors::Deleted, openapi::values};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{InPerson, ManageConnections, Permission},
    step_up::{SsoProviderChange, StepUp},
};

/// The DNS record that verifies a domain.
#[derive(Serialize, ToSchema)]
#[schema(as = DomainRecord)]
struct RecordView {
    /// `_gatehouse.` followed by the domain.
    name: String,
    /// `TXT`
    #[serde(rename = "type")]
    #[schema(value_type = values::DnsRecordType)]
    kind: &'static str,
    /// Stays the same until the installation's master key is retired.
    value: String,
}

/// An email domain.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Domain)]
struct DomainView {
    domain: String,
    /// `VERIFIED`: the sign-in page sends users of the domain to the tenant's identity provider. `UNVERIFIED`: not yet.
    #[schema(value_type = values::DomainStatus)]
    status: &'static str,
    /// `DNS` or `OPERATOR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::DomainMethod>)]
    method: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    verified_at: Option<Timestamp>,
    /// SSO connections of the tenant with this domain.
    providers: Vec<String>,
    /// The DNS record that verifies it.
    record: RecordView,
}

/// The tenant's domains.
#[derive(Serialize, ToSchema)]
pub(crate) struct DomainList {
    /// Domains of SSO connections and verified domains, by name.
    domains: Vec<DomainView>,
}

fn shown_domain(
    site: &Site,
    tenant: &TenantId,
    domain: &EmailDomain,
    domain_use: &DomainUse,
) -> Result<DomainView, Problem> {
    let found = domain_use.verified.as_ref().and_then(|verified| verified.token.clone());
    let token = found.or_else(|| site.pipeline.keys.domain_token(tenant, domain));
    let token = token
        .ok_or_else(|| Problem::unexpected("there is no key to sign verified domains; set master_key"))?;
    Ok(DomainView {
        domain: domain.to_string(),
        status: if domain_use.verified.is_some() { "VERIFIED" } else { "UNVERIFIED" },
        method: domain_use.verified.as_ref().map(|verified| verified.method.as_str()),
        verified_at: domain_use.verified.as_ref().map(|verified| verified.verified_at),
        providers: domain_use.providers.iter().map(ToString::to_string).collect(),
        record: RecordView {
            name: domain.record_name(),
            kind: "TXT",
            value: EmailDomain::record_value(&token),
        },
    })
}

/// Parses the domain in a path.
fn domain_of(text: &str) -> Result<EmailDomain, Problem> {
    text.parse().map_err(|_| Problem::not_found())
}

/// List domains
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Domains of SSO connections and verified domains.", body = DomainList))
)]
#[get("/api/settings/domains")]
pub(crate) async fn list_domains(call: Call<ManageConnections>) -> Answer {
    Ok(answer(&domain_list(&call).await?))
}

/// Returns the domains of SSO connections and the verified domains.
pub(crate) async fn domain_list<P: Permission>(call: &Call<P>) -> Result<DomainList, Problem> {
    let uses = call.read(async |_: &Ctx, tx: &mut Tx| domain_uses(tx).await).await?;
    let domains = uses.iter().map(|(domain, one)| shown_domain(&call.site, call.tenant(), domain, one));
    Ok(DomainList { domains: domains.collect::<Result<_, _>>()? })
}

/// Verify a domain
///
/// Looks up the DNS record now. Keep the record: the server checks it again every 30 days. A domain belongs to one
/// tenant. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("domain" = String, Path, description = "Domain of one of the tenant's SSO connections.")),
    responses(
        (status = 200, description = "The verified domain.", body = DomainView),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has no SSO connection with this domain."),
        (status = 409, description = "CONFLICT with reason DNS_RECORD_MISSING, DNS_UNAVAILABLE (no response from DNS) or DOMAIN_TAKEN (another tenant verified the domain)."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/domains/{domain}/verify")]
pub(crate) async fn verify_domain(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
    domain: web::Path<String>,
) -> Answer {
    let domain = domain_of(&domain)?;
    let uses = call.read(async |_: &Ctx, tx: &mut Tx| domain_uses(tx).await).await?;
    let was_verified = uses.get(&domain).ok_or_else(Problem::not_found)?.verified.is_some();
    let token = if was_verified {
        None
    } else {
        call.attempt(attempts::look_up(call.tenant())).await?;
        let records = call.without_slot(call.site.dns.proofs(&domain)).await?.ok();
        let is_ours = |token: &str| call.site.pipeline.keys.is_domain_token(call.tenant(), &domain, token);
        Some(domain.require_record(records.as_deref(), is_ours)?)
    };
    let wanted = domain.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let verified = sso::verify_domain(ctx, tx, &wanted, token).await?;
        Ok::<_, Problem>(verified.with(spending.events()?))
    };
    let domain_use = call.write(work).await?;
    Ok(answer(&shown_domain(&call.site, call.tenant(), &domain, &domain_use)?))
}

/// Release a domain
///
/// Users of the domain are no longer sent to this tenant's identity provider, and another tenant can verify the
/// domain. SSO connections keep it. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("domain" = String, Path, description = "Domain that the tenant verified.")),
    responses(
        (status = 200, description = "Released.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has not verified this domain."),
    )
)]
#[delete("/api/settings/domains/{domain}")]
pub(crate) async fn delete_domain(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<SsoProviderChange>,
    domain: web::Path<String>,
) -> Answer {
    let domain = domain_of(&domain)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        Ok::<_, Problem>(sso::release_domain(tx, &domain).await?.with(spending.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
