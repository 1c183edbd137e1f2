//! The SCIM protocol for any HTTP framework: takes a method, path, query and body; returns a status, location and
//! body.

mod config;
#[cfg(feature = "http")]
mod http;
mod resources;
mod token;

use kernel::Ctx;
use serde_json::Value;

use self::resources::Resources;
use crate::{
    Error, OnExisting, ScimStore, Start, UserStore, error_body, list_response,
    location::id_of,
    schema::{RESOURCE_TYPES, ResourceType, SCHEMAS, Schema, USERS, resource_type, schema_resource},
};

pub use config::{AuthenticationScheme, ProviderConfig, service_provider_config};
pub use token::{BearerToken, InvalidBearerToken};

/// A request whose credentials have been checked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: &'a str,
    /// The path below the SCIM root, such as `/Users/usr_1`.
    pub path: &'a str,
    /// The query string, without `?`.
    pub query: &'a str,
    /// The body; empty if there is none.
    pub body: &'a [u8],
}

/// A response, sent as `application/scim+json`.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<String>,
    /// The body, if any.
    pub body: Option<Value>,
    /// Why the request failed, for your log. A storage error is not described in the body.
    pub error: Option<Error>,
}

/// A SCIM endpoint over your own storage. Run each request in one transaction: commit if the status is below 400,
/// roll back otherwise.
pub struct Service<'s> {
    base: &'s str,
    store: Resources<'s>,
    on_existing: OnExisting,
    config: ProviderConfig,
}

impl Answer {
    /// Returns the body as text; empty if there is none.
    pub fn text(&self) -> String {
        self.body.as_ref().map(Value::to_string).unwrap_or_default()
    }

    /// Returns the headers and their values.
    pub fn headers(&self) -> Vec<(&'static str, &str)> {
        let kind = self.body.as_ref().map(|_| ("Content-Type", "application/scim+json"));
        let location = self.location.as_deref().map(|location| ("Location", location));
        let challenge = (self.status == 401).then_some(("WWW-Authenticate", "Bearer"));
        kind.into_iter().chain(location).chain(challenge).collect()
    }

    /// Returns the response to a request without valid credentials (RFC 7644 §2). [`BearerToken::check`] returns it.
    pub fn unauthorized() -> Self {
        let body = error_body(401, None, "The bearer token is missing or invalid.");
        Self { status: 401, location: None, body: Some(body), error: None }
    }

    fn ok(body: Value) -> Self {
        Self { status: 200, location: None, body: Some(body), error: None }
    }

    fn resource(status: u16, location: String, body: Value) -> Self {
        Self { status, location: Some(location), body: Some(body), error: None }
    }

    fn no_content() -> Self {
        Self { status: 204, location: None, body: None, error: None }
    }

    fn method_not_allowed() -> Self {
        let body = error_body(405, None, "This resource does not support this method.");
        Self { status: 405, location: None, body: Some(body), error: None }
    }

    /// Returns the response for an error (RFC 7644 §3.12).
    pub fn error(error: Error) -> Self {
        let detail = match &error {
            // Storage details belong in your log and are not sent to the client.
            Error::Store(_) => "The service is temporarily unavailable. Try again.".to_owned(),
            other => other.to_string(),
        };
        let body = error_body(error.status(), error.scim_type(), &detail);
        Self { status: error.status(), location: None, body: Some(body), error: Some(error) }
    }
}

impl<'s> Service<'s> {
    /// Serves users and groups. `base` is the URL of the SCIM root without a trailing slash.
    pub fn new(base: &'s str, store: &'s mut dyn ScimStore) -> Self {
        Self::over(base, Resources::UsersAndGroups(store))
    }

    /// Serves users without groups.
    pub fn of_users(base: &'s str, store: &'s mut dyn UserStore) -> Self {
        Self::over(base, Resources::Users(store))
    }

    fn over(base: &'s str, store: Resources<'s>) -> Self {
        Self { base, store, on_existing: OnExisting::Refuse, config: ProviderConfig::default() }
    }

    /// Sets the response when a created user already exists; [`OnExisting::Refuse`] by default.
    #[must_use]
    pub fn on_existing(self, on_existing: OnExisting) -> Self {
        Self { on_existing, ..self }
    }

    /// Sets what `/ServiceProviderConfig` says about this service.
    #[must_use]
    pub fn config(self, config: ProviderConfig) -> Self {
        Self { config, ..self }
    }

    /// Handles a request. Errors become error responses, and are in [`Answer::error`] for your log.
    pub async fn answer(&mut self, ctx: &Ctx, request: Request<'_>) -> Answer {
        let answer = self.route(ctx, request).await;
        answer.unwrap_or_else(Answer::error)
    }

    async fn route(&mut self, ctx: &Ctx, request: Request<'_>) -> Result<Answer, Error> {
        let mut segments = request.path.trim_matches('/').splitn(2, '/');
        let (area, id) = (segments.next().unwrap_or_default(), segments.next());
        let id = id.map(|segment| id_of(segment).ok_or(Error::NotFound)).transpose()?;
        match (area, id.as_deref()) {
            ("Users", id) => self.users(ctx, request, id).await,
            ("Groups", id) => self.groups(ctx, request, id).await,
            ("ServiceProviderConfig" | "Schemas" | "ResourceTypes", _) if request.method != "GET" => {
                Ok(Answer::method_not_allowed())
            }
            ("ServiceProviderConfig", None) => {
                Ok(Answer::ok(service_provider_config(self.base, &self.config)))
            }
            ("Schemas", id) => self.schemas(id),
            ("ResourceTypes", id) => self.resource_types(id),
            _ => Err(Error::NotFound),
        }
    }

    fn types(&self) -> Vec<&'static ResourceType> {
        match self.store {
            Resources::Users(_) => vec![&USERS],
            Resources::UsersAndGroups(_) => RESOURCE_TYPES.into_iter().collect(),
        }
    }

    fn schemas(&self, id: Option<&str>) -> Result<Answer, Error> {
        let types = self.types();
        let mut served =
            SCHEMAS.iter().filter(|one| types.iter().any(|kind| kind.schemas().any(|own| own.id == one.id)));
        let show = |schema: &&Schema| schema_resource(schema, self.base);
        let Some(id) = id else { return Ok(whole_list(served.map(show).collect())) };
        let found = served.find(|schema| schema.id.eq_ignore_ascii_case(id));
        Ok(Answer::ok(show(found.ok_or(Error::NotFound)?)))
    }

    fn resource_types(&self, id: Option<&str>) -> Result<Answer, Error> {
        let mut shown = self.types().into_iter().map(|kind| resource_type(kind, self.base));
        let Some(id) = id else { return Ok(whole_list(shown.collect())) };
        let found = shown.find(|kind| kind.get("id").and_then(Value::as_str) == Some(id));
        Ok(Answer::ok(found.ok_or(Error::NotFound)?))
    }
}

fn whole_list(resources: Vec<Value>) -> Answer {
    Answer::ok(list_response(resources.len() as u64, &Start::Index(1), None, resources))
}
