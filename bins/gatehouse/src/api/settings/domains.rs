//! `/api/settings/domains`: email domains and their verification.

use std::collections::BTreeMap;

use actix_web::{delete, get, post, web};
use audit::{
    Audited, Event,
    events::saml::{DomainRemoved, DomainVerified},
};
use credentials::attempts;
use kernel::{Ctx, TenantId, Timestamp};
use saml_sp::{DomainStore, EmailDomain, Method, ProviderId, ProviderStore, VerifiedDomain};
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::{
    api::{Answer, Call, Site, me::factors::Deleted, openapi::values},
    dns,
};
use gate::{
    body::answer,
    errors::{Code, Problem},
    permissions::{Administer, AdministerInPerson},
    step_up::{SsoProviderChange, StepUp},
};

/// The DNS record that verifies a domain.
#[derive(Serialize, ToSchema)]
#[schema(as = DomainRecord)]
struct ShownRecord {
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
struct ShownDomain {
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
    record: ShownRecord,
}

/// The tenant's domains.
#[derive(Serialize, ToSchema)]
struct DomainList {
    /// Domains of SSO connections and verified domains, by name.
    domains: Vec<ShownDomain>,
}

/// The tenant's use of a domain: SSO connections and verification.
#[derive(Default)]
struct DomainUse {
    providers: Vec<ProviderId>,
    verified: Option<VerifiedDomain>,
}

/// Returns all domains that the tenant uses or has verified.
async fn ties(tx: &mut Tx) -> kernel::StoreResult<BTreeMap<EmailDomain, DomainUse>> {
    let mut ties: BTreeMap<EmailDomain, DomainUse> = BTreeMap::new();
    for provider in tx.providers().await? {
        for domain in provider.email_domains {
            ties.entry(domain).or_default().providers.push(provider.id.clone());
        }
    }
    for verified in tx.verified_domains().await? {
        let tie = ties.entry(verified.domain.clone()).or_default();
        tie.verified = Some(verified);
    }
    Ok(ties)
}

fn shown_domain(
    site: &Site,
    tenant: &TenantId,
    domain: &EmailDomain,
    tie: &DomainUse,
) -> Result<ShownDomain, Problem> {
    let token = site.pipeline.keys.domain_token(tenant, domain);
    let token = token
        .ok_or_else(|| Problem::unexpected("there is no key to sign verified domains; set master_key"))?;
    Ok(ShownDomain {
        domain: domain.to_string(),
        status: if tie.verified.is_some() { "VERIFIED" } else { "UNVERIFIED" },
        method: tie.verified.as_ref().map(|verified| verified.method.as_str()),
        verified_at: tie.verified.as_ref().map(|verified| verified.verified_at),
        providers: tie.providers.iter().map(ToString::to_string).collect(),
        record: ShownRecord { name: dns::record_name(domain), kind: "TXT", value: dns::record_value(&token) },
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
pub(crate) async fn list_domains(call: Call<Administer>) -> Answer {
    let ties = call.read(async |_: &Ctx, tx: &mut Tx| ties(tx).await).await?;
    let domains = ties.iter().map(|(domain, tie)| shown_domain(&call.site, call.tenant(), domain, tie));
    Ok(answer(&DomainList { domains: domains.collect::<Result<_, _>>()? }))
}

/// Verify a domain
///
/// Looks up the DNS record now. Keep the record: the server checks it again every 30 days. A domain belongs to one
/// tenant. Requires a step-up (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("domain" = String, Path, description = "Domain of one of the tenant's SSO connections.")),
    responses(
        (status = 200, description = "The verified domain.", body = ShownDomain),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has no SSO connection with this domain."),
        (status = 409, description = "CONFLICT with reason DNS_RECORD_MISSING, DNS_UNAVAILABLE (no response from DNS) or DOMAIN_TAKEN (another tenant verified the domain)."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/domains/{domain}/verify")]
pub(crate) async fn verify_domain(
    call: Call<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    domain: web::Path<String>,
) -> Answer {
    let domain = domain_of(&domain)?;
    let known = call.read(async |_: &Ctx, tx: &mut Tx| ties(tx).await).await?;
    let tie = known.get(&domain).ok_or_else(Problem::not_found)?;
    let was_proved = tie.verified.is_some();
    if !was_proved {
        call.attempt(attempts::look_up(call.tenant())).await?;
        let found = call.without_slot(call.site.dns.proofs(&domain)).await?;
        proved(&call.site, call.tenant(), &domain, found)?;
    }
    let wanted = domain.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        Ok::<_, Problem>(own(ctx, tx, &wanted, was_proved).await?.with(spending.events()?))
    };
    let tie = call.write(work).await?;
    Ok(answer(&shown_domain(&call.site, call.tenant(), &domain, &tie)?))
}

/// Verifies the domain for the tenant. The record was found just now, or the domain was already verified
/// (`was_proved`).
async fn own(
    ctx: &Ctx,
    tx: &mut Tx,
    domain: &EmailDomain,
    was_proved: bool,
) -> Result<Audited<DomainUse>, Problem> {
    let (_, is_new) = saml_sp::own(ctx, tx, domain.clone(), Method::Dns).await?;
    if is_new && was_proved {
        // The tenant gave up the domain meanwhile, and its record was not checked.
        return Err(Problem::new(Code::Conflict, "the other tenant has just released the domain; try again")
            .reason("DNS_RECORD_MISSING"));
    }
    let data = DomainVerified { method: Method::Dns.as_str().to_owned() };
    let event = is_new.then(|| Event::new(domain.as_str(), &data));
    let tie = ties(tx).await?.remove(domain).unwrap_or_default();
    Ok(Audited::of_changes(tie, event.into_iter().collect()))
}

/// Checks that one of the records is this tenant's token for this domain.
fn proved(
    site: &Site,
    tenant: &TenantId,
    domain: &EmailDomain,
    found: Result<Vec<String>, dns::Unavailable>,
) -> Result<(), Problem> {
    let texts = found.map_err(|_| {
        let problem = format!(
            "{} could not be resolved, because no DNS server answered. Try again in a few minutes",
            dns::record_name(domain)
        );
        Problem::new(Code::Conflict, problem).reason("DNS_UNAVAILABLE")
    })?;
    let is_ours = |token: &str| site.pipeline.keys.is_domain_token(tenant, domain, token);
    if texts.iter().filter_map(|text| dns::token_of(text)).any(is_ours) {
        return Ok(());
    }
    let others = if texts.is_empty() { "" } else { "; its value is different" };
    let problem = format!(
        "there is no TXT record {} with the value that the list of domains shows{others}. A new record can take minutes, up to hours, to become visible",
        dns::record_name(domain)
    );
    Err(Problem::new(Code::Conflict, problem).reason("DNS_RECORD_MISSING"))
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
    call: Call<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    domain: web::Path<String>,
) -> Answer {
    let domain = domain_of(&domain)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        saml_sp::give_up(tx, &domain).await?;
        let event = Event::new(domain.as_str(), &DomainRemoved {});
        Ok::<_, Problem>(Audited::new((), event).with(spending.events()?))
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
