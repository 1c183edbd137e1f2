//! The context of one operation: tenant, actor, request and time.

use std::{net::IpAddr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Env, SystemEnv, TenantId, Timestamp, TraceContext, UserId};

/// Type of actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "openapi", schema(as = ActorType))]
pub enum ActorKind {
    /// A user, signed in or with a personal access token.
    User,
    /// An identity provider with its SCIM token.
    Scim,
    /// The operator's command line or the service itself.
    System,
    /// An identity provider with a SAML assertion.
    Saml,
    /// An identity provider with an ID token of OpenID Connect.
    Oidc,
}

impl ActorKind {
    /// Returns the name in audit entries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "USER",
            Self::Scim => "SCIM",
            Self::System => "SYSTEM",
            Self::Saml => "SAML",
            Self::Oidc => "OIDC",
        }
    }
}

/// The actor on whose behalf an operation runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The type of actor.
    pub kind: ActorKind,
    /// The id of the user, token or provider; for the system, the name of the acting component.
    pub id: String,
}

impl Actor {
    /// Creates a user as the actor.
    pub fn user(id: &UserId) -> Self {
        Self { kind: ActorKind::User, id: id.to_string() }
    }

    /// Creates a SCIM token as the actor, by its id.
    pub fn scim(token_id: impl Into<String>) -> Self {
        Self { kind: ActorKind::Scim, id: token_id.into() }
    }

    /// Creates an identity provider as the actor, by its id.
    pub fn saml(provider_id: impl Into<String>) -> Self {
        Self { kind: ActorKind::Saml, id: provider_id.into() }
    }

    /// Creates an OpenID provider as the actor, by its id.
    pub fn oidc(provider_id: impl Into<String>) -> Self {
        Self { kind: ActorKind::Oidc, id: provider_id.into() }
    }

    /// Creates the operator or a worker as the actor, by the name of the component.
    pub fn system(name: impl Into<String>) -> Self {
        Self { kind: ActorKind::System, id: name.into() }
    }
}

/// The context of one operation. It has a single `now`, so that everything the operation writes has the same time.
#[derive(Clone)]
pub struct Ctx {
    /// The tenant that the operation works in.
    pub tenant: TenantId,
    /// Who performs the operation.
    pub actor: Actor,
    /// The request id, which appears in the response and the log; `None` outside a request.
    pub request_id: Option<String>,
    /// The trace that the operation belongs to. Requests it sends carry this context.
    pub trace: Option<TraceContext>,
    /// The client's address, if known.
    pub ip: Option<IpAddr>,
    /// When the operation began.
    pub now: Timestamp,
    /// The source of ids and randomness.
    pub env: Arc<dyn Env>,
}

impl Ctx {
    /// Creates a context of this process, with the system's clock and randomness. `name` is the acting component.
    pub fn system(tenant: TenantId, name: impl Into<String>) -> Self {
        Self::new(Arc::new(SystemEnv::default()), tenant, Actor::system(name))
    }

    /// Creates a context without a request. Reads `now` from `env` once.
    pub fn new(env: Arc<dyn Env>, tenant: TenantId, actor: Actor) -> Self {
        Self { tenant, actor, request_id: None, trace: None, ip: None, now: env.now(), env }
    }
}
