//! The operations, read from the API description. Undocumented operations do not exist.

use std::{collections::BTreeMap, sync::Arc};

use actix_web::http::{Method, header::HeaderValue};
use matchit::Router;
use serde_json::Value;

use super::meter::Meter;

/// The paths of the probes.
pub(crate) const PROBES: [&str; 2] = ["/healthz", "/readyz"];
/// The path of the metrics, served on the server's own address unless they have one of their own.
pub(crate) const METRICS: &str = "/metrics";

/// How the request pipeline treats an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationMode {
    /// Without special treatment.
    Standard,
    /// Only errors are logged.
    Quiet,
    /// It hashes a password, so its requests queue.
    Queued,
    /// It accepts cross-site requests.
    CrossSite,
    /// It signs out, which no policy blocks.
    SignOut,
}

/// An operation of the API description.
pub(crate) struct Operation {
    /// The path template in the API description.
    pub template: String,
    /// Whether it needs no credential. Any credential sent is ignored.
    pub public: bool,
    /// How the pipeline treats it.
    pub mode: OperationMode,
    /// Its metrics.
    pub meter: Meter,
}

/// The match of a path and method.
pub(crate) enum RouteMatch {
    /// An operation.
    Operation(Arc<Operation>),
    /// The path exists, but only with these methods.
    OtherMethods(HeaderValue),
    /// The path does not exist.
    Nothing,
}

struct Address {
    methods: BTreeMap<String, Arc<Operation>>,
    allow: HeaderValue,
}

/// The routes to serve besides probes and metrics.
#[derive(Clone, Copy)]
pub struct Routes<'a> {
    /// The OpenAPI document.
    pub document: &'a Value,
    /// Pages without authentication.
    pub open_pages: &'a [&'a str],
    /// Pages that require a session.
    pub signed_in_pages: &'a [&'a str],
    /// Paths of the document whose operations need special treatment.
    pub modes: &'a [(&'a str, OperationMode)],
    /// Paths of the document whose last parameter may contain slashes.
    pub tails: &'a [&'a str],
}

/// All operations, by path and method.
pub(crate) struct Operations(Router<Address>);

impl Operations {
    /// Collects the operations of the routes and probes.
    pub(crate) fn new(routes: Routes<'_>, probes: &[&str]) -> Result<Self, String> {
        let Routes { document, open_pages, signed_in_pages, modes, tails } = routes;
        let mut router = Router::new();
        let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
        for (path, item) in paths {
            let mut methods = BTreeMap::new();
            for (method, operation) in item.as_object().into_iter().flatten() {
                let Some(security) = operation.get("security").and_then(Value::as_array) else {
                    return Err(format!("{method} {path}: `security` is missing in the API description"));
                };
                let public =
                    security.iter().all(|one| one.as_object().is_some_and(serde_json::Map::is_empty));
                let method = method.to_ascii_uppercase();
                let statuses = operation.get("responses").and_then(Value::as_object).into_iter().flatten();
                let statuses = statuses.filter_map(|(status, _)| status.parse().ok());
                let meter = Meter::new(&method, path, statuses);
                let mode = modes.iter().find(|(known, _)| known == path);
                let mode = mode.map_or(OperationMode::Standard, |(_, mode)| *mode);
                let operation = Operation { template: path.clone(), public, mode, meter };
                methods.insert(method, Arc::new(operation));
            }
            match path.rsplit_once('{').filter(|_| tails.contains(&path.as_str())) {
                Some((start, tail)) => insert(&mut router, &format!("{start}{{*{tail}"), methods)?,
                None => insert(&mut router, path, methods)?,
            }
        }
        for page in [open_pages, signed_in_pages, probes].concat() {
            let (template, meter) = (page.to_owned(), Meter::new("GET", page, [200]));
            let public = !signed_in_pages.contains(&page);
            let mode = if probes.contains(&page) { OperationMode::Quiet } else { OperationMode::Standard };
            let operation = Operation { template, public, mode, meter };
            insert(&mut router, page, BTreeMap::from([("GET".to_owned(), Arc::new(operation))]))?;
        }
        Ok(Self(router))
    }

    /// Matches a path and method.
    pub(crate) fn named(&self, method: &Method, path: &str) -> RouteMatch {
        let Ok(found) = self.0.at(path) else { return RouteMatch::Nothing };
        match found.value.methods.get(method.as_str()) {
            Some(operation) => RouteMatch::Operation(Arc::clone(operation)),
            None => RouteMatch::OtherMethods(found.value.allow.clone()),
        }
    }
}

fn insert(
    router: &mut Router<Address>,
    path: &str,
    methods: BTreeMap<String, Arc<Operation>>,
) -> Result<(), String> {
    let names = methods.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let allow = HeaderValue::from_str(&names).map_err(|error| format!("{path}: {error}"))?;
    router.insert(path, Address { methods, allow }).map_err(|error| format!("{path}: {error}"))
}
