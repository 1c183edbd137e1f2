//! `/account/security`: the user's factors, sessions and personal access tokens.

use actix_web::{HttpResponse, get};
use askama::Template;
use credentials::{Factor, FactorKind, FactorStore, MfaPolicy, SignInStore};
use directory::{Permission as Right, Permissions, Person};
use kernel::{Ctx, Timestamp};
use sessions::{Session, SessionId, ip_prefix};
use store::Tx;
use tokens::{Pat, PatStore, Scope, pat::Limits};

use super::{frame::PageFrame, frame::SignedInUser, frame::draw, pictures, times::PageTime};
use crate::api::{Answer, Call, Site, known_as};
use gate::{access::lifetime, errors::Problem, permissions::OwnAccount, shape::AreaProblem};

pub(crate) const PATH: &str = "/account/security";

#[derive(Template)]
#[template(path = "security.html")]
struct Page<'a> {
    shell: PageFrame<'a>,
    account: String,
    has_password: bool,
    password_hint: String,
    mfa: Mfa,
    factors: Vec<FactorRow>,
    /// Absent if passkeys do not work on this server.
    accepted: Option<AcceptedPasskeys>,
    unused_codes: usize,
    sessions: Vec<SessionRow>,
    tokens: Vec<TokenRow>,
    scopes: Vec<ScopeChoice>,
    ends: Vec<EndChoice>,
}

/// The passkeys of the user, reported to authenticators (WebAuthn Level 3, section 5.1.10). Bytes are in base64url.
struct AcceptedPasskeys {
    rp_id: String,
    user_id: String,
    user_name: String,
    display_name: String,
    /// The IDs of the enrolled credentials, separated by spaces.
    credential_ids: String,
}

impl AcceptedPasskeys {
    fn of(rp_id: &str, handle: &[u8], person: &Person, factors: &[Factor]) -> Self {
        let encode = |bytes: &[u8]| data_encoding::BASE64URL_NOPAD.encode(bytes);
        let enrolled = factors.iter().filter(|factor| factor.is_verified()).filter_map(Factor::passkey);
        let ids: Vec<_> = enrolled.map(|passkey| encode(passkey.credential_id())).collect();
        Self {
            rp_id: rp_id.to_owned(),
            user_id: encode(handle),
            user_name: person.account().to_owned(),
            display_name: person.display_name.clone().unwrap_or_else(|| person.account().to_owned()),
            credential_ids: ids.join(" "),
        }
    }
}

/// The tenant's MFA policy.
struct Mfa {
    required: bool,
    takes_passkeys: bool,
    takes_apps: bool,
}

pub(super) struct FactorRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) is_passkey: bool,
    /// The URL of a picture of its model, or of its kind.
    pub(super) picture: String,
    /// Name of the authenticator model, if known.
    pub(super) make: Option<&'static str>,
    /// How the model is attested; empty for authenticator apps.
    pub(super) trust: &'static str,
    /// Whether the passkey can be copied to other devices.
    pub(super) synced: bool,
    /// Whether the tenant's policy accepts the factor.
    pub(super) counts: bool,
    pub(super) created: PageTime,
    pub(super) used: Option<PageTime>,
}

pub(super) struct SessionRow {
    pub(super) id: String,
    pub(super) device: String,
    pub(super) place: String,
    pub(super) created: PageTime,
    pub(super) seen: PageTime,
    pub(super) current: bool,
    /// Whether it is bound to a key of the browser.
    pub(super) bound: bool,
}

pub(super) struct TokenRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) scopes: Vec<&'static str>,
    pub(super) created: PageTime,
    pub(super) expires: Option<PageTime>,
    pub(super) used: Option<PageTime>,
    pub(super) used_from: Option<String>,
}

struct ScopeChoice {
    name: &'static str,
    what: &'static str,
}

/// A choice for the expiry of a new token in days; an empty number means the latest possible expiry.
struct EndChoice {
    days: &'static str,
    label: String,
    chosen: bool,
}

/// Data that the page reads in one transaction.
struct SecurityData {
    person: Person,
    has_password: bool,
    factors: Vec<Factor>,
    unused_codes: usize,
    sessions: Vec<Session>,
    tokens: Vec<Pat>,
}

/// Renders the page of the user's own account.
#[get("/account/security")]
pub(crate) async fn security(call: Call<OwnAccount>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<OwnAccount>) -> Answer {
    let signed = call.caller().clone();
    let (user, policy) = (signed.session.user.clone(), signed.holder.policy.clone());
    let lifetime = lifetime(&policy);
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        Ok::<_, Problem>(SecurityData {
            person: directory::find_person(tx, &user).await?,
            has_password: tx.password(&user).await?.is_some(),
            factors: tx.factors(&user).await?,
            unused_codes: tx.unused_codes(&user).await?,
            sessions: sessions::list(ctx, tx, &user, lifetime).await?,
            tokens: tx.pats_of(&user).await?,
        })
    };
    let found = call.read(find).await?;
    let tenant = call.own_tenant().await?;
    let mut shell = PageFrame::new(&call.site, "Security", "security.js");
    shell.here = PATH;
    shell.person = Some(SignedInUser::of(&found.person, &signed.holder.roles, &tenant, &signed.session.id));
    let now = call.env().now();
    let limits = store::pat_limits(&policy);
    draw(&Page {
        shell,
        account: found.person.account().to_owned(),
        has_password: found.has_password,
        password_hint: format!(
            "At least {} characters. A few random words are fine.",
            credentials::password_min(policy.mfa.required)
        ),
        factors: FactorRow::all(&call.site, &found.factors, &policy.mfa),
        mfa: Mfa {
            required: policy.mfa.required,
            takes_passkeys: policy.mfa.accepts(FactorKind::Webauthn),
            takes_apps: policy.mfa.accepts(FactorKind::Totp),
        },
        accepted: call.site.auth.passkeys.as_ref().map(|passkeys| {
            let handle = credentials::user_handle(call.tenant(), &found.person.id);
            AcceptedPasskeys::of(passkeys.rp_id(), &handle, &found.person, &found.factors)
        }),
        unused_codes: found.unused_codes,
        sessions: found
            .sessions
            .iter()
            .map(|session| SessionRow::of(&call.site, session, &signed.session.id))
            .collect(),
        tokens: TokenRow::all(found.tokens, &limits, now),
        scopes: choices(signed.holder.roles.permissions, &limits),
        ends: ends(limits.max_days),
    })
}

impl FactorRow {
    /// Returns the verified factors.
    pub(super) fn all(site: &Site, factors: &[Factor], mfa: &MfaPolicy) -> Vec<Self> {
        let verified = factors.iter().filter(|factor| factor.is_verified());
        verified.map(|factor| Self::of(site, factor, mfa)).collect()
    }

    fn of(site: &Site, factor: &Factor, mfa: &MfaPolicy) -> Self {
        Self {
            id: factor.id.to_string(),
            name: factor.name.clone(),
            is_passkey: factor.kind() == FactorKind::Webauthn,
            picture: pictures::of_factor(site, factor),
            make: factor.passkey().and_then(known_as),
            trust: factor.passkey().map_or("", |passkey| passkey.trust.as_str()),
            synced: factor.passkey().is_some_and(credentials::Passkey::backup_eligible),
            counts: mfa.accepts(factor.kind()),
            created: factor.created_at.into(),
            used: factor.last_used_at.map(PageTime::from),
        }
    }
}

impl SessionRow {
    pub(super) fn of(site: &Site, session: &Session, own: &SessionId) -> Self {
        let places = [session.location.clone(), session.ip.map(ip_prefix)];
        let place = places.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        Self {
            id: session.id.to_string(),
            device: session.device_label.clone(),
            place: if place.is_empty() { "Unknown address".into() } else { place },
            created: session.created_at.into(),
            seen: session.last_seen_at.into(),
            current: session.id == *own,
            bound: site.pipeline.device_bound_sessions && session.device.is_some(),
        }
    }
}

impl TokenRow {
    /// Returns the tokens that are valid within the limits of the tenant.
    pub(super) fn all(tokens: Vec<Pat>, limits: &Limits, now: Timestamp) -> Vec<Self> {
        let limited = tokens.into_iter().map(|pat| pat.within(limits));
        limited.filter(|pat| pat.is_live(now)).map(|pat| Self::of(&pat)).collect()
    }

    fn of(pat: &Pat) -> Self {
        let moment = |time: Option<Timestamp>| time.map(PageTime::from);
        Self {
            id: pat.id.to_string(),
            name: pat.name.clone(),
            scopes: pat.scopes.iter().map(|scope| scope.as_str()).collect(),
            created: pat.created_at.into(),
            expires: moment(pat.expires_at),
            used: moment(pat.last_used_at),
            used_from: pat.last_used_ip.map(ip_prefix),
        }
    }
}

/// Returns the scopes that a user with these permissions may give a token, as far as the tenant allows them.
fn choices(permissions: Permissions, limits: &Limits) -> Vec<ScopeChoice> {
    let all = [
        (Scope::ReadProfile, "Read your profile", true),
        (Scope::WriteProfile, "Change your name and phone numbers", true),
        (Scope::ReadHcm, "Read the users of your organization", true),
        (Scope::WriteHcm, "Change the users of your organization", permissions.contains(Right::ManageUsers)),
        (Scope::AdminTenant, "Do in the settings what your roles permit", !permissions.is_empty()),
    ];
    let offered = all.into_iter().filter(|(scope, _, offered)| *offered && limits.allowed.contains(scope));
    offered.map(|(scope, what, _)| ScopeChoice { name: scope.as_str(), what }).collect()
}

/// Returns the choices for the expiry of a new token, within the tenant's maximum lifetime.
fn ends(max_days: Option<i64>) -> Vec<EndChoice> {
    let all = [("30", 30, "30 days"), ("90", 90, "90 days"), ("366", 366, "366 days")];
    let allowed = all.into_iter().filter(|(_, days, _)| max_days.is_none_or(|most| *days < most));
    let choice = |(days, number, label): (&'static str, i64, &str)| EndChoice {
        days,
        label: label.to_owned(),
        chosen: number == 90 && max_days.is_none(),
    };
    let latest = EndChoice {
        days: "",
        label: max_days.map_or_else(
            || "Never".to_owned(),
            |days| format!("{days} days (the maximum your organization allows)"),
        ),
        chosen: max_days.is_some(),
    };
    allowed.map(choice).chain([latest]).collect()
}
