//! Proving the caller: by the one credential that counts.
//!
//! `Authorization` comes first, and then cookies are ignored. Refusals tell the caller nothing and the log why.

use std::sync::Arc;

use actix_web::{
    HttpMessage,
    http::header::{self, HeaderMap},
};
use audit::{Audited, Event, events::sign_in::SessionStarted};
use credentials::{FactorStore, SignInMode, SignInPolicy, attempts};
use kernel::{Actor, Ctx, Email, Id, TenantId};
use netpolicy::Surface;
use sessions::{Claims, Lifetime, Method, NewSession, Session, SessionStore, Standing, device_label};
use store::{Across, ForeignHolder, Holder, NetworkMark, Tx};
use tokens::{RawToken, TokenKind};

use super::{Arrival, ByPat, Caller, Gate, Pass, Signed};
use crate::http::{
    Site,
    auth::{came_from, hold},
    cookies,
    errors::Problem,
    network::{self, Who},
    user_agent,
};

/// A refusal that tells the caller nothing and the log why.
fn refused(why: &'static str) -> Problem {
    tracing::debug!(why, "a credential was refused");
    Problem::unauthenticated()
}

/// How long sessions last under a policy.
pub(crate) fn lifetime(policy: &SignInPolicy) -> Lifetime {
    let session = policy.session;
    Lifetime { idle_minutes: session.idle_minutes, absolute_days: session.absolute_days }
}

fn sso_not_allowed() -> Problem {
    Problem::refused("SSO_NOT_ALLOWED", "this tenant takes e-mail and password alone")
}

/// What the tenant asks for today counts for sessions that began before.
fn meet_policy(signed: &mut Signed) -> Result<(), Problem> {
    let (policy, methods) = (&signed.holder.policy, &signed.session.methods);
    let sso = methods.contains(&Method::Sso);
    // What began it decides: a factor of ours after another's word does not make it ours.
    if policy.sign_in_mode == SignInMode::CredentialsOnly && methods.first() == Some(&Method::Sso) {
        return Err(sso_not_allowed());
    }
    if policy.mfa.required && !signed.session.has_second_factor() && !(sso && policy.mfa.trust_sso_mfa) {
        signed.session.standing = Standing::Owing;
    }
    Ok(())
}

impl Gate {
    /// Proves the caller by the credential in the headers and lets the request in: the tenant's id.
    pub(in crate::http) async fn authenticate(
        &self,
        site: &Site,
        request: &impl HttpMessage,
        headers: &HeaderMap,
        arrival: &Arrival,
    ) -> Result<TenantId, Problem> {
        let (tenant, caller, network) = if headers.contains_key(header::AUTHORIZATION) {
            self.by_token(headers).await?
        } else {
            let (tenant, signed) = self.by_cookie(site, headers, arrival).await?;
            let network = signed.holder.network;
            (tenant, Caller::Session(Arc::new(signed)), network)
        };
        let (actor, surface, who) = match &caller {
            Caller::Scim(token) => {
                let id = token.id.as_str();
                (Actor::scim(id.to_owned()), Surface::Api, Who { id, admin: false })
            }
            Caller::Session(signed) => {
                (Actor::user(&signed.holder.user), Surface::Dashboard, Who::of(&signed.holder))
            }
            Caller::Pat(by) => (Actor::user(&by.holder.user), Surface::Api, Who::of(&by.holder)),
        };
        let ctx = self.ctx(tenant.clone(), actor, arrival);
        site.networks.admit(&self.store, &ctx, network, surface, &who).await?;
        site.last_uses.note(&tenant, &caller, ctx.now, arrival.ip);
        request.extensions_mut().insert(Pass { caller, ctx, peer: arrival.peer });
        Ok(tenant)
    }

    pub(super) fn ctx(&self, tenant: TenantId, actor: Actor, arrival: &Arrival) -> Ctx {
        Ctx {
            tenant,
            actor,
            request_id: Some(arrival.request_id.clone()),
            trace: Some(arrival.trace.clone()),
            ip: arrival.ip,
            now: self.env.now(),
            env: Arc::clone(&self.env),
        }
    }

    async fn by_token(&self, headers: &HeaderMap) -> Result<(TenantId, Caller, NetworkMark), Problem> {
        let mut sent = headers.get_all(header::AUTHORIZATION);
        let (Some(authorization), None) = (sent.next(), sent.next()) else {
            return Err(refused("given twice"));
        };
        let bearer = authorization.to_str().ok().and_then(|text| text.split_once(' '));
        let Some((_, token)) = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
            return Err(refused("not a bearer token"));
        };
        let Ok(raw) = RawToken::parse(token.trim()) else { return Err(refused("malformed token")) };
        let (tenant, hash) = (raw.tenant(), raw.hash());
        match raw.kind() {
            TokenKind::Scim => {
                let find = async |across: &mut Across| across.scim_token(tenant, &hash).await;
                let Some((token, network)) = self.store.across(find).await? else {
                    return Err(refused("unknown token"));
                };
                if token.revoked_at.is_some() {
                    tracing::info!(token = %token.id, %tenant, "a revoked token was presented");
                    return Err(Problem::unauthenticated());
                }
                Ok((tenant.clone(), Caller::Scim(Arc::new(token)), network))
            }
            TokenKind::Pat => {
                let find = async |across: &mut Across| across.pat(tenant, &hash).await;
                let Some((pat, holder)) = self.store.across(find).await? else {
                    return Err(refused("unknown token"));
                };
                if !pat.is_live(self.env.now()) || holder.deleted {
                    tracing::info!(token = %pat.id, %tenant, "a revoked or expired token was presented");
                    return Err(Problem::unauthenticated());
                }
                if !holder.active {
                    return Err(Problem::account_disabled());
                }
                let network = holder.network;
                Ok((tenant.clone(), Caller::Pat(Arc::new(ByPat { pat, holder })), network))
            }
            TokenKind::Ticket | TokenKind::Link => Err(refused("a token of another kind")),
        }
    }

    async fn by_cookie(
        &self,
        site: &Site,
        headers: &HeaderMap,
        arrival: &Arrival,
    ) -> Result<(TenantId, Signed), Problem> {
        let sent = cookies::Sent::of(headers);
        let claims = match site.keys.read_cookie(&*self.env, site.cookie_name, &sent.pairs()) {
            Ok(Some(claims)) => claims,
            Ok(None) => return Err(refused("no credential")),
            Err(_) => return Err(refused("not a session cookie of ours")),
        };
        let mut signed = match claims.text("sid") {
            Some(sid) => self.own(&claims, sid, &sent).await?,
            // Rare and large: on its own.
            None => Box::pin(self.foreign(site, &claims, headers, arrival)).await?,
        };
        meet_policy(&mut signed.1)?;
        Ok(signed)
    }

    /// A token of ours: its row decides.
    async fn own(
        &self,
        claims: &Claims,
        sid: &str,
        sent: &cookies::Sent<'_>,
    ) -> Result<(TenantId, Signed), Problem> {
        let tenant = claims.text("tid").and_then(|tid| tid.parse::<TenantId>().ok());
        let (Some(tenant), Ok(id)) = (tenant, sid.parse::<Id<_>>()) else {
            return Err(refused("a session cookie without a session"));
        };
        if sent.value(cookies::AS_SID).is_some_and(|mirrored| mirrored != sid) {
            return Err(refused("the session cookies name different sessions"));
        }
        let find = async |across: &mut Across| across.session(&tenant, &id).await;
        let Some((session, holder)) = self.store.across(find).await? else {
            return Err(refused("unknown session"));
        };
        self.in_force(&session, &holder)?;
        Ok((tenant, Signed { session, holder }))
    }

    fn in_force(&self, session: &Session, holder: &Holder) -> Result<(), Problem> {
        if !holder.active && !holder.deleted {
            return Err(Problem::account_disabled());
        }
        if session.revoked_at.is_some() || holder.deleted {
            return Err(Problem::session_revoked());
        }
        if lifetime(&holder.policy).is_over(session, self.env.now()) {
            return Err(refused("the session is over"));
        }
        Ok(())
    }

    /// A token of a neighbouring Auth.js: it stands for a row of ours, made at its first request.
    async fn foreign(
        &self,
        site: &Site,
        claims: &Claims,
        headers: &HeaderMap,
        arrival: &Arrival,
    ) -> Result<(TenantId, Signed), Problem> {
        let not_provisioned = || {
            Problem::refused(
                "NOT_PROVISIONED",
                "no person of a tenant has this address; an administrator can invite it",
            )
        };
        let email = claims.text("email").and_then(|email| email.parse::<Email>().ok());
        let Some(email) = email else { return Err(not_provisioned()) };
        let key = email.key();
        let name = claims.text("tid").or_else(|| claims.text("tenant"));
        let hash = claims.token_hash;
        let find = async |across: &mut Across| {
            let tenant = match name {
                None => None,
                Some(name) => match across.tenant_named(name).await? {
                    None => return Ok(None),
                    Some(tenant) => Some(tenant.id),
                },
            };
            across.foreign(&key, tenant.as_ref(), &hash).await
        };
        let Some(found) = self.store.across(find).await? else { return Err(not_provisioned()) };
        let ForeignHolder { holder, tenant, sessions_after, session } = found;
        if let Some(session) = session {
            // The address may have become another person's since.
            if session.user != holder.user {
                return Err(refused("the address is another person's now"));
            }
            self.in_force(&session, &holder)?;
            return Ok((tenant, Signed { session, holder }));
        }
        if !holder.active {
            return Err(Problem::account_disabled());
        }
        if sessions_after.is_some_and(|until| claims.issued_at <= until) {
            return Err(Problem::session_revoked());
        }
        if holder.policy.sign_in_mode == SignInMode::CredentialsOnly {
            return Err(sso_not_allowed());
        }
        // Who is not let in gets no session.
        let ctx = self.ctx(tenant.clone(), Actor::user(&holder.user), arrival);
        let who = Who::of(&holder);
        for surface in [Surface::SignIn, Surface::Dashboard] {
            site.networks.admit(&self.store, &ctx, holder.network, surface, &who).await?;
        }
        let made = self.begin_foreign(site, claims, &holder, tenant.clone(), headers, arrival).await?;
        // Another request with the same token may have been first.
        let session = match made {
            Some(session) => session,
            None => match self.store.across(find).await?.and_then(|found| found.session) {
                Some(session) => session,
                None => return Err(refused("the session is not there")),
            },
        };
        self.in_force(&session, &holder)?;
        Ok((tenant, Signed { session, holder }))
    }

    async fn begin_foreign(
        &self,
        site: &Site,
        claims: &Claims,
        holder: &Holder,
        tenant: TenantId,
        headers: &HeaderMap,
        arrival: &Arrival,
    ) -> Result<Option<Session>, Problem> {
        let ctx = self.ctx(tenant, Actor::user(&holder.user), arrival);
        let (user, issued_at) = (holder.user.clone(), claims.issued_at);
        let mut new = NewSession {
            user: user.clone(),
            device_label: device_label(user_agent(headers)),
            location: site.locate(arrival.ip),
            standing: Standing::Full,
            methods: vec![Method::Sso],
            signed_in_at: Some(claims.issued_at),
            foreign: Some(claims.token_hash),
            grace: None,
            not_after: None,
        };
        let origin = arrival.ip.map(|ip| attempts::origin(Some(ip)));
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            // Since the look-up the person may have been shut out, or the way closed.
            let held = hold(tx, &user).await?;
            if tx.refused_until(&user).await?.is_some_and(|until| issued_at <= until) {
                return Err(Problem::session_revoked());
            }
            if held.policy.sign_in_mode == SignInMode::CredentialsOnly {
                return Err(sso_not_allowed());
            }
            network::admit_sign_in(ctx, tx, &held.person).await?;
            let policy = held.policy.mfa;
            let has_factor = tx.factors(&user).await?.iter().any(credentials::Factor::is_verified);
            if (policy.required || has_factor) && !policy.trust_sso_mfa {
                new.standing = Standing::Owing;
            }
            let Some(session) = sessions::open(ctx, tx, new).await? else {
                return Ok(Audited::without(None, audit::Unaudited::NothingChanged));
            };
            let restricted = session.standing == Standing::Owing;
            let data = SessionStarted { user: user.to_string(), restricted };
            let started = Event::new(session.id.as_str(), &data);
            let mut events = vec![started];
            if !restricted {
                events.push(crate::events::signed_in(&session));
                if let Some(origin) = &origin {
                    events.extend(came_from(ctx, tx, &session, origin).await?);
                }
            }
            Ok::<_, Problem>(Audited::of_changes(Some(session), events))
        };
        self.store.write(ctx, work).await
    }
}
