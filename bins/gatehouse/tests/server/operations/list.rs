//! The operations, read from the API description.

use std::collections::BTreeSet;

use crate::support::API;

/// An operation of the API description.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) credentials: BTreeSet<String>,
}

/// Returns all operations.
pub(crate) fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in API["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"].as_array().unwrap();
            operations.push(Operation {
                id: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_ascii_uppercase(),
                path: path.clone(),
                credentials: security
                    .iter()
                    .flat_map(|one| one.as_object().unwrap().keys().cloned())
                    .collect(),
            });
        }
    }
    assert!(operations.len() >= 105, "the document lists the operations: {}", operations.len());
    operations
}

/// Returns the operations that need a credential.
pub(crate) fn guarded() -> impl Iterator<Item = Operation> {
    operations().into_iter().filter(|operation| !operation.credentials.is_empty())
}
