//! The SCIM protocol for any HTTP framework: takes a method, path, query and body; returns a status, location and
//! body.

mod config;

use kernel::Ctx;
use serde_json::Value;

use crate::{
    Error, OnExisting, Params, Patch, Start, User, UserDraft, UserStore, error_body, list_response,
    schema::{USERS, resource_type, schema_resource},
    users::{self, CreatedUser},
};

pub use config::service_provider_config;

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
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<String>,
    /// The body, if any.
    pub body: Option<Value>,
}

/// A SCIM endpoint over your own storage. Run each request in one transaction: commit if the status is below 400,
/// roll back otherwise.
pub struct Service<'s> {
    /// The URL of the SCIM root without a trailing slash.
    pub base: &'s str,
    /// The response when a created user already exists.
    pub on_existing: OnExisting,
    /// The user store.
    pub users: &'s mut dyn UserStore,
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
        kind.into_iter().chain(location).collect()
    }

    fn ok(body: Value) -> Self {
        Self { status: 200, location: None, body: Some(body) }
    }

    /// Returns the response for an error (RFC 7644 §3.12).
    pub fn error(error: &Error) -> Self {
        let detail = match error {
            // Storage details belong in your log and are not sent to the client.
            Error::Store(_) => "The service is temporarily unavailable. Try again.".to_owned(),
            other => other.to_string(),
        };
        let body = error_body(error.status(), error.scim_type(), &detail);
        Self { status: error.status(), location: None, body: Some(body) }
    }
}

impl Service<'_> {
    /// Handles a request. Errors become error responses.
    pub async fn answer(&mut self, ctx: &Ctx, request: Request<'_>) -> Answer {
        let answer = self.route(ctx, request).await;
        answer.unwrap_or_else(|error| Answer::error(&error))
    }

    async fn route(&mut self, ctx: &Ctx, request: Request<'_>) -> Result<Answer, Error> {
        let mut segments = request.path.trim_matches('/').splitn(2, '/');
        let (area, id) = (segments.next().unwrap_or_default(), segments.next());
        match (request.method, area, id) {
            ("GET", "ServiceProviderConfig", None) => Ok(Answer::ok(service_provider_config(self.base))),
            ("GET", "Schemas", None) => {
                let schemas = USERS.schemas().map(|schema| schema_resource(schema, self.base));
                Ok(Answer::ok(whole_list(schemas.collect())))
            }
            ("GET", "ResourceTypes", None) => {
                Ok(Answer::ok(whole_list(vec![resource_type(&USERS, self.base)])))
            }
            ("GET", "Schemas", Some(id)) => {
                let schema = USERS.schemas().find(|schema| schema.id.eq_ignore_ascii_case(id));
                Ok(Answer::ok(schema_resource(schema.ok_or(Error::NotFound)?, self.base)))
            }
            ("GET", "ResourceTypes", Some("User")) => Ok(Answer::ok(resource_type(&USERS, self.base))),
            ("GET", "Users", None) => self.list(&Params::of_query(request.query)).await,
            ("POST", "Users", Some(".search")) => self.list(&Params::of_search(&read(request.body)?)?).await,
            ("POST", "Users", None) => self.create(ctx, request).await,
            (method @ ("GET" | "PUT" | "PATCH" | "DELETE"), "Users", Some(id)) => {
                self.one(ctx, method, id, request).await
            }
            (_, "ServiceProviderConfig" | "Schemas" | "ResourceTypes" | "Users", _)
                if request.method != "GET" =>
            {
                let detail = "This resource does not support this method.";
                let body = error_body(405, None, detail);
                Ok(Answer { status: 405, location: None, body: Some(body) })
            }
            _ => Err(Error::NotFound),
        }
    }

    async fn list(&mut self, params: &Params) -> Result<Answer, Error> {
        let (query, projection) = (params.query(&USERS)?, params.projection(&USERS));
        let found = users::list(self.users, &query, projection.wants("groups")).await?;
        let next = found.next_cursor(&query, |user| user.id.as_str());
        let resources = found.resources.into_iter().map(|user| projection.of(user.into_json(self.base)));
        Ok(Answer::ok(list_response(found.total, &query.page.start, next, resources.collect())))
    }

    async fn create(&mut self, ctx: &Ctx, request: Request<'_>) -> Result<Answer, Error> {
        let draft = UserDraft::read(&read(request.body)?)?;
        match users::create(ctx, self.users, draft, self.on_existing).await? {
            CreatedUser::New(user) => Ok(self.user(201, user, request)),
            CreatedUser::Existing(user) => Ok(self.user(200, user, request)),
        }
    }

    async fn one(
        &mut self,
        ctx: &Ctx,
        method: &str,
        id: &str,
        request: Request<'_>,
    ) -> Result<Answer, Error> {
        let known = id.parse().map_err(|_| Error::NotFound);
        let user = match method {
            "PUT" => {
                let draft = UserDraft::read(&read(request.body)?)?;
                draft.require_user_name()?;
                users::replace(ctx, self.users, &known?, draft).await?.user
            }
            "PATCH" => {
                let patch = Patch::read(&USERS, &read(request.body)?)?;
                users::patch(ctx, self.users, &known?, &patch).await?.user
            }
            "DELETE" => {
                users::delete(ctx, self.users, &known?).await?;
                return Ok(Answer { status: 204, location: None, body: None });
            }
            _ => users::get(self.users, &known?).await?,
        };
        Ok(self.user(200, user, request))
    }

    fn user(&self, status: u16, user: User, request: Request<'_>) -> Answer {
        let location = Some(user.location(self.base));
        let projection = Params::of_query(request.query).projection(&USERS);
        Answer { status, location, body: Some(projection.of(user.into_json(self.base))) }
    }
}

fn read(body: &[u8]) -> Result<Value, Error> {
    let problem = |error| Error::InvalidSyntax(format!("the body is not JSON: {error}"));
    serde_json::from_slice(body).map_err(problem)
}

fn whole_list(resources: Vec<Value>) -> Value {
    list_response(resources.len() as u64, &Start::Index(1), None, resources)
}
