//! Lists in pages: by cursor, which says where the page before has ended.

use std::{
    future::{Ready, ready},
    str::FromStr,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use kernel::TenantId;
use utoipa::IntoParams;

use super::Site;
use gate::errors::Problem;

/// How many without a word.
const USUAL: i64 = 50;
/// How many at most.
const MOST: i64 = 200;

/// A page that is asked for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what Page reads")]
pub(crate) struct PageQuery {
    /// `nextCursor` of the previous page.
    cursor: Option<String>,
    /// Page size: 50 by default, at most 200.
    #[param(minimum = 1)]
    limit: Option<i64>,
}

/// A page that is asked for, read.
pub(crate) struct Page {
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
    /// How many at most.
    pub(crate) fn limit(&self) -> i64 {
        self.limit
    }

    /// What stands in the cursor, if there is one and it is of this tenant.
    pub(crate) fn opened(&self, site: &Site, tenant: &TenantId) -> Result<Option<&str>, Problem> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        site.pipeline.keys.open_cursor(tenant, cursor).map(Some).ok_or_else(Problem::invalid_cursor)
    }

    /// What the page before has ended with.
    pub(crate) fn after<T: FromStr>(&self, site: &Site, tenant: &TenantId) -> Result<Option<T>, Problem> {
        let Some(last) = self.opened(site, tenant)? else { return Ok(None) };
        last.parse().map(Some).map_err(|_| Problem::invalid_cursor())
    }

    /// The page of what was found, one more than the limit if there is a next one, and its cursor.
    pub(crate) fn cut<T>(
        &self,
        site: &Site,
        tenant: &TenantId,
        mut found: Vec<T>,
        id: impl Fn(&T) -> &str,
    ) -> (Vec<T>, Option<String>) {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        if found.len() <= limit {
            return (found, None);
        }
        found.truncate(limit);
        let cursor = found.last().and_then(|last| site.pipeline.keys.seal_cursor(tenant, id(last)));
        (found, cursor)
    }
}
