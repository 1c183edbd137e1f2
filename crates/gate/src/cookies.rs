//! Cookies: the session's two, as they are read and written.

use actix_web::{
    HttpResponse,
    cookie::{Cookie, SameSite, time::Duration},
    http::header::{self, HeaderMap},
};
use kernel::{Env, TenantId};
use serde_json::{Map, Value};
use sessions::{CookieName, Session, chunks};

use super::{errors::Problem, pipeline::Pipeline};

/// Mirrors the session's id.
pub(crate) const AS_SID: &str = "as_sid";
/// Chunks of a neighbour's cookie that are taken away at the end.
const CHUNKS: usize = 5;

/// The cookies of a request.
pub struct RequestCookies<'h>(Vec<(&'h str, &'h str)>);

impl<'h> RequestCookies<'h> {
    /// The cookies of these headers.
    pub fn of(headers: &'h HeaderMap) -> Self {
        let lines = headers.get_all(header::COOKIE).filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        Self(pairs.collect())
    }

    pub(crate) fn pairs(&self) -> Vec<(&'h str, &'h str)> {
        self.0.clone()
    }

    /// Whether a cookie is there twice that a session is read from: one of the two may be somebody else's.
    pub(crate) fn has_two_sessions(&self) -> bool {
        let of_session = |name: &str| {
            let mut names = CookieName::ALL.into_iter().map(CookieName::as_str);
            name == AS_SID || names.any(|known| name.strip_prefix(known).is_some_and(is_chunk))
        };
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).filter(|name| of_session(name)).collect();
        names.iter().enumerate().any(|(at, name)| names.iter().skip(at + 1).any(|other| other == name))
    }

    /// The value of the first cookie of this name.
    pub fn value(&self, name: &str) -> Option<&'h str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// Whether what follows a session cookie's name is nothing, or the number of a chunk.
fn is_chunk(rest: &str) -> bool {
    rest.is_empty()
        || rest.strip_prefix('.').is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Adds a cookie that no script reads to an answer. It lasts for `max_age` seconds; 0 takes it away.
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
    answer.add_cookie(&cookie).map_err(Problem::unforeseen)
}

fn add_session_cookie(
    pipeline: &Pipeline,
    answer: &mut HttpResponse,
    (name, value): (String, String),
    max_age: i64,
) -> Result<(), Problem> {
    // A browser takes a `__Secure-` name only with the attribute, whatever the scheme.
    let is_secure = pipeline.https || name.starts_with("__Secure-");
    add(answer, (name, value), "/", max_age, (SameSite::Lax, is_secure))
}

/// Who a session's cookie is about, for services around that read it.
pub struct SessionClaims<'a> {
    /// Whose session it is.
    pub tenant: &'a TenantId,
    /// The user's address.
    pub email: Option<&'a str>,
    /// The user's display name.
    pub name: Option<&'a str>,
}

/// Adds the cookies of a session to an answer. They end when the session does at the latest.
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

/// Takes the session's cookies away, under both names and in chunks.
pub fn clear(pipeline: &Pipeline, answer: &mut HttpResponse) {
    let chunked = |name: CookieName| (0..CHUNKS).map(move |index| format!("{}.{index}", name.as_str()));
    let names = CookieName::ALL.into_iter().flat_map(|name| chunked(name).chain([name.as_str().to_owned()]));
    for name in names.chain([AS_SID.to_owned()]) {
        // Constant names make a header.
        let _added = add_session_cookie(pipeline, answer, (name, String::new()), 0);
    }
}
