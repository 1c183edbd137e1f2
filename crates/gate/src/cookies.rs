//! Reads and writes the session cookies.

use actix_web::{
    HttpResponse,
    cookie::{Cookie, SameSite, time::Duration},
    http::header::{self, HeaderMap},
};
use kernel::{Env, TenantId};
use serde_json::{Map, Value};
use sessions::{CookieName, Session, chunks, device_bound::SessionIdentifier};

use super::{errors::Problem, pipeline::Pipeline};

/// The cookie that mirrors the session's id.
pub(crate) const AS_SID: &str = "as_sid";
/// Maximum number of chunks of a neighboring service's cookie that are cleared at sign-out.
const CHUNKS: usize = 5;

/// The cookies of a request.
pub struct RequestCookies<'h>(Vec<(&'h str, &'h str)>);

impl<'h> RequestCookies<'h> {
    /// Parses the cookies of these headers.
    pub fn of(headers: &'h HeaderMap) -> Self {
        let lines = headers.get_all(header::COOKIE).filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        Self(pairs.collect())
    }

    pub(crate) fn pairs(&self) -> Vec<(&'h str, &'h str)> {
        self.0.clone()
    }

    /// Returns whether a session cookie occurs twice. One of the two may have been planted by an attacker.
    pub(crate) fn has_two_sessions(&self) -> bool {
        let of_session = |name: &str| {
            let mut names = CookieName::ALL.into_iter().map(CookieName::as_str);
            name == AS_SID || names.any(|known| name.strip_prefix(known).is_some_and(is_chunk))
        };
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).filter(|name| of_session(name)).collect();
        names.iter().enumerate().any(|(at, name)| names.iter().skip(at + 1).any(|other| other == name))
    }

    /// Returns the value of the first cookie with this name.
    pub fn value(&self, name: &str) -> Option<&'h str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// Returns whether `rest`, the part after a session cookie's name, is empty or a chunk number.
fn is_chunk(rest: &str) -> bool {
    rest.is_empty()
        || rest.strip_prefix('.').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Adds an `HttpOnly` cookie to a response. It lasts `max_age` seconds; 0 deletes it.
pub fn add(
    answer: &mut HttpResponse,
    (name, value): (String, String),
    path: &str,
    max_age: i64,
    (same_site, is_secure): (SameSite, bool),
) -> Result<(), Problem> {
    let cookie = Cookie::build(name, value)
        .path(path)
        .max_age(Duration::seconds(max_age))
        .http_only(true)
        .same_site(same_site)
        .secure(is_secure)
        .finish();
    answer.add_cookie(&cookie).map_err(Problem::unexpected)
}

fn add_session_cookie(
    pipeline: &Pipeline,
    answer: &mut HttpResponse,
    (name, value): (String, String),
    max_age: i64,
) -> Result<(), Problem> {
    // Browsers accept names with these prefixes only with the `Secure` attribute, whatever the scheme.
    let is_secure = pipeline.https || name.starts_with("__Secure-") || name.starts_with("__Host-");
    add(answer, (name, value), "/", max_age, (SameSite::Lax, is_secure))
}

/// Claims of a session cookie for other services that read it.
pub struct SessionClaims<'a> {
    /// The session's tenant.
    pub tenant: &'a TenantId,
    /// The user's email address.
    pub email: Option<&'a str>,
    /// The user's display name.
    pub name: Option<&'a str>,
}

/// Adds the session cookies to a response. They expire no later than the session.
pub fn set(
    pipeline: &Pipeline,
    env: &dyn Env,
    answer: &mut HttpResponse,
    session: &Session,
    absolute_days: i64,
    about: &SessionClaims<'_>,
) -> Result<(), Problem> {
    let ends = session.ends(absolute_days);
    let max_age = (ends.unix_millis() - env.now().unix_millis() + 999).max(0) / 1000;
    let text = |value: Option<&str>| value.map_or(Value::Null, Value::from);
    let claims = Map::from_iter([
        ("name".to_owned(), text(about.name)),
        ("email".to_owned(), text(about.email)),
        ("sub".to_owned(), session.user.as_str().into()),
        ("sid".to_owned(), session.id.as_str().into()),
        ("tid".to_owned(), about.tenant.as_str().into()),
    ]);
    let token = pipeline
        .keys
        .mint_cookie(env, pipeline.cookie_name, claims, max_age)
        .ok_or_else(Problem::internal)?;
    let mut pairs = chunks(pipeline.cookie_name, &token);
    pairs.push((AS_SID.to_owned(), session.id.to_string()));
    pairs.into_iter().try_for_each(|pair| add_session_cookie(pipeline, answer, pair, max_age))
}

/// Deletes the cookies of this session, under both names and in chunks.
pub fn clear(pipeline: &Pipeline, answer: &mut HttpResponse, tenant: &TenantId, session: &Session) {
    let chunked = |name: CookieName| (0..CHUNKS).map(move |index| format!("{}.{index}", name.as_str()));
    let names = CookieName::ALL.into_iter().flat_map(|name| chunked(name).chain([name.as_str().to_owned()]));
    let bound =
        session.device.as_ref().map(|device| SessionIdentifier::of(tenant, &device.key).cookie_name());
    for name in names.chain([AS_SID.to_owned()]).chain(bound) {
        // This cannot fail: the names are valid constants.
        let _added = add_session_cookie(pipeline, answer, (name, String::new()), 0);
    }
}
