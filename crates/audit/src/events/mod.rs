//! The events of the log itself and, with the feature `gatehouse-events`, all events of Gatehouse, with one file per
//! area.

pub mod audit_log;
#[cfg(feature = "gatehouse-events")]
pub mod credentials;
mod define;
#[cfg(feature = "gatehouse-events")]
pub mod groups;
#[cfg(feature = "gatehouse-events")]
pub mod log_streams;
#[cfg(feature = "gatehouse-events")]
pub mod oidc;
#[cfg(feature = "gatehouse-events")]
pub mod pats;
#[cfg(feature = "gatehouse-events")]
pub mod policies;
#[cfg(feature = "gatehouse-events")]
pub mod removals;
#[cfg(feature = "gatehouse-events")]
pub mod roles;
#[cfg(feature = "gatehouse-events")]
pub mod saml;
#[cfg(feature = "gatehouse-events")]
pub mod scim_tokens;
#[cfg(feature = "gatehouse-events")]
pub mod sign_in;
#[cfg(feature = "gatehouse-events")]
pub mod signals;
#[cfg(feature = "gatehouse-events")]
pub mod step_up;
#[cfg(feature = "gatehouse-events")]
pub mod tenants;
#[cfg(feature = "gatehouse-events")]
pub mod users;
#[cfg(feature = "gatehouse-events")]
pub mod webhooks;

#[cfg(feature = "gatehouse-events")]
mod all;

#[cfg(feature = "gatehouse-events")]
pub use all::catalog;

/// Returns the description of an event of Gatehouse.
#[cfg(feature = "gatehouse-events")]
pub(crate) fn description(code: &str) -> Option<&'static str> {
    catalog().specs().iter().find(|spec| spec.code == code).map(|spec| spec.description)
}

/// Returns the description of an event of Gatehouse: the catalog is not built in.
#[cfg(not(feature = "gatehouse-events"))]
pub(crate) fn description(_: &str) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_well_formed() {
        let catalog = super::catalog();
        let codes: BTreeSet<_> = catalog.specs().iter().map(|spec| spec.code).collect();
        assert_eq!(codes.len(), catalog.specs().len());
        for spec in catalog.specs() {
            assert!(spec.code.starts_with("ACCOUNT_"), "{}", spec.code);
            assert!(spec.code.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{}", spec.code);
            assert!(spec.description.ends_with('.'), "{}", spec.code);
            assert_eq!(spec.example["type"], spec.code);
            assert_eq!(spec.schema["properties"]["type"]["const"], spec.code);
            for name in spec.schema["properties"]["data"]["required"].as_array().into_iter().flatten() {
                let member = &spec.example["data"][name.as_str().unwrap()];
                assert!(!member.is_null(), "the example of {} lacks {name}", spec.code);
                for (key, value) in member.as_object().into_iter().flatten() {
                    assert!(!key.is_empty() && value != "", "{}: {name}", spec.code);
                }
                assert_ne!(member, &serde_json::json!({}), "{}: {name}", spec.code);
            }
        }
    }
}
