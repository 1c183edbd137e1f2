//! Authenticates the caller by one credential.
//!
//! If `Authorization` is present, cookies are ignored. Error responses give no reason; the log does.

use actix_web::{
    HttpMessage,
    http::header::{self, HeaderMap},
};
use credentials::SignInMode;
use kernel::{Actor, Ctx, Email, Id, TenantId};
use netpolicy::Surface;
use sessions::Claims;
use sign_in::{Device, NeighbourCookie};
use store::{Across, CredentialKey, ForeignHolder, Holder, Tx};
use tokens::{RawToken, TokenKind};

use super::{
    authority::{AuthenticatedCaller, check_credential, identify, refused},
    gate::Gate,
    request_identity::{Identified, RequestIdentity, RequestOrigin, SESSION_IDLE, user_agent},
};
use crate::{
    caller::Caller,
    cookies, device_bound,
    errors::{Code, Problem},
    network::DeniedCaller,
    pipeline::Pipeline,
};

/// 401: no user, or users of several tenants, have the address in another issuer's token.
fn not_provisioned() -> Problem {
    let message = "No user has this email address. Ask an administrator to invite it.";
    Problem::new(Code::NotProvisioned, message)
}

impl Gate {
    /// Authenticates the caller by the credential in the headers, applies the tenant's policies, and returns its
    /// tenant.
    pub(crate) async fn authenticate(
        &self,
        pipeline: &Pipeline,
        request: &impl HttpMessage,
        headers: &HeaderMap,
        arrival: &RequestOrigin,
        is_sign_out: bool,
    ) -> Result<TenantId, Problem> {
        let (tenant, vouched) = if headers.contains_key(header::AUTHORIZATION) {
            self.by_token(headers).await?
        } else {
            self.by_cookie(pipeline, headers, arrival).await?
        };
        let AuthenticatedCaller { caller, network, policy } = vouched;
        let (actor, who) = identify(&caller);
        let ctx = self.ctx(tenant.clone(), actor, arrival);
        request.extensions_mut().insert(Identified { tenant: tenant.clone(), actor: ctx.actor.id.clone() });
        if let (Caller::Session(signed), false) = (&caller, is_sign_out) {
            device_bound::require(pipeline, &ctx, signed, headers)?;
        }
        // A user may always sign out, whatever the tenant's policies are.
        if !is_sign_out {
            policy?;
            pipeline.networks.admit(&self.store, &ctx, network, &who).await?;
        }
        if !headers.contains_key(SESSION_IDLE) {
            pipeline.last_uses.note(&tenant, &caller, ctx.now, arrival.ip);
        }
        request.extensions_mut().insert(RequestIdentity {
            caller,
            network,
            ctx,
            peer: arrival.peer,
            is_sign_out,
        });
        Ok(tenant)
    }

    async fn by_token(&self, headers: &HeaderMap) -> Result<(TenantId, AuthenticatedCaller), Problem> {
        let mut sent = headers.get_all(header::AUTHORIZATION);
        let (Some(authorization), None) = (sent.next(), sent.next()) else {
            return Err(refused("more than one Authorization header"));
        };
        let bearer = authorization.to_str().ok().and_then(|text| text.split_once(' '));
        let Some((_, token)) = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
            return Err(refused("not a bearer token"));
        };
        let Ok(raw) = RawToken::parse(token.trim()) else { return Err(refused("malformed token")) };
        let key = match raw.kind() {
            TokenKind::Scim | TokenKind::DryRun => CredentialKey::ScimToken(raw.hash()),
            TokenKind::Pat => CredentialKey::Pat(raw.hash()),
            TokenKind::Signals => CredentialKey::Receiver(raw.hash()),
            TokenKind::Ticket | TokenKind::Link | TokenKind::SignalPush => {
                return Err(refused("a token of another type"));
            }
        };
        self.by_key(raw.tenant(), &key).await
    }

    /// Returns the caller of the credential with this key, if it is valid.
    async fn by_key(
        &self,
        tenant: &TenantId,
        key: &CredentialKey,
    ) -> Result<(TenantId, AuthenticatedCaller), Problem> {
        let find = async |across: &mut Across| across.credential(tenant, key).await;
        let found = self.store.across(find).await?;
        Ok((tenant.clone(), check_credential(found, self.env.now())?))
    }

    async fn by_cookie(
        &self,
        pipeline: &Pipeline,
        headers: &HeaderMap,
        arrival: &RequestOrigin,
    ) -> Result<(TenantId, AuthenticatedCaller), Problem> {
        let sent = cookies::RequestCookies::of(headers);
        if sent.has_two_sessions() {
            return Err(refused("two session cookies with the same name"));
        }
        let claims = match pipeline.read_cookie(&*self.env, &sent.pairs()) {
            Ok(Some(claims)) => claims,
            Ok(None) => return Err(refused("no credential")),
            Err(_) => return Err(refused("invalid session cookie")),
        };
        match claims.text("sid") {
            Some(sid) => self.own(&claims, sid, &sent).await,
            // Boxed, because it is rare and large.
            None => Box::pin(self.foreign(pipeline, &claims, headers, arrival)).await,
        }
    }

    /// Authenticates by a session cookie of this server. Its database row decides.
    async fn own(
        &self,
        claims: &Claims,
        sid: &str,
        sent: &cookies::RequestCookies<'_>,
    ) -> Result<(TenantId, AuthenticatedCaller), Problem> {
        let tenant = claims.text("tid").and_then(|tid| tid.parse::<TenantId>().ok());
        let (Some(tenant), Ok(id)) = (tenant, sid.parse::<Id<_>>()) else {
            return Err(refused("a session cookie without a tenant and a session ID"));
        };
        if sent.value(cookies::AS_SID).is_some_and(|mirrored| mirrored != sid) {
            return Err(refused("the session cookies contain different session IDs"));
        }
        self.by_key(&tenant, &CredentialKey::Session(id)).await
    }

    /// Authenticates by a token of a neighboring Auth.js service, for which a session is stored at its first request.
    /// An existing session decides, even if its user's address has changed since.
    async fn foreign(
        &self,
        pipeline: &Pipeline,
        claims: &Claims,
        headers: &HeaderMap,
        arrival: &RequestOrigin,
    ) -> Result<(TenantId, AuthenticatedCaller), Problem> {
        let name = claims.text("tid").or_else(|| claims.text("tenant"));
        let named = async |across: &mut Across| match name {
            None => Ok(Some(None)),
            Some(name) => Ok(across.tenant_named(name).await?.map(|tenant| Some(tenant.id))),
        };
        let Some(named) = self.store.across(named).await? else { return Err(not_provisioned()) };
        let hash = claims.token_hash;
        let email = claims.text("email").and_then(|email| email.parse::<Email>().ok());
        let key = email.map(|email| email.key());
        let find =
            async |across: &mut Across| across.foreign_session(&hash, named.as_ref(), key.as_deref()).await;
        if let Some((tenant, credential)) = self.store.across(find).await? {
            return Ok((tenant, check_credential(Some(credential), self.env.now())?));
        }
        let Some(address) = &key else { return Err(not_provisioned()) };
        let holder = async |across: &mut Across| across.foreign_holder(address, named.as_ref()).await;
        let Some(found) = self.store.across(holder).await? else { return Err(not_provisioned()) };
        let ForeignHolder { holder, tenant, sessions_after } = found;
        if !holder.active {
            return Err(Problem::account_disabled());
        }
        if sessions_after.is_some_and(|until| claims.issued_at <= until) {
            return Err(Problem::session_revoked());
        }
        if holder.policy.sign_in_mode == SignInMode::CredentialsOnly {
            return Err(Problem::sso_not_allowed());
        }
        // A blocked caller gets no session.
        let ctx = self.ctx(tenant.clone(), Actor::user(&holder.user), arrival);
        for surface in [Surface::SignIn, Surface::Dashboard] {
            let who = DeniedCaller::of(&holder, surface);
            pipeline.networks.admit(&self.store, &ctx, holder.network, &who).await?;
        }
        self.begin_foreign(pipeline, claims, &holder, tenant, headers, arrival).await?;
        // Either this session, or one that a concurrent request with the same token has started.
        let Some((tenant, credential)) = self.store.across(find).await? else {
            return Err(refused("the session does not exist"));
        };
        Ok((tenant, check_credential(Some(credential), self.env.now())?))
    }

    async fn begin_foreign(
        &self,
        pipeline: &Pipeline,
        claims: &Claims,
        holder: &Holder,
        tenant: TenantId,
        headers: &HeaderMap,
        arrival: &RequestOrigin,
    ) -> Result<(), Problem> {
        let ctx = self.ctx(tenant, Actor::user(&holder.user), arrival);
        let device = Device::new(user_agent(headers), pipeline.locate(arrival.ip), arrival.ip);
        let cookie = NeighbourCookie {
            user: holder.user.clone(),
            issued_at: claims.issued_at,
            token_hash: claims.token_hash,
        };
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            Ok::<_, Problem>(sign_in::with_neighbour_cookie(ctx, tx, cookie, &device).await?)
        };
        self.store.write(ctx, work).await
    }
}
