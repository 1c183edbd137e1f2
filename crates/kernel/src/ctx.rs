//! What one operation knows about itself.

use std::{net::IpAddr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Env, TenantId, Timestamp, TraceContext, UserId};

/// The type of actor in an audit entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ActorKind {
    /// A person, signed in or by a personal access token.
    User,
    /// An identity provider, by its SCIM token.
    Scim,
    /// The operator's command line or the service itself.
    System,
    /// An identity provider, by a SAML assertion.
    Saml,
}

impl ActorKind {
    /// As written in audit entries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "USER",
            Self::Scim => "SCIM",
            Self::System => "SYSTEM",
            Self::Saml => "SAML",
        }
    }
}

/// The one on whose behalf an operation runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// What kind of actor.
    pub kind: ActorKind,
    /// The user's, token's or provider's id; for the system the name of what acts.
    pub id: String,
}

impl Actor {
    /// A user as the actor.
    pub fn user(id: &UserId) -> Self {
        Self { kind: ActorKind::User, id: id.to_string() }
    }

    /// A SCIM token, by its id.
    pub fn scim(token_id: impl Into<String>) -> Self {
        Self { kind: ActorKind::Scim, id: token_id.into() }
    }

    /// An identity provider, by its id.
    pub fn saml(provider_id: impl Into<String>) -> Self {
        Self { kind: ActorKind::Saml, id: provider_id.into() }
    }

    /// The operator or a worker, by the name of the program part.
    pub fn system(name: impl Into<String>) -> Self {
        Self { kind: ActorKind::System, id: name.into() }
    }
}

/// One operation: whose, by whom, from where, when. There is one `now` in it, so that all it writes agrees.
#[derive(Clone)]
pub struct Ctx {
    /// The tenant it happens in.
    pub tenant: TenantId,
    /// Who performs the operation.
    pub actor: Actor,
    /// What ties the answer to the log; `None` outside a request.
    pub request_id: Option<String>,
    /// The trace it is part of; what is sent to others on its behalf names it.
    pub trace: Option<TraceContext>,
    /// The client's address where it is known.
    pub ip: Option<IpAddr>,
    /// When the operation began.
    pub now: Timestamp,
    /// Ids and randomness.
    pub env: Arc<dyn Env>,
}

impl Ctx {
    /// A context without a request; `now` is read from `env` once.
    pub fn new(env: Arc<dyn Env>, tenant: TenantId, actor: Actor) -> Self {
        Self { tenant, actor, request_id: None, trace: None, ip: None, now: env.now(), env }
    }
}
