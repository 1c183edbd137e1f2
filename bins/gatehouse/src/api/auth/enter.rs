//! What a proved first factor leads to.

use actix_web::{HttpResponse, web};
use audit::{Audited, Event, events::sign_in::SessionStarted};
use credentials::{
    Factor, FactorKind, FactorStore, Passkey, SignInMode, SignInStore, Ticket, TicketKind, TicketStore,
    attempts,
};
use directory::Person;
use kernel::{Ctx, Env, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sessions::{GraceKind, Method, NewSession, Session, SessionId, SessionStore, Standing, device_label};
use store::Tx;
use utoipa::ToSchema;

use super::ticket::{self, Minted};
use crate::api::{Site, openapi::values};
use gate::{
    access::Visitor,
    body::answer,
    cookies,
    errors::Problem,
    signing_in::{self, Held},
};

/// Where a sign-in comes from, as it is shown and counted.
#[derive(Clone)]
pub(crate) struct Device {
    label: String,
    location: Option<String>,
    /// `None` where the address is not known: then none becomes known.
    origin: Option<String>,
}

impl Device {
    pub(crate) fn of(site: &Site, visitor: &Visitor) -> Self {
        Self::new(site, visitor.user_agent(), visitor.ip())
    }

    pub(crate) fn new(site: &Site, user_agent: &str, ip: Option<std::net::IpAddr>) -> Self {
        Self {
            label: device_label(user_agent),
            location: site.pipeline.locate(ip),
            origin: ip.map(|ip| attempts::origin(Some(ip))),
        }
    }
}

/// What a ticket for a second factor remembers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Proved {
    /// What was proved so far.
    pub(crate) methods: Vec<Method>,
    /// What authenticators were asked.
    pub(crate) pending: Option<credentials::PendingAssertion>,
    /// The session that waits for the factor.
    pub(crate) session: Option<SessionId>,
    /// When the session is over at the latest: the identity provider says so.
    #[serde(default)]
    pub(crate) not_after: Option<Timestamp>,
    /// Whether it began with a link: whoever has that is not told for the owner.
    #[serde(default)]
    pub(crate) by_link: bool,
}

/// How far a sign-in has come.
pub(crate) enum Step {
    /// All the way.
    SignedIn(Box<Entered>),
    /// A second factor is asked for.
    FactorAsked { ticket: Minted, factors: Vec<&'static str>, webauthn: Option<Value> },
    /// A second factor has to be enrolled first.
    EnrolmentAsked { ticket: Minted, entered: Box<Entered> },
}

/// A session that has begun.
pub(crate) struct Entered {
    pub(crate) session: Session,
    pub(crate) person: Person,
    pub(crate) absolute_days: i64,
    /// What the person is to be told.
    pub(crate) notice: Option<String>,
}

/// An answer of signing in. Which members there are depends on `status`.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignInAnswer {
    /// `SIGNED_IN`, `MFA_REQUIRED`, `ENROLMENT_REQUIRED` or `TENANT_CHOICE`.
    #[schema(value_type = values::SignInStatus)]
    pub(crate) status: &'static str,
    /// Goes on to the next step, for 10 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) ticket: Option<String>,
    /// The factors that may be proved: `WEBAUTHN`, `TOTP`, `RECOVERY_CODE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Vec<super::codes::FactorName>>)]
    pub(crate) factors: Option<Vec<&'static str>>,
    /// PublicKeyCredentialRequestOptionsJSON, where `WEBAUTHN` is among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub(crate) webauthn: Option<Value>,
    /// The tenants to choose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) tenants: Option<Vec<TenantName>>,
    /// What happened since the last sign-in: `PASSWORD_RESET` or `FACTORS_RESET` by an administrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) notice: Option<String>,
}

/// A tenant to choose.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TenantName {
    /// Its short name, to be sent back.
    pub(crate) slug: String,
    /// Its name for people to read.
    pub(crate) name: String,
}

/// After the first factor of a person of the unit of work's tenant: in, or what is asked for next.
pub(crate) async fn start(
    site: &web::Data<Site>,
    ctx: &Ctx,
    tx: &mut Tx,
    held: Held,
    proved: Proved,
    device: &Device,
) -> Result<Audited<Step>, Problem> {
    if let Some(factors) = to_ask(tx, &held).await? {
        return ask(site, ctx, tx, &held.person.id, proved, &factors).await;
    }
    let standing = if held.policy.mfa.required { Standing::Owing } else { Standing::Full };
    enter(ctx, tx, held, proved, standing, device).await
}

/// The factors that a person is asked for after the first: one of these, or a recovery code; `None` where there is
/// nothing to ask for.
async fn to_ask(tx: &mut Tx, held: &Held) -> Result<Option<Vec<Factor>>, Problem> {
    let (user, policy) = (&held.person.id, &held.policy);
    let mut factors = tx.factors(user).await?;
    factors.retain(Factor::is_verified);
    if factors.is_empty() {
        // The codes stand in for the factors that were removed: the password alone enrols no new one.
        let by_code = policy.mfa.required && tx.unused_codes(user).await? > 0;
        return Ok(by_code.then_some(factors));
    }
    let accepted = |factor: &Factor| policy.mfa.accepts(factor.kind());
    // Who has none that counts is asked for the one there is: less would be less than before the policy.
    let any = !factors.iter().any(accepted);
    factors.retain(|factor| any || accepted(factor));
    Ok(Some(factors))
}

/// Asks once more what a ticket waits for, of whoever has its text: it stays the ticket it is, with the answers that were
/// wrong and the time that it has left.
pub(crate) async fn ask_again(
    site: &web::Data<Site>,
    tx: &mut Tx,
    held: &Held,
    mut kept: Ticket,
    text: String,
) -> Result<Audited<Step>, Problem> {
    let factors = to_ask(tx, held).await?.ok_or_else(ticket::invalid)?;
    let mut proved: Proved = serde_json::from_value(kept.state.clone()).map_err(Problem::unforeseen)?;
    let (names, webauthn) = asked(site, tx, &held.person.id, &mut proved, &factors).await?;
    kept.state = serde_json::to_value(&proved).map_err(Problem::unforeseen)?;
    tx.update_ticket(&kept).await?;
    let step = Step::FactorAsked { ticket: Minted(text), factors: names, webauthn };
    Ok(Audited::without(step, audit::Unaudited::StepTaken))
}

/// Whether a sign-in that was begun so may still come to its end: the tenant may have closed that way since.
pub(crate) fn still_open(held: &Held, methods: &[Method]) -> Result<(), Problem> {
    let (policy, begun) = (&held.policy, methods.first());
    if begun == Some(&Method::Sso) && policy.sign_in_mode == SignInMode::CredentialsOnly {
        return Err(Problem::sso_not_allowed());
    }
    if begun == Some(&Method::Password) && policy.requires_sso(held.person.break_glass) {
        return Err(Problem::sso_required());
    }
    Ok(())
}

/// Asks for one of these factors; without any, for a recovery code.
async fn ask(
    site: &web::Data<Site>,
    ctx: &Ctx,
    tx: &mut Tx,
    user: &UserId,
    mut proved: Proved,
    factors: &[Factor],
) -> Result<Audited<Step>, Problem> {
    let (names, webauthn) = asked(site, tx, user, &mut proved, factors).await?;
    let state = serde_json::to_value(&proved).map_err(Problem::unforeseen)?;
    let ticket = ticket::mint(ctx, tx, TicketKind::Factor, user, state).await?;
    let step = Step::FactorAsked { ticket, factors: names, webauthn };
    Ok(Audited::without(step, audit::Unaudited::StepTaken))
}

/// The names of the factors, and what authenticators are asked, which is noted with what was proved.
async fn asked(
    site: &web::Data<Site>,
    tx: &mut Tx,
    user: &UserId,
    proved: &mut Proved,
    factors: &[Factor],
) -> Result<(Vec<&'static str>, Option<Value>), Problem> {
    let of_kind = |kind: FactorKind| factors.iter().any(|factor| factor.kind() == kind);
    let mut names = Vec::new();
    let mut webauthn = None;
    if of_kind(FactorKind::Webauthn) {
        let passkeys: Vec<Passkey> = factors.iter().filter_map(Factor::passkey).cloned().collect();
        let begun = site.auth.passkeys()?.begin_assertion(&passkeys);
        let (options, pending) = begun.map_err(Problem::unforeseen)?;
        names.push("WEBAUTHN");
        webauthn = Some(options);
        proved.pending = Some(pending);
    }
    if of_kind(FactorKind::Totp) {
        names.push("TOTP");
    }
    if tx.unused_codes(user).await? > 0 {
        names.push("RECOVERY_CODE");
    }
    Ok((names, webauthn))
}

/// Begins the session, or completes the one that waits.
pub(crate) async fn enter(
    ctx: &Ctx,
    tx: &mut Tx,
    held: Held,
    proved: Proved,
    standing: Standing,
    device: &Device,
) -> Result<Audited<Step>, Problem> {
    let Held { person, policy } = held;
    let user = &person.id.clone();
    let by_link = proved.by_link;
    let grace = proved.methods.contains(&Method::RecoveryCode).then_some(GraceKind::Recovery);
    let mut events = Vec::new();
    let waiting = match &proved.session {
        None => None,
        Some(id) => tx.session(id).await?.filter(|session| session.revoked_at.is_none()),
    };
    let was_complete = waiting.as_ref().is_some_and(|session| session.standing == Standing::Full);
    let session = match waiting {
        Some(mut session) => {
            // Only what was not proved before makes the sign-in a fresh one.
            let known = session.methods.len();
            for method in &proved.methods {
                if !session.methods.contains(method) {
                    session.proved(*method, ctx.now);
                }
            }
            let opens_more = session.methods.len() > known || session.standing != standing;
            session.standing = standing;
            session.grace = grace.map(|kind| sessions::Grace::new(kind, ctx.now)).or(session.grace);
            tx.update_session(&session).await?;
            if opens_more {
                let old = sessions::renew(ctx, tx, &mut session).await?;
                events.push(signing_in::session_renewed(&session, &old));
            }
            session
        }
        None if proved.session.is_some() => return Err(Problem::session_revoked()),
        None => {
            let new = NewSession {
                user: user.clone(),
                device_label: device.label.clone(),
                location: device.location.clone(),
                standing,
                methods: proved.methods,
                signed_in_at: None,
                foreign: None,
                grace,
                not_after: proved.not_after,
            };
            let Some(session) = sessions::open(ctx, tx, new).await? else { return Err(Problem::internal()) };
            let restricted = standing == Standing::Owing;
            let started = SessionStarted { user: user.to_string(), restricted };
            events.push(Event::new(session.id.as_str(), &started));
            session
        }
    };
    let mut notice = None;
    if standing == Standing::Full && !was_complete {
        events.push(signing_in::signed_in(&session));
        if let Some(origin) = &device.origin {
            events.extend(signing_in::came_from(ctx, tx, &session, origin).await?);
        }
        // Whoever comes from an identity provider is led on at once: they are told the next time.
        if session.methods[..] != [Method::Sso] {
            notice = if by_link {
                // It stays for a sign-in that does not come from the link itself.
                tx.notices(user).await?.into_iter().next()
            } else {
                tx.take_notice(user).await?
            };
        }
    }
    let absolute_days = policy.session.absolute_days;
    let entered = Box::new(Entered { session, person, absolute_days, notice });
    let step = if standing == Standing::Full {
        Step::SignedIn(entered)
    } else {
        let waiting = Proved {
            methods: entered.session.methods.clone(),
            pending: None,
            session: Some(entered.session.id.clone()),
            not_after: None,
            by_link,
        };
        let state = serde_json::to_value(&waiting).map_err(Problem::unforeseen)?;
        let ticket = ticket::mint(ctx, tx, TicketKind::Factor, user, state).await?;
        Step::EnrolmentAsked { ticket, entered }
    };
    Ok(Audited::of_changes(step, events))
}

impl Step {
    /// The session that has begun, or goes on.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        match self {
            Self::SignedIn(entered) | Self::EnrolmentAsked { entered, .. } => Some(&entered.session.id),
            Self::FactorAsked { .. } => None,
        }
    }

    /// Answers the visitor, with cookies where there is a session. A new session replaces the browser's previous one.
    pub(crate) async fn answer(
        self,
        site: &Site,
        visitor: &Visitor,
        tenant: &kernel::TenantId,
    ) -> Result<HttpResponse, Problem> {
        if let Some(begun) = self.session() {
            visitor.end_previous(begun).await;
        }
        self.respond(site, visitor.env(), tenant)
    }

    /// The answer alone, where the visitor's own session goes on.
    pub(crate) fn respond(
        self,
        site: &Site,
        env: &dyn Env,
        tenant: &kernel::TenantId,
    ) -> Result<HttpResponse, Problem> {
        let (shown, entered) = match self {
            Self::SignedIn(entered) => {
                let notice = entered.notice.clone();
                (SignInAnswer { status: "SIGNED_IN", notice, ..SignInAnswer::default() }, Some(entered))
            }
            Self::FactorAsked { ticket, factors, webauthn } => {
                let shown = SignInAnswer {
                    status: "MFA_REQUIRED",
                    ticket: Some(ticket.0),
                    factors: Some(factors),
                    webauthn,
                    ..SignInAnswer::default()
                };
                (shown, None)
            }
            Self::EnrolmentAsked { ticket, entered } => {
                let shown = SignInAnswer {
                    status: "ENROLMENT_REQUIRED",
                    ticket: Some(ticket.0),
                    ..SignInAnswer::default()
                };
                (shown, Some(entered))
            }
        };
        let mut response = answer(&shown);
        if let Some(entered) = entered {
            entered.set_cookies(site, env, tenant, &mut response)?;
        }
        Ok(response)
    }
}

impl Entered {
    /// Adds the cookies of the session to an answer.
    pub(crate) fn set_cookies(
        &self,
        site: &Site,
        env: &dyn Env,
        tenant: &kernel::TenantId,
        response: &mut HttpResponse,
    ) -> Result<(), Problem> {
        let about = cookies::About {
            tenant,
            email: self.person.email.as_ref().map(kernel::Email::as_str),
            name: self.person.display_name.as_deref(),
        };
        cookies::set(&site.pipeline, env, response, &self.session, self.absolute_days, &about)
    }
}
