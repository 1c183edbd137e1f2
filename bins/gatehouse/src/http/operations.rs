//! What can be asked: read from the API description, so that nothing exists that is not described.

use std::{collections::BTreeMap, sync::Arc};

use actix_web::http::{Method, header::HeaderValue};
use matchit::Router;
use serde_json::Value;

use super::meter::Meter;

/// Addresses whose requests come in bursts and take their time: everybody signs in at nine.
const PATIENT: [&str; 2] = ["/api/auth/sign-in", "/api/auth/links/redeem"];

/// Addresses that pages of others send forms to: there what comes along is no credential.
const FROM_ELSEWHERE: [&str; 1] = ["/api/saml/{providerId}/acs"];

/// The address that ends the session of its request.
const SIGN_OUT: &str = "/api/auth/sign-out";

/// How an operation is unlike the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// It is not.
    Usual,
    /// The log says of it only what went wrong.
    Quiet,
    /// It hashes a password: then it waits for its turn.
    Patient,
    /// Pages of other sites may send to it.
    FromElsewhere,
    /// It ends the session of its request, which no policy of the tenant forbids.
    SignOut,
}

/// One operation of the description.
pub(super) struct Operation {
    /// The path with its parameters' names, as in the description.
    pub template: String,
    /// Whether it needs no credential; then one that is sent is ignored.
    pub public: bool,
    /// How it is unlike the others.
    pub manner: Manner,
    /// What counts its answers.
    pub meter: Meter,
}

/// What the address and the method name.
pub(super) enum Named {
    /// An operation.
    Operation(Arc<Operation>),
    /// The address takes other methods: these.
    OtherMethods(HeaderValue),
    /// Nothing.
    Nothing,
}

struct Address {
    methods: BTreeMap<String, Arc<Operation>>,
    allow: HeaderValue,
}

/// All operations by path and method.
pub(super) struct Operations(Router<Address>);

impl Operations {
    /// Reads an OpenAPI document, and what is served beside the API: pages for everybody and for those who
    /// are signed in, and probes.
    pub(super) fn new(
        document: &Value,
        open: &[&str],
        signed_in: &[&str],
        probes: &[&str],
    ) -> Result<Self, String> {
        let mut router = Router::new();
        let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
        for (path, item) in paths {
            let mut methods = BTreeMap::new();
            for (method, operation) in item.as_object().into_iter().flatten() {
                let Some(security) = operation.get("security").and_then(Value::as_array) else {
                    return Err(format!("{method} {path} does not say which credential it needs"));
                };
                let public =
                    security.iter().all(|one| one.as_object().is_some_and(serde_json::Map::is_empty));
                let method = method.to_ascii_uppercase();
                let statuses = operation.get("responses").and_then(Value::as_object).into_iter().flatten();
                let statuses = statuses.filter_map(|(status, _)| status.parse().ok());
                let meter = Meter::new(&method, path, statuses);
                let manner = match path.as_str() {
                    path if PATIENT.contains(&path) => Manner::Patient,
                    path if FROM_ELSEWHERE.contains(&path) => Manner::FromElsewhere,
                    SIGN_OUT => Manner::SignOut,
                    _ => Manner::Usual,
                };
                let operation = Operation { template: path.clone(), public, manner, meter };
                methods.insert(method, Arc::new(operation));
            }
            insert(&mut router, path, methods)?;
        }
        for page in [open, signed_in, probes].concat() {
            let (template, meter) = (page.to_owned(), Meter::new("GET", page, [200]));
            let public = !signed_in.contains(&page);
            let manner = if probes.contains(&page) { Manner::Quiet } else { Manner::Usual };
            let operation = Operation { template, public, manner, meter };
            insert(&mut router, page, BTreeMap::from([("GET".to_owned(), Arc::new(operation))]))?;
        }
        Ok(Self(router))
    }

    /// What the address and the method name.
    pub(super) fn named(&self, method: &Method, path: &str) -> Named {
        let Ok(found) = self.0.at(path) else { return Named::Nothing };
        match found.value.methods.get(method.as_str()) {
            Some(operation) => Named::Operation(Arc::clone(operation)),
            None => Named::OtherMethods(found.value.allow.clone()),
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
