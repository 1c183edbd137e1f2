//! Cursor pagination of lists.

use std::{
    future::{Ready, ready},
    str::FromStr,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use kernel::TenantId;
use utoipa::IntoParams;

use crate::{errors::Problem, keys::Keys};

/// Default page size.
const USUAL: i64 = 50;
/// Maximum page size.
const MOST: i64 = 200;

/// The query parameters of a paged list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what Page reads")]
pub struct PageQuery {
    /// `nextCursor` of the previous page.
    cursor: Option<String>,
    /// Page size: 50 by default, at most 200.
    #[param(minimum = 1)]
    limit: Option<i64>,
}

/// The cursor and page size of a request.
#[derive(Debug)]
pub struct Page {
    cursor: Option<String>,
    limit: i64,
}

impl FromRequest for Page {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let pairs = form_urlencoded::parse(request.query_string().as_bytes());
        let mut page = Self { cursor: None, limit: USUAL };
        for (name, value) in pairs {
            match &*name {
                "cursor" if !value.is_empty() => page.cursor = Some(value.into_owned()),
                "limit" => match value.parse::<i64>() {
                    Ok(limit) if limit >= 1 => page.limit = limit.min(MOST),
                    _ => return ready(Err(Problem::invalid_request("limit: write a number from 1 to 200"))),
                },
                _ => {}
            }
        }
        ready(Ok(page))
    }
}

impl Page {
    /// Returns the page size.
    pub fn limit(&self) -> i64 {
        self.limit
    }

    /// Decrypts the cursor, if there is one. Fails if it was not issued to this tenant.
    pub fn opened(&self, keys: &Keys, tenant: &TenantId) -> Result<Option<&str>, Problem> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        keys.open_cursor(tenant, cursor).map(Some).ok_or_else(Problem::invalid_cursor)
    }

    /// Returns the last item of the previous page.
    pub fn after<T: FromStr>(&self, keys: &Keys, tenant: &TenantId) -> Result<Option<T>, Problem> {
        let Some(last) = self.opened(keys, tenant)? else { return Ok(None) };
        last.parse().map(Some).map_err(|_| Problem::invalid_cursor())
    }

    /// Cuts the results to one page. The caller fetches one more than the limit, which tells whether to return a
    /// cursor.
    pub fn cut<T>(
        &self,
        keys: &Keys,
        tenant: &TenantId,
        mut found: Vec<T>,
        id: impl Fn(&T) -> &str,
    ) -> (Vec<T>, Option<String>) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if found.len() <= limit {
            return (found, None);
        }
        found.truncate(limit);
        let cursor = found.last().and_then(|last| keys.seal_cursor(tenant, id(last)));
        (found, cursor)
    }
}
