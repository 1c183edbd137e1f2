//! `/api/settings/domains`: domains of e-mail addresses, and whose they are.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, delete, get, post, web};
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
    api::{Site, me::factors::Deleted, openapi::values},
    dns,
};
use gate::{
    access::Access,
    body::answer,
    errors::{Code, Problem},
    permissions::{Administer, AdministerInPerson},
    step_up::{SsoProviderChange, StepUp},
};

/// What proves a domain.
#[derive(Serialize, ToSchema)]
#[schema(as = DomainRecord)]
struct ShownRecord {
    /// `_gatehouse.` and the domain.
    name: String,
    /// `TXT`
    #[serde(rename = "type")]
    #[schema(value_type = values::DnsRecordType)]
    kind: &'static str,
    /// The same as long as this installation has the key that it was made with.
    value: String,
}

/// A domain of e-mail addresses.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Domain)]
struct ShownDomain {
    domain: String,
    /// `VERIFIED`: people with its addresses are led to the tenant's identity provider. `UNVERIFIED`: not yet.
    #[schema(value_type = values::DomainStatus)]
    status: &'static str,
    /// `DNS` or `OPERATOR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::DomainMethod>)]
    method: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    verified_at: Option<Timestamp>,
    /// Identity providers of the tenant that speak for it.
    providers: Vec<String>,
    /// The record of the DNS that proves it.
    record: ShownRecord,
}

/// The tenant's domains.
#[derive(Serialize, ToSchema)]
struct DomainList {
    /// Those of its identity providers and those that it has proved, by name.
    domains: Vec<ShownDomain>,
}

/// What the tenant has to do with a domain.
#[derive(Default)]
struct DomainUse {
    providers: Vec<ProviderId>,
    verified: Option<VerifiedDomain>,
}

/// All domains that the tenant has to do with.
async fn ties(tx: &mut Tx) -> Result<BTreeMap<EmailDomain, DomainUse>, kernel::StoreError> {
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
    let token = token.ok_or_else(|| Problem::unforeseen("there is no key to sign domains with"))?;
    Ok(ShownDomain {
        domain: domain.to_string(),
        status: if tie.verified.is_some() { "VERIFIED" } else { "UNVERIFIED" },
        method: tie.verified.as_ref().map(|verified| verified.method.as_str()),
        verified_at: tie.verified.as_ref().map(|verified| verified.verified_at),
        providers: tie.providers.iter().map(ToString::to_string).collect(),
        record: ShownRecord { name: dns::record_name(domain), kind: "TXT", value: dns::record_value(&token) },
    })
}

/// The domain in a path.
fn domain_of(text: &str) -> Result<EmailDomain, Problem> {
    text.parse().map_err(|_| Problem::not_found())
}

/// List domains
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Those of identity providers, and those that were proved.", body = DomainList))
)]
#[get("/api/settings/domains")]
pub(crate) async fn list_domains(
    site: web::Data<Site>,
    access: Access<Administer>,
) -> Result<HttpResponse, Problem> {
    let ties = access.read(async |_: &Ctx, tx: &mut Tx| ties(tx).await).await?;
    let domains = ties.iter().map(|(domain, tie)| shown_domain(&site, access.tenant(), domain, tie));
    Ok(answer(&DomainList { domains: domains.collect::<Result<_, _>>()? }))
}

/// Prove a domain
///
/// Looks for the record in the DNS, now. Keep it: it is read again every 30 days. A domain has one owner. Needs a fresh proof
/// (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    params(("domain" = String, Path, description = "A domain of one of the tenant's identity providers.")),
    responses(
        (status = 200, description = "The domain, which is the tenant's.", body = ShownDomain),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has no identity provider for this domain."),
        (status = 409, description = "CONFLICT, reason DNS_RECORD_MISSING; DNS_UNAVAILABLE: there was no answer; DOMAIN_TAKEN: another tenant has proved it."),
        (status = 429, description = "RATE_LIMITED, with header Retry-After."),
    )
)]
#[post("/api/settings/domains/{domain}/verify")]
pub(crate) async fn verify_domain(
    site: web::Data<Site>,
    access: Access<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    domain: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let domain = domain_of(&domain)?;
    let known = access.read(async |_: &Ctx, tx: &mut Tx| ties(tx).await).await?;
    let tie = known.get(&domain).ok_or_else(Problem::not_found)?;
    let was_proved = tie.verified.is_some();
    if !was_proved {
        access.attempt(attempts::look_up(access.tenant())).await?;
        let found = access.aside(site.dns.proofs(&domain)).await?;
        proved(&site, access.tenant(), &domain, found)?;
    }
    let wanted = domain.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        Ok::<_, Problem>(own(ctx, tx, &wanted, was_proved).await?.with(spending.events()?))
    };
    let tie = access.write(work).await?;
    Ok(answer(&shown_domain(&site, access.tenant(), &domain, &tie)?))
}

/// Makes the tenant the owner of a domain whose record was found just now, or `was_proved` before.
async fn own(
    ctx: &Ctx,
    tx: &mut Tx,
    domain: &EmailDomain,
    was_proved: bool,
) -> Result<Audited<DomainUse>, Problem> {
    let (_, is_new) = saml_sp::own(ctx, tx, domain.clone(), Method::Dns).await?;
    if is_new && was_proved {
        // The tenant gave it up meanwhile, and the record was not looked up.
        return Err(Problem::new(Code::Conflict, "the domain was given up just now; try again")
            .reason("DNS_RECORD_MISSING"));
    }
    let data = DomainVerified { method: Method::Dns.as_str().to_owned() };
    let event = is_new.then(|| Event::new(domain.as_str(), &data));
    let tie = ties(tx).await?.remove(domain).unwrap_or_default();
    Ok(Audited::of_changes(tie, event.into_iter().collect()))
}

/// Whether one of the records is this tenant's for this domain.
fn proved(
    site: &Site,
    tenant: &TenantId,
    domain: &EmailDomain,
    found: Result<Vec<String>, dns::Unavailable>,
) -> Result<(), Problem> {
    let texts = found.map_err(|_| {
        let problem = format!(
            "{} could not be looked up: the DNS gave no answer; try again in a few minutes",
            dns::record_name(domain)
        );
        Problem::new(Code::Conflict, problem).reason("DNS_UNAVAILABLE")
    })?;
    let is_ours = |token: &str| site.pipeline.keys.is_domain_token(tenant, domain, token);
    if texts.iter().filter_map(|text| dns::token_of(text)).any(is_ours) {
        return Ok(());
    }
    let others = if texts.is_empty() { "" } else { "; what is there is something else" };
    let problem = format!(
        "there is no TXT record {} with the value that the list of domains shows{others}. A new record may take minutes, up to hours, to be seen",
        dns::record_name(domain)
    );
    Err(Problem::new(Code::Conflict, problem).reason("DNS_RECORD_MISSING"))
}

/// Give up a domain
///
/// From now on nobody is led to this tenant by it, and another tenant may prove it. Identity providers keep it. Needs a fresh proof
/// (`SSO_PROVIDER_CHANGE`).
#[utoipa::path(
    tag = "Single sign-on",
    security(("sessionCookie" = [])),
    params(("domain" = String, Path, description = "A domain that the tenant has proved.")),
    responses(
        (status = 200, description = "It is the tenant's no more.", body = Deleted),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has not proved this domain."),
    )
)]
#[delete("/api/settings/domains/{domain}")]
pub(crate) async fn delete_domain(
    access: Access<AdministerInPerson>,
    proof: StepUp<SsoProviderChange>,
    domain: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let domain = domain_of(&domain)?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        saml_sp::give_up(tx, &domain).await?;
        let event = Event::new(domain.as_str(), &DomainRemoved {});
        Ok::<_, Problem>(Audited::new((), event).with(spending.events()?))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
